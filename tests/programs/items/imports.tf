//! A file under an alias: its functions, consts, dims and modules.

use "_shared.tf" as shared;

// reveal: a: f32[rows, 64] in gmem
module M {
    target "nvidia.h200_sxm";
    child norm: shared::Scale from "model.norm";

    entry func f(x: f32[shared::rows, shared::WIDTH]) -> f32[shared::rows, shared::WIDTH] {
        let a = shared::twice(x);
        norm(a)
    }
}
