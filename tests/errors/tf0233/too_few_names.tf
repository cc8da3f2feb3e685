//! A pattern has a name for each part of the tuple.
// no fix: the names of the parts are the author's

module M {
    target "nvidia.h200_sxm";

    func three(x: f32[4]) -> (f32[4], f32[4], f32[4]) {
        (x, x + x, x * x)
    }

    entry func f(x: f32[4]) -> f32[4] {
        let (a, b) = three(x); // error[TF0233]: the pattern takes 2 values, found a tuple of 3
        a + b
    }
}
