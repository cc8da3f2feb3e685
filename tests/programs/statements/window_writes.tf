//! A window of a variable is replaced; `empty` starts a result at no cost.

// agrees: f = logical
// reveal: y: f32[6, 4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], z: f32[2, 4]) -> f32[6, 4] {
        let mut y = empty(f32[6, 4]);
        y[0] = x;
        y[1..3] = z;
        y[3..5] = z + 1.0;
        y[5, ..2] = x[..2];
        y[5, 2] = x[2];
        y[5, 3] = 0.0;
        y
    }

    pub func logical(x: f32[4], z: f32[2, 4]) -> f32[6, 4] {
        let last = where(arange(4, dtype = i32) < 3, x, 0.0);
        concat([unsqueeze(x, dim = 0), z, z + 1.0, unsqueeze(last, dim = 0)], dim = 0)
    }
}
