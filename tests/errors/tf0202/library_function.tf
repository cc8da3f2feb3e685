//! Ops need no `use`, functions of the library do: the fix writes it.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        softmax(x, dim = -1) // error[TF0202]: there is no op or function `softmax`
    }
}
