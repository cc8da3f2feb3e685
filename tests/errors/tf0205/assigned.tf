//! A variable keeps its dtype.
// no fix: the variable's start or the value may be the mistake

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f16[4, 8]) -> f32[4] {
        let mut acc = zeros(f32[4]);
        for k in 0..8 {
            acc = x[.., k]; // error[TF0205]: `acc` is `f32[4]`, it is assigned `f16[4]`
        }
        acc
    }
}
