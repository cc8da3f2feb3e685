//! A variable keeps its shape: a number is no tensor of rank 1.
// no fix: `full` of the variable's shape or another variable, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut a = x;
        a = 0.0; // error[TF0207]: `a` is `f32[4]`, it is assigned `f32`
        a
    }
}
