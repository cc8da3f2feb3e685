//! A module says what is computed; kernels are launched by twins.
// no fix: the launch belongs into a twin

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        launch k(x) grid(1) block(64); // error[TF0318]: `launch` stands in the functions of a twin only
        x
    }
}
