//! A number drops its axis; ranges and windows keep it; trailing axes may be left off.

// reveal: a: f32[8, 6] in gmem
// reveal: b: f32[2, 6] in gmem
// reveal: c: f32[4, 3, 6] in gmem
// reveal: d: f32 in gmem
// reveal: e: f32[4, 8, 2] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8, 6]) -> (f32[8, 6], f32[2, 6], f32[4, 3, 6], f32, f32[4, 8, 2]) {
        let w = 3..6;
        let a = x[2];
        let b = x[0, ..2];
        let c = x[.., w];
        let d = x[3, 7, 5];
        let e = x[.., .., w.end - 2..w.end];
        (a, b, c, d, e)
    }
}
