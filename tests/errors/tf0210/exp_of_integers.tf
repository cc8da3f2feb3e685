//! `exp` takes floats.
// no fix: the dtype to compute in is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: i32[4]) -> i32[4] {
        exp(x) // error[TF0210]: `exp`
    }
}
