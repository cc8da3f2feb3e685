//! A tile computed from coordinates differs between positions.
// no fix: a window write or `collect`, both are possible

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[16] {
        mesh g = cta[r: 4] {
            let w = x[g.r * 16..(g.r + 1) * 16];
            reshard(w + w, gmem) // error[TF0312]: on each position of `g.r`
        }
    }
}
