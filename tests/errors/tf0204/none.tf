//! `none` stands for what is optional only.
// no fix: what was meant is not known

use std::nn::{softmax};

func scaled(x: f32[4], w: f32[4] = none) -> f32[4] {
    match w {
        4 => x, // error[TF0204]: the pattern of an optional argument is `none` or `_`
        none => x,
    }
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        scaled(x)
    }

    pub func g(x: f32[4]) -> f32[4] {
        softmax(none) // error[TF0204]: `x` of `softmax` is a tensor, found `none`
    }

    pub func h(x: f32[4]) -> f32[4] {
        x + none // error[TF0204]: `+` does not take a tensor and `none`
    }

    pub func k(x: f32[4]) -> f32[4] {
        softmax(x, dim = none) // error[TF0204]: `dim` is an index, found `none`
    }
}
