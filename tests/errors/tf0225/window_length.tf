//! The length of a window used as a subscript never depends on a loop variable.
// no fix: a `tile` of the range is another loop

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8]) -> f32 {
        let mut acc = zeros(f32);
        for i in 0..8 {
            acc = acc + sum(x[0..i], dim = 0); // error[TF0225]: the length of this window is `i`
        }
        acc
    }
}
