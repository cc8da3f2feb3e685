//! An RMS norm step by step, without a placement. Of f32 arithmetic there are the square, the mean,
//! the addition of epsilon and the product with the root, of bf16 the product with the weight. The
//! Python tool counts a cast as a flop too; here it is a conversion, which is no flop.
// cost: flops.bf16 = 16777216
// cost: work.cvt = 33554432
// cost: gmem.read = 335601664
// cost: gmem.write = 268484608

module M {
    target "nvidia.h200_sxm";
    weight w: bf16[1, 4096] from "w";

    entry func norm(x: bf16[4096, 4096]) -> bf16[4096, 4096] {
        let f = cast(x, f32);
        let m = mean(square(f), dim = -1, keepdim = true);
        cast(f * rsqrt(m + 1e-6), bf16) * w
    }
}
