//! A boundary is not generic: nobody outside could say what it is called with.
// no fix: a `dim` needs bounds

module M {
    target "nvidia.h200_sxm";

    entry func f<N>(x: f32[N]) -> f32[N] { // error[TF0231]: `f` is a boundary, it cannot be generic
        x + x
    }
}
