//! A library module that does not exist.
// no fix: the functions may be those of another module

use std::linalg::{solve}; // error[TF0213]: there is no library module `std::linalg`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
