//! A boundary takes tensors: a number is a dim or a const.
// no fix: a `dim` needs bounds

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], i: index) -> f32[4] { // error[TF0231]: `i` is an index, which a boundary does not take
        x + x
    }
}
