//! Integer numbers divide down, integer tensors have `floor_div`, and indices mix with both.

const N = 7;
const THREE = N / 2;

// reveal: a: i32[8] in gmem
// reveal: b: i32[8] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: i32[8]) -> (i32[8], i32[8], f32[THREE, N % 4]) {
        let a = floor_div(x, 3) * 3;
        let b = x - a;
        (a, b, zeros(f32[3, 3]))
    }
}
