"""Bits of integers, and the same bits as another dtype."""

import torch

from common import (DTYPES, INTS, TORCH, Case, content, equal, f4, gen, integers, signed, source,
                    specials)

SHAPES = [("row", [4, 3], [3]), ("outer", [2, 1, 3], [4, 1]), ("empty", [0, 2], [2]), ("one", [], [1])]
BITWISE = [("bit_and", torch.bitwise_and), ("bit_or", torch.bitwise_or), ("bit_xor", torch.bitwise_xor)]


def case(op, name, body, inputs, y, d, note="", like=""):
    return Case(name, source(body, inputs, [y]), inputs, [y], equal(), [op], d, note=note, like=like)


def bitwise():
    for op, f in BITWISE:
        for d in INTS:
            g = gen(f"bits_{d}")
            s = specials(TORCH[d])
            draws = [(w, integers(g, p, TORCH[d]), integers(g, q, TORCH[d])) for w, p, q in SHAPES]
            for what, a, b in [*draws, ("special", s[:, None].contiguous(), s)]:
                y = f(signed(a), signed(b)).view(a.dtype)
                yield case(op, f"{op}_{d}_{what}", f"{op}(a, b)", {"a": a, "b": b}, y, d,
                           like=f"bit_and_{d}_{what}" if op != "bit_and" else "")


def shifts():
    for d in INTS:
        dtype = TORCH[d]
        width = torch.iinfo(dtype).bits
        for what, p, q in SHAPES:
            g = gen(f"shift_{d}_{what}")
            a, b = integers(g, p, dtype), integers(g, q, dtype, 0, width - 1)
            w, n = signed(a).to(torch.int64), signed(b).to(torch.int64)
            left = (w << n).to(signed(a).dtype).view(dtype)
            if d == "u32":
                w = w & 0xFFFFFFFF
            right = w >> n
            if d == "u64":
                # zeros come in: the bits of the sign are cleared
                mask = torch.where(n == 0, -1, (1 << (63 - (n - 1).clamp(min=0))) - 1)
                right = right & mask
            right = right.to(signed(a).dtype).view(dtype)
            note = "in i64; PyTorch shifts no unsigned integers wider than u8" if d in ("u32", "u64") else ""
            yield case("shl", f"shl_{d}_{what}", "shl(a, b)", {"a": a, "b": b}, left, d, note)
            yield case("shr", f"shr_{d}_{what}", "shr(a, b)", {"a": a, "b": b}, right, d, note,
                       f"shl_{d}_{what}")


def views():
    kinds = [d for d, _, _ in DTYPES if d != "bool"]
    for a in kinds:
        for b in kinds:
            if a == b:
                continue
            g = gen("bitcast")
            raw = integers(g, [3, 16], torch.uint8)
            x, y = raw.view(TORCH[a]), raw.view(TORCH[b])
            assert content(x) == content(y)
            yield case("bitcast", f"bitcast_{a}_{b}", f"bitcast(x, {b})", {"x": x}, y, f"{a} to {b}",
                       like=f"bitcast_{a}_{'f64' if a != 'f64' else 'f32'}" if b != ('f64' if a != 'f64' else 'f32') else "")
    for what, shape in [("empty", [0, 4]), ("row", [6])]:
        x = integers(gen(f"bitcast_{what}"), shape, torch.int32)
        yield case("bitcast", f"bitcast_{what}", "bitcast(x, f32)", {"x": x}, x.view(torch.float32), "i32 to f32")
    x = f4(integers(gen("bitcast_f4"), [2, 8], torch.int64, 0, 15))
    yield case("bitcast", "bitcast_f4", "bitcast(x, u8)", {"x": x}, x.view(torch.uint8), "f4e2m1 to u8")


def cases():
    yield from bitwise()
    yield from shifts()
    yield from views()
