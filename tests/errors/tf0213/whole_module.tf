//! A module of the library is no name; its functions are.
// no fix: which functions are wanted is not known

use std::nn; // error[TF0213]: `std::nn` is a module; a `use` takes functions of it

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        nn::softmax(x)
    }
}
