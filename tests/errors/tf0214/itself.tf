//! A file that imports itself.
// no fix: the import is to be removed with its uses

use "itself.tf" as me; // error[TF0214]: imports itself

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
