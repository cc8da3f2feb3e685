//! A brace that is not closed does not swallow the next item: `g` is read and checked.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] { // error[TF0104]: `{` is not closed before the next item
        x + x

    pub func g(x: f32[4]) -> f32[4] {
        x * x
    }
}
