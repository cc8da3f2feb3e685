//! Each hint has one form.
// no fix: the number of buffers is the author's
// error[TF0316] at 11: this hint is written `#[buffers(4)]`

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            #[buffers]
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        }
    }
}
