//! A file that does not exist; names under its alias stay silent.
// no fix: only the author knows which file was meant

use "absent.tf" as absent; // error[TF0106]: absent.tf

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        absent::twice(x)
    }
}
