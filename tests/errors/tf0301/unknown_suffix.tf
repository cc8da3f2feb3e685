//! A placement has `swizzle`, `layout`, `partial` and `varying`.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: bf16[64, 64]) -> bf16[64, 64] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem swizle(3, 4, 3)); // error[TF0301]: a placement has no `swizle`
            reshard(s + s, gmem)
        }
    }
}
