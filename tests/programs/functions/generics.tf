//! Generics are inferred at each call: dtypes of a class, extents, leading axes.

// reveal: a: bf16[2, 3, 8] in gmem
// reveal: b: f32[8] in gmem
// reveal: c: i32[5] in gmem
// reveal: d: f32[6, 4] in gmem
func scaled<T: float, ..B, N>(x: T[..B, N], w: T[N], by: f32 = 2.0) -> T[..B, N] {
    x * w * by
}

func doubled<T: int, N>(x: T[N]) -> T[N] {
    x + x
}

func outer<N, M>(x: f32[N], y: f32[M]) -> f32[N, M] {
    unsqueeze(x, dim = 1) * unsqueeze(y, dim = 0)
}

module M {
    target "nvidia.h200_sxm";

    entry func f(
        x: bf16[2, 3, 8],
        w: bf16[8],
        y: f32[8],
        n: i32[5],
        u: f32[6],
        v: f32[4],
    ) -> (bf16[2, 3, 8], f32[8], i32[5], f32[6, 4]) {
        let a = scaled(x, w);
        let b = scaled(y, y, by = 0.5);
        let c = doubled(n);
        let d = outer(u, v);
        (a, b, c, d)
    }
}
