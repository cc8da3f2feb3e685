//! `inout`: a function updates the caller's buffer, whole or a window of it.

const MAX = 32;
dim ctx in 1..=MAX;

func append(x: f32[1, 8], inout cache: f32[MAX, 8]) -> f32[ctx, 8] {
    cache[ctx - 1..ctx] = x;
    cache[..ctx]
}

func bump(inout row: f32[8]) {
    row = row + 1.0;
}

// reveal: a: f32[ctx, 8] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[1, 8], inout kc: f32[MAX, 8], inout stack: f32[3, MAX, 8]) -> f32[ctx, 8] {
        let a = append(x, inout kc);
        for i in 0..3 {
            let b = append(x, inout stack[i]);
            let mut t = b[0];
            bump(inout t);
        }
        let c = append(x + x, inout kc);
        a + c
    }
}
