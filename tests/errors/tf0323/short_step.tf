//! Windows of 64 that start 32 apart.
// no fix: whether the window or the step is meant is not known

module M {
    target "nvidia.h200_sxm";
    topology cta, thread = 128;

    entry func f(x: f32[256]) -> f32[256] {
        let mut out = empty(f32[256]);
        mesh g = cta[p: 4] {
            let w = g.p * 32..g.p * 32 + 64;
            out[w] = x[w] + 1.0; // error[TF0323]: positions along `g.p` write the same elements of `out`
        }
        out
    }
}
