//! Precedence and broadcasting: right-aligned, extents equal or 1.

// reveal: a: f32[4, 3] in gmem
// reveal: b: bool[4, 3] in gmem
// reveal: c: f32[2, 4, 3] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 3], y: f32[3], z: f32[2, 1, 1]) -> (f32[4, 3], f32[2, 4, 3]) {
        let a = -x * y + x / y - 2.0;
        let b = a < x && !(x == y) || a >= 1.0;
        let c = z * a;
        (where(b, a, x), c)
    }
}
