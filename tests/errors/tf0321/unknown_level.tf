//! A level that the target does not have.

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, threads = 128; // error[TF0321]: `threads`

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}
