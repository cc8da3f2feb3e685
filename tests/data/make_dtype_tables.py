"""Writes tests/data/dtypes/: what independent sources say of the small float types.

    pip install numpy ml_dtypes
    python tests/data/make_dtype_tables.py

decode_TYPE.bin   the f32 bits of every code of an 8-bit (or 4-bit) type
decode_crc.txt    CRC-32 of the f32 bits of every code of f16 and bf16
encode_f32.bin    f32 inputs; encode_f32_TYPE.bin: their codes, by numpy and ml_dtypes
encode_f64.bin    f64 inputs; encode_f64_TYPE.bin: their codes, by exact rationals, because
                  ml_dtypes converts f64 through f32 and so rounds twice
Every number is little-endian. NaNs are written as the quiet NaN of their sign.
"""

import math
import pathlib
import zlib
from fractions import Fraction

import ml_dtypes
import numpy as np

OUT = pathlib.Path(__file__).parent / "dtypes"
# name: numpy type, code type, stored mantissa bits, smallest normal exponent, largest value,
# code above it, NaN code, position of the sign bit
TYPES = {
    "f16": (np.float16, np.uint16, 10, -14, 65504.0, 0x7C00, 0x7E00, 15),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 7, -126, 255.0 * 2.0**120, 0x7F80, 0x7FC0, 15),
    "f8e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 3, -6, 448.0, 0x7F, 0x7F, 7),
    "f8e5m2": (ml_dtypes.float8_e5m2, np.uint8, 2, -14, 57344.0, 0x7C, 0x7E, 7),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, np.uint8, 1, 0, 6.0, 0x7, None, 3),
    "f8e8m0": (ml_dtypes.float8_e8m0fnu, np.uint8, None, None, None, None, 0xFF, None),
    "tf32": (None, np.uint32, 10, -126, (2 - 2.0**-10) * 2.0**127, 0xFF << 10, 0x200 | 0xFF << 10, 18),
    "f32": (np.float32, np.uint32, 23, -126, float(np.finfo(np.float32).max), 0xFF << 23, 0x7FC00000, 31),
}


def exact(x, name):
    """The code of the float x, rounded once."""
    _, _, m, emin, top, over, nan, sign_at = TYPES[name]
    if name == "f8e8m0":
        if not 0 < x < math.inf:
            return 0xFF
        if x < 2.0**-126:
            # Subnormal in f32: ml_dtypes and PyTorch both round as if code 0 were zero.
            return int(x > 2.0**-127)
        fraction, exponent = math.frexp(x)
        return min(max(exponent - 1 + (fraction >= 0.75) + 127, 0), 0xFF)
    negative = math.copysign(1, x) < 0
    if math.isnan(x):
        return (0 if negative else 8) if name == "f4e2m1" else nan | negative << sign_at
    sign = negative << sign_at
    x = abs(x)
    if x == math.inf:
        return over | sign
    exponent = max(math.frexp(x)[1] - 1, emin) if x else emin
    steps = round(Fraction(x) / Fraction(2) ** (exponent - m))  # ties to even
    if steps * Fraction(2) ** (exponent - m) > Fraction(top):
        return over | sign
    return ((exponent - emin) << m) + steps | sign


def quiet(code, name):
    """A NaN code as the quiet NaN of its sign."""
    nan, sign_at = TYPES[name][6], TYPES[name][7]
    over = TYPES[name][5]
    if name in ("f16", "bf16", "f32", "tf32") and (code & ((1 << sign_at) - 1)) > over:
        return nan | (code >> sign_at) << sign_at
    return code


def values(name):
    """Every value of a type of at most 16 bits, as f32."""
    numpy_type, code_type, *_ = TYPES[name]
    count = {"f4e2m1": 16, "f16": 1 << 16, "bf16": 1 << 16}.get(name, 256)
    v = np.arange(count, dtype=code_type).view(numpy_type).astype(np.float32)
    bits = v.view(np.uint32)
    nan = np.isnan(v)
    bits[nan] = 0x7FC00000 | (bits[nan] & 0x80000000)
    return v


