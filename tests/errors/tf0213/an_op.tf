//! Ops need no `use`.
// no fix: the line is to be removed, with what else it imports kept

use std::nn::{matmul}; // error[TF0213]: `std::nn` has no `matmul`

module M {
    target "nvidia.h200_sxm";

    entry func f(a: f32[4, 4]) -> f32[4, 4] {
        matmul(a, a)
    }
}
