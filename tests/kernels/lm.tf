//! A toy language model for loops over a twin, in whole numbers that f32 holds exactly: whatever the
//! order of the sums, evaluator and device give the same tokens. `LmRight` has arms, temporaries that
//! grow and a buffer that is prepared, `LmLate` a buffer that its first steps do not have; the other twins
//! have one known fault each. The kernels are in lm.cu.

const V = 97;       // tokens
const H = 24;       // features of a token
const MAX = 64;     // tokens that the cache holds

dim ctx in 1..=MAX;

module Lm {
    prepare table: f32[V, H] = mixed();

    entry func step(token: i32[1] range 0..V, inout c: f32[MAX, H]) -> (i32[1], f32[1, V]) {
        c[ctx - 1..ctx] = embedding(token, table);
        let seen = sum(c[..ctx], dim = 0, keepdim = true);
        let h = seen - floor(seen / 13.0) * 13.0 - 6.0;
        let logits = matmul(h, table, transpose_b = true);
        (argmax(logits, dim = -1, dtype = i32), logits)
    }
}

/// Whole numbers of -5 to 5.
func mixed() -> f32[V, H] {
    let t = unsqueeze(arange(V, dtype = i32), dim = 1);
    let f = unsqueeze(arange(H, dtype = i32), dim = 0);
    let n = cast(t * t * 7 + t * f * f * 5 + f * 3, f32);
    n - floor(n / 11.0) * 11.0 - 5.0
}

twin LmRight for Lm {
    extern kernel append(token: in i32[1], table: in f32[V, H], row: out f32[1, H], h: u32)
        from "lm.ptx" entry "append";
    extern kernel few(c: in f32[MAX, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "few";
    extern kernel rows(c: in f32[MAX, H], part: out f32[ctx, H], n: u32, h: u32)
        from "lm.ptx" entry "rows";
    extern kernel add(part: in f32[ctx, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "add";
    extern kernel head(
        seen: in f32[1, H],
        table: in f32[V, H],
        logits: out f32[1, V],
        next: out i32[1],
        v: u32,
        h: u32,
    ) from "lm.ptx" entry "head";

    func step(token, inout c) {
        launch append(token, table, c[ctx - 1..ctx], H) grid(1) block(32);
        let seen = alloc(f32[1, H]);
        match ctx {
            1..=7 => {
                launch few(c, seen, ctx, H) grid(1) block(32);
            },
            8..=64 => {
                let part = alloc(f32[ctx, H]);
                launch rows(c, part, ctx, H) grid(ctx) block(32);
                launch add(part, seen, ctx, H) grid(1) block(32);
            },
        }
        let logits = alloc(f32[1, V]);
        let next = alloc(i32[1]);
        launch head(seen, table, logits, next, V, H) grid(1) block(128);
        (next, logits)
    }
}

/// What it prepares for itself is met by steps from the fourth on only.
twin LmLate for Lm {
    prepare again: f32[V, H] = mixed();

    extern kernel append(token: in i32[1], table: in f32[V, H], row: out f32[1, H], h: u32)
        from "lm.ptx" entry "append";
    extern kernel few(c: in f32[MAX, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "few";
    extern kernel head(
        seen: in f32[1, H],
        table: in f32[V, H],
        logits: out f32[1, V],
        next: out i32[1],
        v: u32,
        h: u32,
    ) from "lm.ptx" entry "head";

    func step(token, inout c) {
        let seen = alloc(f32[1, H]);
        let logits = alloc(f32[1, V]);
        let next = alloc(i32[1]);
        launch append(token, table, c[ctx - 1..ctx], H) grid(1) block(32);
        launch few(c, seen, ctx, H) grid(1) block(32);
        match ctx {
            1..=3 => {
                launch head(seen, table, logits, next, V, H) grid(1) block(128);
            },
            4..=64 => {
                launch head(seen, again, logits, next, V, H) grid(1) block(128);
            },
        }
        (next, logits)
    }
}

/// The row behind the new one is written too: with a full cache, past its end.
twin LmWritesPast for Lm {
    extern kernel append(token: in i32[1], table: in f32[V, H], row: out f32[1, H], h: u32)
        from "lm.ptx" entry "append_past";
    extern kernel few(c: in f32[MAX, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "few";
    extern kernel head(
        seen: in f32[1, H],
        table: in f32[V, H],
        logits: out f32[1, V],
        next: out i32[1],
        v: u32,
        h: u32,
    ) from "lm.ptx" entry "head";

    func step(token, inout c) {
        let seen = alloc(f32[1, H]);
        let logits = alloc(f32[1, V]);
        let next = alloc(i32[1]);
        launch append(token, table, c[ctx - 1..ctx], H) grid(1) block(32);
        launch few(c, seen, ctx, H) grid(1) block(32);
        launch head(seen, table, logits, next, V, H) grid(1) block(128);
        (next, logits)
    }
}

/// An address that holds nothing is read.
twin LmReadsFar for Lm {
    extern kernel append(token: in i32[1], table: in f32[V, H], row: out f32[1, H], h: u32)
        from "lm.ptx" entry "append_lost";
    extern kernel few(c: in f32[MAX, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "few";
    extern kernel head(
        seen: in f32[1, H],
        table: in f32[V, H],
        logits: out f32[1, V],
        next: out i32[1],
        v: u32,
        h: u32,
    ) from "lm.ptx" entry "head";

    func step(token, inout c) {
        let seen = alloc(f32[1, H]);
        let logits = alloc(f32[1, V]);
        let next = alloc(i32[1]);
        launch append(token, table, c[ctx - 1..ctx], H) grid(1) block(32);
        launch few(c, seen, ctx, H) grid(1) block(32);
        launch head(seen, table, logits, next, V, H) grid(1) block(128);
        (next, logits)
    }
}

/// The next token is V, which is none.
twin LmGivesNoToken for Lm {
    extern kernel append(token: in i32[1], table: in f32[V, H], row: out f32[1, H], h: u32)
        from "lm.ptx" entry "append";
    extern kernel few(c: in f32[MAX, H], seen: out f32[1, H], n: u32, h: u32)
        from "lm.ptx" entry "few";
    extern kernel head(
        seen: in f32[1, H],
        table: in f32[V, H],
        logits: out f32[1, V],
        next: out i32[1],
        v: u32,
        h: u32,
    ) from "lm.ptx" entry "head_far";

    func step(token, inout c) {
        let seen = alloc(f32[1, H]);
        let logits = alloc(f32[1, V]);
        let next = alloc(i32[1]);
        launch append(token, table, c[ctx - 1..ctx], H) grid(1) block(32);
        launch few(c, seen, ctx, H) grid(1) block(32);
        launch head(seen, table, logits, next, V, H) grid(1) block(128);
        (next, logits)
    }
}
