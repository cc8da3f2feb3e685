//! A boundary takes tensors: its dtypes are written.
// no fix: which dtype is meant is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], to: dtype) -> f32[4] { // error[TF0231]: `to` is a dtype, which a boundary does not take
        x + x
    }
}
