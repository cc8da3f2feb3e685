//! Prepared values: computed once per load, then used like weights.

const MAX = 64;
const D = 16;
dim ctx in 1..=MAX;

func angles(n: index, d: index) -> f32[n, d / 2] {
    let pos = cast(arange(n, dtype = i32), f32);
    let i = cast(arange(d / 2, dtype = i32), f32);
    unsqueeze(pos, dim = 1) * exp(unsqueeze(i, dim = 0) * -0.5)
}

// reveal: cos_t: f32[64, 8] in gmem
// reveal: c: f32[1, 8] in gmem
// reveal: w_t: f32[8, 32] in gmem
module M {
    target "nvidia.h200_sxm";
    weight w: f32[32, D / 2] from "w";
    prepare cos_t: f32[MAX, D / 2] = cos(angles(MAX, D));
    prepare w_t: f32[D / 2, 32] = transpose(w, [1, 0]);

    entry func f(x: f32[1, D / 2]) -> f32[1, 32] {
        let c = cos_t[ctx - 1..ctx];
        matmul(x * c, w_t)
    }
}
