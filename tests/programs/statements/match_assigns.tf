//! The arms of a match assign outer variables.

// agrees: f = logical
dim n in 1..=64;

// reveal: acc: f32[4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n, 4]) -> f32[4] {
        let mut acc = zeros(f32[4]);
        match n {
            1..=8 => {
                acc = acc + x[0];
            },
            9..=64 => {
                acc = x[8] + x[n - 1];
            },
        }
        acc
    }

    pub func logical(x: f32[n, 4]) -> f32[4] {
        match n {
            1..=8 => x[0],
            9..=64 => x[8] + x[n - 1],
        }
    }
}
