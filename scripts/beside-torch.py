#!/usr/bin/env python3
"""Times kernels of the examples beside PyTorch's, in turns, on a machine with both.

Each round runs one group of launches of either side; the medians over the rounds are printed with
their ratio, and how far the results are from each other. Inputs are random; cold ones rotate through
buffers that the last cache does not hold.
"""

import ctypes
import math
import statistics
import sys
from pathlib import Path

import torch
from torch.nn.attention.bias import causal_lower_right

ROOT = Path(__file__).resolve().parent.parent
cuda = ctypes.CDLL("libcuda.so.1")


def ok(status, what):
    if status != 0:
        sys.exit(f"{what}: CUDA error {status}")


class Map(ctypes.Structure):
    _fields_ = [("opaque", ctypes.c_uint64 * 16)]


def tensor_map(t, box):
    """The map of a dense tensor, box in logical order, swizzle of 128 bytes."""
    raw = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(raw) + 63) // 64 * 64
    dims = list(reversed(t.shape))
    strides, size = [], t.element_size()
    for d in dims[:-1]:
        size *= d
        strides.append(size)
    n = len(dims)
    kind = {torch.float16: 6, torch.bfloat16: 9}[t.dtype]
    done = cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), kind, n, ctypes.c_void_p(t.data_ptr()),
        (ctypes.c_uint64 * n)(*dims), (ctypes.c_uint64 * n)(*strides, 0),
        (ctypes.c_uint32 * n)(*reversed(box)), (ctypes.c_uint32 * n)(*[1] * n), 0, 3, 3, 0)
    ok(done, "encoding a tensor map")
    return Map.from_buffer_copy(ctypes.string_at(at, 128))


class Kernel:
    def __init__(self, ptx, entry, shared):
        text = (ROOT / ptx).read_bytes() + b"\0"
        module, self.f = ctypes.c_void_p(), ctypes.c_void_p()
        ok(cuda.cuModuleLoadData(ctypes.byref(module), text), f"loading {ptx}")
        ok(cuda.cuModuleGetFunction(ctypes.byref(self.f), module, entry.encode()), entry)
        self.shared = shared
        if shared > 48 << 10:
            ok(cuda.cuFuncSetAttribute(self.f, 8, shared), "asking for shared memory")

    def bind(self, grid, block, args):
        """A launch that is ready. Maps lie at multiples of 64, as the driver reads them."""
        hold = []
        for a in args:
            raw = ctypes.create_string_buffer(256)
            at = (ctypes.addressof(raw) + 63) // 64 * 64
            value = {Map: a, int: ctypes.c_uint32, float: ctypes.c_float}.get(type(a))
            if isinstance(a, torch.Tensor):
                a = ctypes.c_uint64(a.data_ptr())
            elif not isinstance(a, Map):
                a = value(a)
            ctypes.memmove(at, ctypes.byref(a), ctypes.sizeof(a))
            hold.append((raw, at))
        params = (ctypes.c_void_p * len(args))(*[at for _, at in hold])
        grid, block = grid + (1,) * (3 - len(grid)), block + (1,) * (3 - len(block))

        def launch(_hold=hold):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            ok(cuda.cuLaunchKernel(self.f, *grid, *block, self.shared, stream, params, None), "launching")

        return launch


def group(sides, runs):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for i in range(runs):
        sides[i % len(sides)]()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / runs


def beside(name, own, other, close, rounds=15, runs=20):
    """Both are lists of functions, one for each set of buffers."""
    for s in (own, other):
        group(s, max(3, len(s)))
    a, b = [], []
    for _ in range(rounds):
        a.append(group(own, runs))
        b.append(group(other, runs))
    ratio = statistics.median(x / y for x, y in zip(a, b))
    print(f"{name:34} {statistics.median(a):9.2f} us  torch {statistics.median(b):9.2f} us  "
          f"ratio {ratio:.3f}  rel. L2 distance {close():.1e}", flush=True)


