//! Tuples: nested results, patterns that drop parts, shadowing.

func parts(x: f32[8]) -> ((f32[8], f32[4]), f32[2]) {
    ((x + x, x[..4]), x[6..])
}

// agrees: f = logical
// reveal: b: f32[4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8]) -> (f32[4], f32[2]) {
        let ((_, b), c) = parts(x);
        let x = b * b;
        (x, c)
    }

    pub func logical(x: f32[8]) -> (f32[4], f32[2]) {
        (square(x[..4]), x[6..8])
    }
}
