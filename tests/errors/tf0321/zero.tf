//! A level without positions.
// no fix: the extent that was meant is not known

module M {
    target "nvidia.h200_sxm";
    topology cta = 0, thread = 128; // error[TF0321]: `cta` has at least one position

    entry func f(x: f32[64]) -> f32[64] {
        x
    }
}
