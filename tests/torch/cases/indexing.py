"""Ops that read and write through indices, and those that put elements in order."""

import torch

from common import (DTYPES, FLOATS, INTS, TORCH, Case, equal, gen, integers, rounded,
                    signed, source, specials, sum_bound, uniform)

ALL = [d for d, _, _ in DTYPES if d != "f4e2m1"]
TIES = "of equal elements the one with the lower index first, which PyTorch leaves open"


def bits(t):
    """Elements as integers of their width, which PyTorch moves whatever they stand for."""
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return t.view(width[t.dtype.itemsize])


def draw(g, size, d):
    if d in ("bool", *INTS):
        return integers(g, size, TORCH[d])
    if d == "f8e8m0":
        return integers(g, size, torch.uint8).view(TORCH[d])
    return uniform(g, size, TORCH[d], 4.0)


def case(op, name, body, inputs, outs, rule, d, note="", like=""):
    return Case(name, source(body, inputs, outs), inputs, outs, rule, [op], d, note=note, like=like)


#: x, idx, dim
GATHERS = [([3, 4], [2, 4], 0), ([3, 5], [3, 2], -1), ([2, 3, 4], [1, 6, 2], 1), ([2, 3], [0, 3], 0)]
SELECTS = [([5, 2], 4, 0), ([2, 7], 3, -1), ([2, 3, 2], 1, 1), ([4, 0], 2, 0), ([3, 2], 0, 0)]
TABLES = [([3], [5, 4]), ([2, 3], [7, 1]), ([], [4, 6]), ([0], [3, 2])]


def reads():
    for n, (size, isize, dim) in enumerate(GATHERS):
        for d in ALL if n < 2 else ["f32", "i8"]:
            for to in ["i64", "i32"]:
                g = gen(f"gather_{n}_{d}")
                x = draw(g, size, d)
                i = integers(g, isize, torch.int64, 0, size[dim] - 1)
                y = bits(x).gather(dim, i).view(x.dtype)
                yield case("gather", f"gather_{n}_{d}_{to}", f"gather(x, i, dim = {dim})",
                           {"x": x, "i": i.to(TORCH[to])}, [y], equal(), d,
                           like=f"gather_{n}_{d}_i64" if to == "i32" else "")
    for n, (size, k, dim) in enumerate(SELECTS):
        for d in ALL if n < 2 else ["bf16", "u8"]:
            g = gen(f"select_{n}_{d}")
            x = draw(g, size, d)
            i = integers(g, [k], torch.int64, 0, size[dim] - 1)
            y = bits(x).index_select(dim, i).view(x.dtype)
            yield case("index_select", f"index_select_{n}_{d}", f"index_select(x, i, dim = {dim})",
                       {"x": x, "i": i}, [y], equal(), d)
    for d in FLOATS + INTS:
        x = draw(gen(f"fill_{d}"), [4, 3], d)
        i = torch.tensor([-1, 3, 0, 4, 100, -7], dtype=torch.int32)
        inside = (i >= 0) & (i < 4)
        y = bits(x).index_select(0, i.clamp(0, 3))
        fill = bits(torch.tensor([2], dtype=TORCH[d]))
        y = torch.where(inside[:, None], y, fill).view(x.dtype)
        value = "2.0" if d in FLOATS else "2"
        yield case("index_select", f"index_select_fill_{d}",
                   f"index_select(x, i, dim = 0, fill = {value})", {"x": x, "i": i}, [y], equal(), d,
                   "PyTorch has no fill: where the index is outside, the value stands")
    for n, (isize, tsize) in enumerate(TABLES):
        for d in ALL if n < 2 else ["f16", "i32"]:
            g = gen(f"embedding_{n}_{d}")
            t = draw(g, tsize, d)
            i = integers(g, isize, torch.int64, 0, tsize[0] - 1)
            y = torch.nn.functional.embedding(i, bits(t)).view(t.dtype)
            yield case("embedding", f"embedding_{n}_{d}", "embedding(i, t)",
                       {"i": i.to(torch.int32 if n % 2 else torch.int64), "t": t}, [y], equal(), d)


