"""Writes tests/fixtures/arrays/: small npy, npz, pt and safetensors files.

    pip install numpy
    python tests/data/make_fixtures.py

    pip install numpy torch safetensors
    python tests/data/make_fixtures.py --torch

The pt files of the first form are pickled by Python itself, through stand-ins for the few classes
of PyTorch that its format names, so that PyTorch is not needed. The second form writes only
narrow.pt and narrow.safetensors, by PyTorch and by the safetensors library.
"""

import collections
import io
import pathlib
import pickle
import sys
import types
import zipfile

import numpy as np

OUT = pathlib.Path(__file__).parent.parent / "fixtures" / "arrays"


def narrow():
    """Every code of the 4-bit and 8-bit floats, with what PyTorch says of their values."""
    import safetensors.torch
    import torch

    pairs = torch.tensor([2 * i | (2 * i + 1) << 4 for i in range(8)], dtype=torch.uint8)
    # PyTorch counts pairs of 4-bit floats: two rows of four are sixteen elements
    f4 = pairs.view(torch.float4_e2m1fn_x2).reshape(2, 4)
    tensors = {"f4": f4}
    codes = torch.arange(256, dtype=torch.uint8).reshape(16, 16)
    names = {
        "f8e4m3": torch.float8_e4m3fn,
        "f8e5m2": torch.float8_e5m2,
        "f8e8m0": torch.float8_e8m0fnu,
    }
    for name, dtype in names.items():
        tensors[name] = codes.clone().view(dtype)
        tensors[f"{name}_values"] = tensors[name].to(torch.float32)
    safetensors.torch.save_file(tensors, OUT / "narrow.safetensors")
    # views, which only a pt file keeps as such
    tensors["f4_turned"] = f4.t()
    tensors["f8e4m3_window"] = tensors["f8e4m3"][3:5, 1::5]
    tensors["parameter"] = torch.nn.Parameter(codes.view(torch.float8_e5m2)[0], requires_grad=False)
    torch.save(tensors, OUT / "narrow.pt")


# before the stand-ins below take PyTorch's place
if __name__ == "__main__" and "--torch" in sys.argv:
    OUT.mkdir(parents=True, exist_ok=True)
    narrow()
    sys.exit()


