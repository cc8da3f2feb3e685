//! Data that a library function cannot take is shown at its call.
// run: check FILE --inputs random:1 --fn finite
// no fix: the ids or the number of experts may be the mistake

use std::moe::{dispatch};

module M {
    target "nvidia.h200_sxm";

    entry func f(ids: i32[3, 2] range 7..=7) -> (i32[6], i32[6], i32[4]) {
        dispatch(ids, 4) // error[TF0405]: `bincount`
    }
}
