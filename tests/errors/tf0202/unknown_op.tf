//! A misspelt op: the nearest op or function is offered.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        sigmiod(x) // error[TF0202]: there is no op or function `sigmiod`
    }
}
