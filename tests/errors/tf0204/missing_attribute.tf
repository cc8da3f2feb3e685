//! A reduction says which axis it reduces.
// no fix: the axis is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4] {
        cumsum(x) // error[TF0204]: `cumsum` needs `dim`
    }
}
