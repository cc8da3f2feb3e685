//! An operator without its right operand; the rest of the file is still read.
// no fix: the operand is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let a = x * ; // error[TF0103]: expected an expression, found `;`
        a
    }

    pub func g(x: f32[4]) -> f32[4] {
        x + elsewhere // error[TF0201]: `elsewhere` is not declared here
    }
}
