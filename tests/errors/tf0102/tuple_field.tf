//! A tuple is taken apart by a pattern; `.0` names no part of it.
// no fix: the names of the parts are the author's

module M {
    target "nvidia.h200_sxm";

    func pair(x: f32[4]) -> (f32[4], f32[4]) {
        (x, x + x)
    }

    entry func f(x: f32[4]) -> f32[4] {
        let p = pair(x);
        let q = p.0; // error[TF0102]: does not name a part of a tuple
        x
    }
}
