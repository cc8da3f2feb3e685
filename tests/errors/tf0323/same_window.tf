//! A tile that differs between positions, written to one window by all of them.
// no fix: which window each position means is not known

module M {
    target "nvidia.h200_sxm";
    topology cta, thread = 128;

    entry func f(x: f32[256, 64]) -> f32[64] {
        let mut out = empty(f32[64]);
        mesh g = cta[p: 4] {
            let part = sum(x[g.p * 64..(g.p + 1) * 64], dim = 0);
            out[0..64] = part; // error[TF0323]: positions along `g.p` write the same elements of `out`
        }
        out
    }
}
