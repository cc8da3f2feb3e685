//! There is no `+=`: an assignment names the variable again.
// no fix: the whole assignment is written anew, which is more than one edit

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut acc = zeros(f32[4]);
        acc += x; // error[TF0102]: `+=` is not an operator
        acc
    }
}
