//! `..B` spreads a generic of several axes in a type, in a list of extents, first, last or between.

// reveal: a: f32[2, 3, 12] in gmem
// reveal: b: f32[24, 3] in gmem
// reveal: c: f32[5, 2, 3, 7] in gmem
func joined<..B, N, M>(x: f32[..B, N, M]) -> f32[..B, N * M] {
    reshape(x, [..B, N * M])
}

func rows<N, ..S>(x: f32[N, ..S], y: f32[N, ..S]) -> f32[N, ..S] {
    reshape(flatten(x) + flatten(y), [N, ..S])
}

func framed<..B>(x: f32[..B]) -> f32[5, ..B, 7] {
    expand(unsqueeze(x, dim = -1), [5, ..B, 7])
}

module M {
    target "nvidia.h200_sxm";

    entry func f(
        x: f32[2, 3, 4, 3],
        y: f32[24, 3],
        z: f32[2, 3],
    ) -> (f32[2, 3, 12], f32[24, 3], f32[5, 2, 3, 7]) {
        let a = joined(x);
        let b = rows(y, y);
        let c = framed(z);
        (a, b, c)
    }
}
