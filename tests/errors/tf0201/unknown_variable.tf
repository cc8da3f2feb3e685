//! A misspelt name: the nearest one in sight is offered.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(scores: f32[4]) -> f32[4] {
        scroes + 1.0 // error[TF0201]: `scroes` is not declared here
    }
}
