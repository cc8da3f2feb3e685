//! Address swizzles and layouts are part of where a value is, not of what it is.

// reveal: a: bf16[128, 64] in smem swizzle(3, 4, 3)
// reveal: b: bf16[128, 64] in smem layout (128, (16, 4)):(16, (1, 2048))
// reveal: c: bf16[128, 64] in smem[(2 @ g.r, 64), 64] swizzle(2, 4, 3)
module M {
    target "nvidia.h200_sxm";
    topology cta = 2, thread = 128;

    entry func f(x: bf16[128, 64]) -> bf16[128, 64] {
        mesh g = cta[r: 2] {
            let a = reshard(x, smem swizzle(3, 4, 3));
            let b = reshard(x, smem layout (128, (16, 4)):(16, (1, 2048)));
            let c = reshard(x, smem[128 @ g.r, 64] swizzle(2, 4, 3));
            reshard(a + b + c, gmem)
        }
    }
}
