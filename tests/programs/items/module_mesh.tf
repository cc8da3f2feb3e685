//! A mesh of the module itself: its axes stand in weights and signatures.

const F = 64;

// reveal: up: bf16[8, 64] in gmem[8, (2 @ d.r, 32)]
// reveal: y: f32[8, 32] in gmem partial(sum, d.r)
// reveal: whole: f32[8, 32] in gmem
module Parallel {
    target "nvidia.h200_sxm";
    topology gpu = 2;
    mesh d = gpu[r: 2];

    weight w_up: bf16[F, 32] in gmem[F @ d.r, 32] from "up";
    weight w_down: bf16[32, F] in gmem[32, F @ d.r] from "down";

    entry func mlp(x: bf16[8, 32]) -> bf16[8, 32] {
        let up = matmul(x, w_up, transpose_b = true);
        let y = matmul(up, w_down, transpose_b = true, out = f32);
        let whole = complete(y);
        cast(whole, bf16)
    }
}
