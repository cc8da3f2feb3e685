//! Loops in loops: inner bounds may depend on the outer variable.

// agrees: f = logical
// reveal: acc: f32 in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8, 8]) -> f32 {
        let mut acc = zeros(f32);
        for i in 0..8 {
            let mut row = zeros(f32);
            for j in 0..i + 1 {
                row = row + x[i, j];
            }
            acc = acc + row;
        }
        acc
    }

    pub func logical(x: f32[8, 8]) -> f32 {
        let i = unsqueeze(arange(8, dtype = i32), dim = 1);
        let j = unsqueeze(arange(8, dtype = i32), dim = 0);
        sum(where(i >= j, x, 0.0), dim = [0, 1])
    }
}
