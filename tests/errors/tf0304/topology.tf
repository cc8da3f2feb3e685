//! A level that the target does not have.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, threads = 128; // error[TF0304]: `threads` is no level of `nvidia.h200_sxm`

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}
