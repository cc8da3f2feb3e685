//! Generics are bound to symbolic extents too, and their arithmetic is exact.

dim rows in 1..=256;

func halves<R, N>(x: f32[R, N]) -> (f32[R, N / 2], f32[R, N / 2]) {
    (x[.., ..N / 2], x[.., N / 2..])
}

func joined<R, A, B>(x: f32[R, A], y: f32[R, B]) -> f32[R, A + B] {
    concat([x, y], dim = 1)
}

// reveal: a: f32[rows, 32] in gmem
// reveal: c: f32[rows, 96] in gmem
// reveal: d: f32[2 * rows, 96] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[rows, 64]) -> f32[rows * 2, 96] {
        let (a, b) = halves(x);
        let c = joined(joined(b, a), a);
        let d = concat([c, c], dim = 0);
        d
    }
}
