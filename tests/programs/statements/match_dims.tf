//! Inside an arm the dim has the arm's bounds, so that windows of it are decided.

dim ctx in 1..=8192;

// reveal: a: f32[128] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[ctx]) -> f32[128] {
        match ctx {
            1..=127 => {
                let mut y = zeros(f32[128]);
                y[..ctx] = x;
                y
            },
            128 => reshape(x, [128]),
            _ => {
                let a = x[ctx - 128..];
                a
            },
        }
    }
}
