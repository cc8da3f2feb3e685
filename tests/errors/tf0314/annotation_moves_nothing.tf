//! An annotation asserts where a value is: only `reshard` moves it.
// no fix: a `reshard` or another annotation, both are possible

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 32;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let s = reshard(x, smem);
            let r: f32[64] in rmem[64 @ t.x] = s[0..64]; // error[TF0314]: is placed `smem`
            reshard(r + r, gmem)
        }
    }
}