def near(x):
    """x and its neighbours in f64, some too near for f32 to tell."""
    yield from (x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf))
    yield from (x * (1 + 2.0**-30), x * (1 - 2.0**-30))


def main():
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng(20240607)
    crc = []
    singles, doubles = [], []
    for name in ("f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1", "f8e8m0"):
        v = values(name)
        if name in ("f16", "bf16"):
            crc.append(f"{name} {zlib.crc32(v.astype('<f4').tobytes()):08x}\n")
        else:
            (OUT / f"decode_{name}.bin").write_bytes(v.astype("<f4").tobytes())
        finite = np.unique(np.abs(v[np.isfinite(v)])).astype(np.float64)
        middles = np.concatenate([(finite[:-1] + finite[1:]) / 2, [finite[-1] * 1.5 - finite[-2] / 2]])
        if len(middles) > 300:
            # The subnormals' edge, the top, and a sample of the rest.
            edge = np.searchsorted(finite, 2.0 ** TYPES[name][3])
            keep = [*range(8), *range(edge - 4, edge + 4), *range(len(middles) - 8, len(middles))]
            keep += list(rng.integers(0, len(middles), 130))
            middles = middles[sorted(set(keep))]
        if name == "f8e8m0":
            middles = np.concatenate([middles[::3], middles[:4], middles[-4:]])
        for i, x in enumerate([*middles, *middles[:4] / 2, finite[-1], finite[-1] * 2]):
            x = float(x) * (-1 if i % 3 == 1 and name != "f8e8m0" else 1)
            doubles += near(x)
            with np.errstate(over="ignore"):
                y = np.float32(x)
                singles += [y, np.nextafter(y, np.float32(np.inf)), np.nextafter(y, np.float32(-np.inf))]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, math.copysign(math.nan, -1), 2.0**-149, -(2.0**-149)]
    with np.errstate(over="ignore", under="ignore"):
        singles += [np.float32(x) for x in special]
        doubles += special + [5e-324, -2.0**-1022, 1.7e308, -1.7e308]
        scale = rng.uniform(-140, 130, 800)
        singles += list((rng.uniform(-1, 1, 800) * 2.0**scale).astype(np.float32))
        doubles += list(rng.uniform(-1, 1, 600) * 2.0 ** scale[:600])
        # Halfway between two f32, and just off: what rounding twice gets wrong.
        base = rng.integers(0, 1 << 31, 150, dtype=np.uint32)
        for b in base[(base & 0x7F800000) != 0x7F800000]:
            a = float(np.uint32(b).view(np.float32))
            c = float(np.nextafter(np.float32(a), np.float32(np.inf)))
            doubles += near((a + c) / 2) if math.isfinite(c) else []
    singles = np.array(singles, dtype="<f4")
    doubles = np.array(doubles, dtype="<f8")
    (OUT / "encode_f32.bin").write_bytes(singles.tobytes())
    (OUT / "encode_f64.bin").write_bytes(doubles.tobytes())
    for name, (numpy_type, code_type, *_) in TYPES.items():
        little = np.dtype(code_type).newbyteorder("<")
        codes = np.array([exact(float(x), name) for x in doubles], dtype=little)
        (OUT / f"encode_f64_{name}.bin").write_bytes(codes.tobytes())
        if name == "f32":
            continue
        ours = np.array([exact(float(x), name) for x in singles], dtype=little)
        if numpy_type is not None:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                theirs = singles.astype(numpy_type).view(code_type)
            theirs = np.array([quiet(int(c), name) for c in theirs], dtype=little)
            # ml_dtypes drops the sign of a bf16 NaN.
            differ = (ours != theirs) & ~np.isnan(singles)
            assert not differ.any(), (name, singles[differ][:5], ours[differ][:5], theirs[differ][:5])
        (OUT / f"encode_f32_{name}.bin").write_bytes(ours.tobytes())
    (OUT / "decode_crc.txt").write_text("".join(crc))
    print(len(singles), "f32 and", len(doubles), "f64 inputs")


if __name__ == "__main__":
    main()
