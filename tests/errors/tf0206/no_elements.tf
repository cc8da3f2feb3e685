//! No elements have no largest; where it is known that there are none, the program is refused.
// no fix: what is to be reduced is the author's

use std::nn::{softmax};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 0]) -> f32[4] {
        max(x, dim = 1) // error[TF0206]: `max` of no elements has no value
    }

    pub func g(x: f32[4, 0]) -> i64[4] {
        argmax(x, dim = 1) // error[TF0206]: `argmax` of no elements has no value
    }

    pub func h(x: f32[4, 0]) -> f32[4, 0] {
        softmax(x) // error[TF0206]: `max` of no elements has no value
    }
}