def npy():
    count = np.arange(6).reshape(2, 3)
    for name in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u1"):
        order = "|" if name.endswith("1") else "<"
        np.save(OUT / f"{name}.npy", (count - (0 if name[0] == "u" else 2)).astype(order + name))
    np.save(OUT / "b1.npy", count % 2 == 1)
    np.save(OUT / "big_f4.npy", (count / 2).astype(">f4"))
    np.save(OUT / "big_i2.npy", (count - 300).astype(">i2"))
    np.save(OUT / "fortran.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)))
    np.save(OUT / "fortran_big.npy", np.asfortranarray(count.astype(">f8")))
    np.save(OUT / "scalar.npy", np.float32(2.5))
    np.save(OUT / "empty.npy", np.zeros((3, 0, 2), dtype="<f4"))
    np.save(OUT / "complex.npy", np.zeros(2, dtype="<c8"))
    np.save(OUT / "object.npy", np.array([None, 1], dtype=object), allow_pickle=True)
    for version in ((2, 0), (3, 0)):
        with open(OUT / f"version{version[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, np.arange(4, dtype="<u4"), version=version)
    np.savez(OUT / "stored.npz", a=count.astype("<f4"), b=np.array([True, False]))
    np.savez_compressed(OUT / "deflated.npz", a=count.astype("<f4"), zeros=np.zeros((64, 64)))


def module(name):
    m = types.ModuleType(name)
    sys.modules[name] = m
    return m


def stand_in(where, name, value=None):
    """A global that pickles as `where.name`."""
    if value is None:
        value = lambda *a: None
    value.__module__, value.__qualname__, value.__name__ = where.__name__, name, name
    setattr(where, name, value)
    return value


TORCH, UTILS, STORAGE = module("torch"), module("torch._utils"), module("torch.storage")
V2 = stand_in(UTILS, "_rebuild_tensor_v2")
V3 = stand_in(UTILS, "_rebuild_tensor_v3")
PARAMETER = stand_in(UTILS, "_rebuild_parameter")
STATE = stand_in(UTILS, "_rebuild_parameter_with_state")
UNTYPED = stand_in(STORAGE, "UntypedStorage")


class Call:
    def __init__(self, f, *arguments):
        self.what = (f, arguments)

    def __reduce__(self):
        return self.what


class Storage:
    def __init__(self, cls, key, count):
        self.id = ("storage", cls, key, "cpu", count)


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None


def save(name, value, storages, order="little", protocol=2):
    content = io.BytesIO()
    Pickler(content, protocol).dump(value)
    with zipfile.ZipFile(OUT / name, "w") as z:
        def add(entry, data):
            z.writestr(zipfile.ZipInfo(f"archive/{entry}"), data)

        add("data.pkl", content.getvalue())
        add("byteorder", order)
        for key, data in storages.items():
            add(f"data/{key}", data)
        add("version", "3\n")


def typed(name):
    return stand_in(TORCH, name)


def tensor(storage, offset, shape, strides):
    return Call(V2, storage, offset, shape, strides, False, collections.OrderedDict())


def tensor3(storage, offset, shape, strides, dtype):
    return Call(V3, storage, offset, shape, strides, False, collections.OrderedDict(), dtype)


def pt():
    f32 = Storage(typed("FloatStorage"), "0", 12)
    data = np.arange(12, dtype="<f4").tobytes()
    base = tensor(f32, 0, (3, 4), (4, 1))
    transposed = tensor(f32, 0, (4, 3), (1, 4))
    weights = collections.OrderedDict(w=Call(PARAMETER, base, True, collections.OrderedDict()))
    weights["t"] = transposed
    weights._metadata = {"": {"version": 1}}
    tied = tensor(f32, 5, (2, 2), (4, 2))
    byte = Storage(UNTYPED, "2", 8)
    tree = {
        "model": weights,
        "step": 7,
        "lr": 0.5,
        "note": "kept",
        "list": [tied, (tied, None), {3: Call(STATE, tied, True, collections.OrderedDict(), {})}],
        "wide": tensor(Storage(typed("LongStorage"), "1", 2), 1, (3,), (0,)),
        "e5m2": tensor3(byte, 0, (8,), (1,), stand_in(TORCH, "float8_e5m2")),
        "f4": tensor3(byte, 2, (2, 3), (3, 1), stand_in(TORCH, "float4_e2m1fn_x2")),
        "u32": tensor3(byte, 0, (2,), (1,), stand_in(TORCH, "uint32")),
        "bool": tensor(Storage(typed("BoolStorage"), "3", 2), 0, (), ()),
        "none": tensor(Storage(typed("HalfStorage"), "4", 0), 0, (0, 5), (5, 1)),
    }
    storages = {
        "0": data,
        "1": np.array([1, -2], dtype="<i8").tobytes(),
        "2": bytes([0x3C, 0x40, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA]),
        "3": b"\1\0",
        "4": b"",
    }
    save("nested.pt", tree, storages)
    save("protocol4.pt", [base, tied], {"0": data}, protocol=4)
    save("big.pt", base, {"0": np.arange(12, dtype=">f4").tobytes()}, order="big")
    save("outside.pt", tensor(f32, 1, (3, 4), (4, 1)), {"0": data})
    save("short.pt", base, {"0": data[:40]})
    save("expanded.pt", tensor(f32, 0, (1 << 30, 12), (0, 1)), {"0": data})
    half = Storage(typed("ComplexFloatStorage"), "0", 6)
    save("complex.pt", tensor(half, 0, (6,), (1,)), {"0": data})
    import os

    save("evil.pt", [base, Call(os.system, "true")], {"0": data})
    deep = base
    for _ in range(200):
        deep = [deep]
    save("deep.pt", deep, {"0": data})
    wide = [base]
    for _ in range(30):
        wide = [wide, wide]
    save("wide.pt", wide, {"0": data})


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    npy()
    pt()
