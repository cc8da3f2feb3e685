//! Literals: hexadecimal, with underscores, exponents, infinities; they take the other dtype.
// reveal: a: bf16[4] in gmem
// reveal: b: i32[4] in gmem
// reveal: c: f32[4] in gmem

module M {
    target "nvidia.h200_sxm";

    entry func f(x: bf16[4], n: i32[4], y: f32[4]) -> (bf16[4], i32[4], f32[4]) {
        let a = x * 0.5 + 1;
        let b = n * 0x1f - 1_000;
        let c = where(y > 1e-6, y, -inf);
        (a, b, c)
    }
}
