//! `swizzle` takes three numbers.
// no fix: the missing number is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: bf16[64, 64]) -> bf16[64, 64] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem swizzle(3, 4)); // error[TF0301]: `swizzle` takes (bits, base, shift)
            reshard(s + s, gmem)
        }
    }
}
