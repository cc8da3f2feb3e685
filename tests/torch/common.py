"""What the cases share: programs held to PyTorch, the rules they are held by, numbers, files.

A case is one `.tf` program, its inputs, and what PyTorch says its results are. A topic is a module
of `cases/` whose `cases()` yields them; its file of tensors and its list are written by `make.py`.
"""

import json
import math
import zlib
from dataclasses import dataclass, field

import torch

# --- dtypes -------------------------------------------------------------------------------------

#: name in the language, name in safetensors, dtype of PyTorch
DTYPES = [
    ("f64", "F64", torch.float64),
    ("f32", "F32", torch.float32),
    ("f16", "F16", torch.float16),
    ("bf16", "BF16", torch.bfloat16),
    ("f8e4m3", "F8_E4M3", torch.float8_e4m3fn),
    ("f8e5m2", "F8_E5M2", torch.float8_e5m2),
    ("f8e8m0", "F8_E8M0", torch.float8_e8m0fnu),
    ("f4e2m1", "F4", torch.float4_e2m1fn_x2),
    ("i64", "I64", torch.int64),
    ("i32", "I32", torch.int32),
    ("i16", "I16", torch.int16),
    ("i8", "I8", torch.int8),
    ("u64", "U64", torch.uint64),
    ("u32", "U32", torch.uint32),
    ("u8", "U8", torch.uint8),
    ("bool", "BOOL", torch.bool),
]
TF = {t: n for n, _, t in DTYPES}
FILE = {t: f for _, f, t in DTYPES}
TORCH = {n: t for n, _, t in DTYPES}
FLOATS = ["f64", "f32", "f16", "bf16"]
INTS = ["i64", "i32", "i16", "i8", "u64", "u32", "u8"]


def shape(t):
    """The logical shape: two f4 elements share a byte of PyTorch's."""
    s = list(t.shape)
    if t.dtype == torch.float4_e2m1fn_x2:
        s[-1] *= 2
    return s


def ty(t):
    """A tensor's type in the language: `f32[2, 3]`, `f32` for a scalar."""
    s = shape(t)
    return TF[t.dtype] + (f"[{', '.join(map(str, s))}]" if s else "")


def f4(codes):
    """f4e2m1 from codes 0..16, one an element; the last extent is even."""
    codes = codes.to(torch.uint8)
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).contiguous().view(torch.float4_e2m1fn_x2)


def view_bits(t, name):
    """The same bits as another dtype of the same width."""
    return t.contiguous().view(TORCH[name])


# --- rules --------------------------------------------------------------------------------------


def equal():
    """Every bit alike; any NaN is any other; the zeros differ."""
    return {"rule": "equal"}


def ulp(n):
    """At most n representable values of the result's dtype apart; NaN and infinities alike."""
    return {"rule": "ulp", "max": n}


def close(rtol, atol, why):
    """`abs(got - expected) <= atol + rtol * abs(expected)`, NaN and infinities alike. Only where
    the order of a sum is nobody's promise; `why` says what the bound is derived from."""
    assert why and (rtol or atol)
    return {"rule": "close", "rtol": float(rtol), "atol": float(atol), "why": why}


#: half the distance of 1 to the next value: the relative error of one rounding
UNIT = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float8_e4m3fn: 2.0**-4,
    torch.float8_e5m2: 2.0**-3,
}


def accumulates(dtype):
    """The unit of what sums of this dtype accumulate in: f32, f64 for f64."""
    return UNIT[torch.float64] if dtype == torch.float64 else UNIT[torch.float32]


def sum_bound(n, magnitudes, out, operands=None):
    """The rule for a sum of n terms whose magnitudes add up to `magnitudes` (a tensor, f64), each
    addition and product rounded in the accumulator, the result rounded once to `out`. The
    reference is the f64 sum rounded once to `out`: two roundings of at most one unit each."""
    u, acc = UNIT[out], accumulates(operands or out)
    most = float(magnitudes.max()) if magnitudes.numel() else 0.0
    atol = (n + 1) * acc * most * (1 + 2 * u) + 2.0**-140
    return close(2 * u, atol, f"{n} terms of magnitude {most:.3g} in all, each rounded by {acc:.3g};"
                 f" then one rounding of {u:.3g} on each side")