#: z, idx and src, dim
SCATTERS = [([4, 3], [3, 3], 0), ([2, 5], [2, 9], -1), ([2, 3, 2], [1, 4, 2], 1), ([3, 2], [0, 2], 0)]
ADDS = [([4, 3], 6, 0), ([2, 5], 3, -1), ([2, 3, 2], 7, 1), ([3, 2], 0, 0)]


def added(d, z, src, f):
    """`f(z, src)` adds: in f64, rounded once; integers in i64, whose low bits wrap alike."""
    if d in FLOATS:
        return rounded(f(z.double(), src.double()), z.dtype), "f64, rounded once"
    w = f(signed(z).to(torch.int64), signed(src).to(torch.int64))
    narrow = signed(z).dtype
    return w.to(narrow).view(z.dtype), "wraps"


def writes():
    for op, table in [("scatter_add", SCATTERS), ("index_add", ADDS)]:
        for n, (size, at, dim) in enumerate(table):
            for d in FLOATS + INTS if n < 2 else ["f32", "bf16", "i16"]:
                for kind in ["", "_exact"] if d in FLOATS else [""]:
                    name = f"{op}_{n}_{d}{kind}"
                    g = gen(name)
                    ssize = at if op == "scatter_add" else [*size]
                    if op == "index_add":
                        ssize[dim] = at
                    isize = at if op == "scatter_add" else [at]
                    i = integers(g, isize, torch.int64, 0, size[dim] - 1)
                    if kind:
                        z, s = (integers(g, t, torch.int64, -9, 9).to(TORCH[d]) for t in (size, ssize))
                    else:
                        z, s = draw(g, size, d), draw(g, ssize, d)
                    f = (lambda a, b: a.scatter_add(dim, i, b)) if op == "scatter_add" else \
                        (lambda a, b: a.index_add(dim, i, b))
                    y, note = added(d, z, s, f)
                    rule = equal()
                    if d in FLOATS and not kind:
                        mags = f(z.double().abs(), s.double().abs())
                        rule = sum_bound(1 + ssize[dim], mags, TORCH[d])
                    yield case(op, name, f"{op}(z, i, s, dim = {dim})", {"z": z, "i": i, "s": s},
                               [y], rule, d, note)


def distinct(g, rows, n, shape, dim):
    """Indices without repetition along an axis; PyTorch leaves open which of two writes stays."""
    want = list(shape)
    flat = [torch.randperm(n, generator=g)[: want[dim]] for _ in range(rows)]
    rest = [s for i, s in enumerate(want) if i != dim % len(want)]
    at = torch.stack(flat).reshape(*rest, want[dim]) if rows else torch.zeros(*rest, want[dim])
    return at.movedim(-1, dim).to(torch.int64).contiguous()


def copies():
    ways = [([5, 3], [3, 3], 0), ([2, 6], [2, 4], -1), ([2, 5, 2], [1, 4, 2], 1), ([3, 2], [0, 2], 0)]
    for n, (size, isize, dim) in enumerate(ways):
        for d in ALL if n < 2 else ["f32", "i16"]:
            g = gen(f"scatter_{n}_{d}")
            z, s = draw(g, size, d), draw(g, isize, d)
            rows = 1
            for i, e in enumerate(isize):
                rows *= e if i != dim % len(isize) else 1
            i = distinct(g, rows, size[dim], isize, dim)
            y = bits(z).scatter(dim, i, bits(s)).view(z.dtype)
            yield case("scatter", f"scatter_{n}_{d}", f"scatter(z, i, s, dim = {dim})",
                       {"z": z, "i": i.to(torch.int32 if n % 2 else torch.int64), "s": s}, [y], equal(), d)
            k = isize[dim]
            ssize = list(size)
            ssize[dim] = k
            s, i = draw(g, ssize, d), torch.randperm(size[dim], generator=g)[:k]
            y = bits(z).index_copy(dim, i, bits(s)).view(z.dtype)
            yield case("index_copy", f"index_copy_{n}_{d}", f"index_copy(z, i, s, dim = {dim})",
                       {"z": z, "i": i.to(torch.int32 if n % 2 else torch.int64), "s": s}, [y], equal(), d)


