//! A loop by steps: `i` is a number, and every assigned outer variable is carried.

// agrees: f = logical
// reveal: acc: f32[4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[10, 4]) -> (f32[4], f32[4]) {
        let mut acc = zeros(f32[4]);
        let mut last = zeros(f32[4]);
        for i in 1..10 step 3 {
            acc = acc + x[i] * i;
            last = x[i];
        }
        (acc, last)
    }

    pub func logical(x: f32[10, 4]) -> (f32[4], f32[4]) {
        (x[1] + x[4] * 4.0 + x[7] * 7.0, x[7])
    }
}