# --- numbers ------------------------------------------------------------------------------------
# Drawn as integers and scaled by powers of two, so that every machine draws the same.


def seed(name):
    return zlib.crc32(name.encode())


def gen(name):
    """The generator of a case: adding a case changes no other."""
    return torch.Generator().manual_seed(seed(name))


def uniform(g, size, dtype=torch.float32, scale=1.0):
    """Floats in -scale..scale, 24 bits of fraction rounded to the dtype."""
    n = torch.randint(-(2**24), 2**24, list(size), generator=g, dtype=torch.int64)
    return (n.to(torch.float64) * (scale * 2.0**-24)).to(dtype)


def wide(g, size, dtype=torch.float32, lo=-20, hi=20):
    """Floats of either sign whose exponents spread evenly over lo..hi."""
    m = uniform(g, size, torch.float64)
    e = torch.randint(lo, hi, list(size), generator=g, dtype=torch.int64)
    return torch.ldexp(m, e.to(torch.float64)).to(dtype)


def integers(g, size, dtype=torch.int64, lo=None, hi=None):
    """Integers in lo..=hi; the whole range of the dtype by default."""
    if dtype == torch.bool:
        return torch.randint(0, 2, list(size), generator=g).to(torch.bool)
    info = torch.iinfo(dtype)
    if lo is None and hi is None:
        b = torch.randint(0, 256, [*size, info.bits // 8], generator=g, dtype=torch.int64)
        return b.to(torch.uint8).view(dtype).reshape(list(size))
    lo, hi = info.min if lo is None else lo, info.max if hi is None else hi
    return torch.randint(lo, hi + 1, list(size), generator=g, dtype=torch.int64).to(dtype)


def specials(dtype):
    """Values where ops go wrong: zeros of both signs, subnormals, the ends, infinities, NaN."""
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        i = torch.iinfo(dtype)
        v = {i.min, i.min + 1, 0, 1, 2, 7, i.max - 1, i.max} | ({-1, -2, -7} if i.min < 0 else set())
        return torch.tensor(sorted(v), dtype=dtype)
    f = torch.finfo(dtype)
    one = [1.0, 1.0 + f.eps, 1.0 - f.eps / 2, 0.5, 1.5, 2.5, 3.0]
    ends = [f.tiny, f.smallest_normal * 0.75, f.smallest_normal * f.eps, f.max]
    v = [s * x for x in [0.0, *one, *ends, math.inf] for s in (1.0, -1.0)] + [math.nan]
    return torch.tensor(v, dtype=torch.float64).to(dtype)


def rounded(x, dtype):
    """An f64 tensor rounded once, to nearest even; PyTorch's own way to narrow floats rounds to f32
    in between. An inexact f32 is made odd first, so that the second rounding cannot tie."""
    if dtype in (torch.float64, torch.float32):
        return x.to(dtype)
    f = x.to(torch.float32)
    back = f.to(torch.float64)
    bits = f.view(torch.int32)
    step = torch.where(x.abs() > back.abs(), 1, -1).to(torch.int32)
    fix = (back != x) & ~x.isnan() & (bits & 1 == 0)
    return torch.where(fix, bits + step, bits).view(torch.float32).to(dtype)


OVERFLOW = "f8e4m3 above 464 is NaN here, and 448 in PyTorch 2.15: the reference is set to NaN"


def cast(x, dtype):
    """As PyTorch casts, but f8e4m3 overflows to NaN, as ml_dtypes has it and PyTorch did before it
    saturated; the value is put there and `OVERFLOW` says so."""
    y = rounded(x, dtype) if x.dtype == torch.float64 else x.to(dtype)
    if dtype != torch.float8_e4m3fn or not x.is_floating_point():
        return y
    over = x.to(torch.float64).abs() > 464
    return torch.where(over, torch.tensor(0x7F, dtype=torch.uint8), y.view(torch.uint8)).view(dtype)


def signed(t):
    """An unsigned tensor as the signed one of its bits, for PyTorch to compute with."""
    of = {torch.uint64: torch.int64, torch.uint32: torch.int32}
    return t.view(of[t.dtype]) if t.dtype in of else t


# --- cases --------------------------------------------------------------------------------------


def source(body, inputs, outputs, before=""):
    """A file with one function `main` of these parameters and results; `before` stands above it."""
    params = ", ".join(f"{n}: {ty(t)}" for n, t in inputs.items())
    outs = [ty(t) for t in outputs]
    out = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
    return f"{before}func main({params}) -> {out} {{ {body} }}\n"


@dataclass
class Case:
    """One program with inputs and what PyTorch says of it.

    `source` is the text of a whole file, or `file` names one below the repository's root; then
    `module` may name a module of it, and `consts` replaces consts. `rule` is one for all outputs,
    or a list with one for each. `repeat` has, for `in/x` or `out/0`, how often the tensor is repeated
    along each axis before it is used. `like` names an earlier case: tensors that are the same as there
    are written once. `ops` are the names under which the table counts it.
    """

    name: str
    source: str = ""
    inputs: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    rule: object = field(default_factory=equal)
    ops: list = field(default_factory=list)
    dtype: str = ""
    dims: dict = field(default_factory=dict)
    note: str = ""
    file: str = ""
    module: str = ""
    func: str = "main"
    consts: dict = field(default_factory=dict)
    repeat: dict = field(default_factory=dict)
    like: str = ""

    def rules(self):
        one = isinstance(self.rule, dict)
        rules = [self.rule] * len(self.outputs) if one else list(self.rule)
        assert len(rules) == len(self.outputs), self.name
        return rules

    def record(self):
        """As the list of a topic has it; what is empty is left out."""
        assert bool(self.source) != bool(self.file), self.name
        assert self.ops and self.outputs, self.name
        r = {
            "name": self.name,
            "source": self.source,
            "file": self.file,
            "module": self.module,
            "func": self.func,
            "dims": self.dims,
            "consts": self.consts,
            "repeat": self.repeat,
            "like": self.like,
            "ops": self.ops,
            "dtype": self.dtype or TF[self.outputs[0].dtype],
            "inputs": list(self.inputs),
            "rules": self.rules(),
            "note": self.note,
        }
        if r["func"] == "main":
            del r["func"]
        return {k: v for k, v in r.items() if v or k in ("inputs", "rules")}

    def tensors(self):
        """By what they are in the case: `in/x`, `out/0`."""
        return {f"in/{n}": t for n, t in self.inputs.items()} | {
            f"out/{i}": t for i, t in enumerate(self.outputs)}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and content(a) == content(b)


def tensors(cases):
    """The tensors of a topic with their names, without those that a case shares with another."""
    known = {}
    for c in cases:
        mine = known[c.name] = c.tensors()
        shared = known[c.like] if c.like else {}
        for which, t in mine.items():
            if which not in shared or not same(t, shared[which]):
                yield f"{c.name}/{which}", t


# --- files --------------------------------------------------------------------------------------


def content(t):
    """A tensor's elements as safetensors holds them: row-major, little-endian."""
    if t.numel() == 0:
        return b""
    return t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def safetensors(named):
    """The bytes of a safetensors file: widest dtypes first, so that all are aligned."""
    named = sorted(named, key=lambda nt: -nt[1].element_size())
    header, data = {}, bytearray()
    for name, t in named:
        assert name not in header, f"two tensors are named {name}"
        b = content(t)
        ends = [len(data), len(data) + len(b)]
        header[name] = {"dtype": FILE[t.dtype], "shape": shape(t), "data_offsets": ends}
        data += b
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(data)


def listing(cases):
    """The list of a topic: JSON with one case a line."""
    lines = ",\n".join(json.dumps(c.record(), separators=(",", ":")) for c in cases)
    return f"[\n{lines}\n]\n".encode()