def distance(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def gemm(m, n, k):
    kernel = Kernel("examples/gemm/gemm.ptx", "gemm", 4 * (128 + 256) * 64 * 2 + 2 * 2 * 64 * 64 * 2 + 1024)
    a, b = torch.randn(m, k, device="cuda").bfloat16(), torch.randn(n, k, device="cuda").bfloat16()
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    maps = [tensor_map(a, [128, 64]), tensor_map(b, [128, 64]), tensor_map(c, [64, 64])]
    own = kernel.bind((132,), (384,), [*maps, m, n, k])
    out = torch.empty_like(c)
    beside(f"gemm {m} x {n} x {k} bf16", [own], [lambda: torch.matmul(a, b.t(), out=out)],
           lambda: distance(c, out), runs=10)


def prefill():
    kernel = Kernel("examples/gqa_prefill/gqa_prefill.ptx", "gqa_prefill", 7 * 128 * 128 * 2 + 1024)
    q = torch.randn(2, 512, 32, 128, device="cuda").half()
    k, v = (torch.randn(2, 4096, 8, 128, device="cuda").half() for _ in range(2))
    o = torch.full_like(q, float("nan"))
    maps = [tensor_map(q, [1, 128, 1, 64]), tensor_map(k, [1, 128, 1, 64]),
            tensor_map(v, [1, 128, 1, 64]), tensor_map(o, [1, 64, 1, 64])]
    own = kernel.bind((132,), (384,), [*maps, 2, 512, 4096, 32, 8, 1 / math.sqrt(128)])
    bias = causal_lower_right(512, 4096)
    heads = [x.transpose(1, 2) for x in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    out = []

    def other():
        out[:] = [sdpa(*heads, attn_mask=bias, enable_gqa=True)]

    beside("gqa_prefill f16 causal", [own], [other], lambda: distance(o, out[0].transpose(1, 2)))


def decode(ctx):
    state = (2 * 128 + 2 * 2) * 4
    kernel = Kernel("examples/gqa_decode_qwen3/flash.ptx", "flash_decode", 8 * 4 * 16 * 128 * 2 + 8 * state)
    sets = max(1, 3 * 60 * 2**20 // (ctx * 4096))
    own, other, out = [], [], [None]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    attributes = Clustered(kernel)
    for _ in range(min(sets, 64)):
        q = torch.randn(1, 1, 16, 128, device="cuda").bfloat16()
        k, v = (torch.randn(1, ctx, 8, 128, device="cuda").bfloat16() for _ in range(2))
        o = torch.full_like(q, float("nan"))
        own.append(attributes.bind((8, 8), (256,), [q, k, v, o, ctx, 1 / math.sqrt(128)], (8, 1, 1)))
        heads = [x.transpose(1, 2) for x in (q, k, v)]

        def torch_side(heads=heads, o=o):
            out[0] = (o, sdpa(*heads, enable_gqa=True))

        other.append(torch_side)
    beside(f"gqa_decode bf16 ctx {ctx}, cold", own, other,
           lambda: distance(out[0][0], out[0][1].transpose(1, 2)), runs=2 * len(own))


class Clustered:
    """Launches whose cluster is not compiled in."""

    def __init__(self, kernel):
        self.kernel = kernel

    def bind(self, grid, block, args, cluster):
        class Attribute(ctypes.Structure):
            _fields_ = [("id", ctypes.c_uint32), ("pad", ctypes.c_char * 4),
                        ("value", ctypes.c_uint32 * 16)]

        class Config(ctypes.Structure):
            _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                        ("shared", ctypes.c_uint32), ("stream", ctypes.c_void_p),
                        ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint32)]

        attribute = Attribute(id=4)
        attribute.value[:3] = cluster
        config = Config(shared=self.kernel.shared, count=1, attributes=ctypes.addressof(attribute))
        config.grid[:] = grid + (1,) * (3 - len(grid))
        config.block[:] = block + (1,) * (3 - len(block))
        values = [ctypes.c_uint64(a.data_ptr()) if isinstance(a, torch.Tensor)
                  else ctypes.c_uint32(a) if isinstance(a, int) else ctypes.c_float(a) for a in args]
        params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])

        def launch(_hold=(attribute, values)):
            config.stream = torch.cuda.current_stream().cuda_stream
            ok(cuda.cuLaunchKernelEx(ctypes.byref(config), self.kernel.f, params, None), "launching")

        return launch


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    gemm(8192, 17408, 5120)
    gemm(4096, 4096, 4096)
    prefill()
    for ctx in (1024, 8192, 65536):
        decode(ctx)
