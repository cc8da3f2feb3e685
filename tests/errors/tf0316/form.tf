//! Each hint has one form.
// no fix: the number of buffers is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            #[buffers] // error[TF0316]: this hint is written `#[buffers(4)]`
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        }
    }
}
