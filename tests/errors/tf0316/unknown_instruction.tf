//! The instructions of `via` are those of the target.
// no fix: the instruction is the author's
// error[TF0316] at 11: has no `tme` for `via`

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            #[via(tme)]
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        }
    }
}
