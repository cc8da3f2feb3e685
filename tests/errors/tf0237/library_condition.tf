//! What a library function asks of its numbers, it asks by a condition.
// no fix: which number is meant is not known

use std::attention::{attention};
use std::moe::{sigmoid_topk, softmax_topk};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 2, 8]) -> f32[4, 2, 8] {
        attention(x, x, x, window = 0) // error[TF0237]: no arm of this `match` covers `false`
    }

    pub func g(x: f32[4, 16]) -> (f32[4, 5], i32[4, 5]) {
        softmax_topk(x, 5, groups = 4, topk_groups = 1) // error[TF0237]: no arm of this `match` covers `false`
    }

    pub func h(x: f32[4, 16], bias: f32[16]) -> (f32[4, 9], i32[4, 9]) {
        sigmoid_topk(x, bias, 9, groups = 4, topk_groups = 2) // error[TF0237]: no arm of this `match` covers `false`
    }
}
