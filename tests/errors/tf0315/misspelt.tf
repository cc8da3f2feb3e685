//! A misspelt hint: the nearest is offered.
// fixed
// error[TF0315] at 11: there is no hint `bufers`

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            #[bufers(2)]
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        }
    }
}
