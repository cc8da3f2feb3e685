//! A `for` has no value.
// no fix: a carried variable is another statement

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let y = for i in 0..4 { // error[TF0232]: this has no value to bind to `y`
            x + x;
        };
        x
    }
}