def counts():
    for d in INTS:
        for what, size, n in [("row", [12], 5), ("matrix", [3, 4], 9), ("empty", [0], 3)]:
            x = integers(gen(f"bincount_{d}_{what}"), size, torch.int64, 0, n - 2)
            y = torch.bincount(x.reshape(-1), minlength=n)
            out = ", out = i64" if d in ("i8", "u8") else ""
            y = y if out else y.to(TORCH[d])
            yield case("bincount", f"bincount_{d}_{what}", f"bincount(x, {n}{out})",
                       {"x": x.to(TORCH[d])}, [y], equal(), d)
        for what, size, n, to in [("row", [5], 4, ""), ("matrix", [2, 3], 6, "f32"), ("one", [], 1, "i32"),
                                  ("empty", [0, 2], 3, "bool")]:
            x = integers(gen(f"one_hot_{d}_{what}"), size, torch.int64, 0, n - 1)
            y = (torch.nn.functional.one_hot(x, n) if x.numel() else torch.zeros([*size, n])).to(
                TORCH[to or "i64"])
            extra = f", dtype = {to}" if to else ""
            yield case("one_hot", f"one_hot_{d}_{what}", f"one_hot(x, {n}{extra})",
                       {"x": x.to(TORCH[d])}, [y], equal(), d)


#: size, dim
ORDERS = [([4, 6], -1), ([5, 2], 0), ([2, 7, 2], 1), ([3, 0], 1), ([1, 1], -1)]


def key(x, d):
    """What PyTorch can put in the same order."""
    if d[:2] == "f8":
        return x.to(torch.float32)
    if d == "u64":
        return x.view(torch.int64) ^ torch.iinfo(torch.int64).min
    return x.to(torch.int64) if d == "u32" else x


def orders():
    for n, (size, dim) in enumerate(ORDERS):
        for d in FLOATS + ["f8e4m3", "f8e5m2"] + INTS if n < 3 else ["f32", "i32"]:
            g = gen(f"sort_{n}_{d}")
            x = draw(g, size, d)
            if n == 1:
                s = bits(specials(TORCH[d]))
                pick = torch.randint(0, len(s), size, generator=g)
                x = s[pick].view(TORCH[d])
            elif d in FLOATS:
                x = (x * 1.5).round()
            for what, down in [("up", False), ("down", True)]:
                i = torch.sort(key(x, d), dim=dim, descending=down, stable=True)[1]
                y = bits(x).gather(dim, i).view(x.dtype)
                short = down and n != 1
                extra = (", descending = true" if down else "") + (", dtype = i32" if short else "")
                yield case("sort", f"sort_{n}_{d}_{what}",
                           f"let (v, i) = sort(x, dim = {dim}{extra}); (v, i)", {"x": x},
                           [y, i.to(torch.int32) if short else i], equal(), d,
                           like=f"sort_{n}_{d}_up" if down else "")
            i = torch.sort(key(x, d), dim=dim, descending=True, stable=True)[1]
            k = (size[dim] + 1) // 2
            i = i.narrow(dim, 0, k).contiguous()
            y = bits(x).gather(dim, i).view(x.dtype)
            extra = ", dtype = i32" if n else ""
            yield case("topk", f"topk_{n}_{d}",
                       f"let (v, i) = topk(x, k = {k}, dim = {dim}{extra}); (v, i)", {"x": x},
                       [y, i.to(torch.int32) if n else i], equal(), d, TIES,
                       f"sort_{n}_{d}_up")


def caches():
    for n, (size, nsize, pos, dim) in enumerate([([6, 3], [2, 3], 3, 0), ([2, 5], [2, 1], 4, -1),
                                                 ([2, 4, 2], [2, 0, 2], 1, 1), ([3, 2], [3, 2], 0, 0)]):
        for d in ALL if n < 1 else ["f32", "bf16", "i8"]:
            g = gen(f"cache_{n}_{d}")
            c, x = draw(g, size, d), draw(g, nsize, d)
            y = bits(c).clone()
            y.narrow(dim, pos, nsize[dim]).copy_(bits(x))
            yield case("cache_update", f"cache_update_{n}_{d}",
                       f"cache_update(c, x, {pos}, dim = {dim})", {"c": c, "x": x},
                       [y.view(c.dtype)], equal(), d)


def cases():
    yield from reads()
    yield from writes()
    yield from copies()
    yield from counts()
    yield from orders()
    yield from caches()
