//! More positions than any grid has.
// no fix: what was meant is not known

module M {
    target "nvidia.h200_sxm";
    topology cta, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4611686018427387904, c: 4] { // error[TF0306]: mesh `g` has more than 2^31 - 1 positions
            reshard(reshard(x, smem), gmem)
        }
    }
}
