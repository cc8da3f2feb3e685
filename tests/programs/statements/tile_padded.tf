//! A padded tile reads past the end of its range, and tells which of its elements exist.

// agrees: f = logical
dim n in 1..=100;

// reveal: w: f32[16] in gmem
// reveal: ok: bool[16] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n]) -> (f32, f32[n]) {
        let mut top = full(f32, -inf);
        let mut y = empty(f32[n]);
        for k in tile(n, 16, pad = 0.0) {
            let w = x[k];
            let ok = k.valid;
            top = maximum(top, max(where(ok, w, -inf), dim = 0));
            y[k] = w + w;
        }
        (top, y)
    }

    pub func logical(x: f32[n]) -> (f32, f32[n]) {
        (max(x, dim = 0), x + x)
    }
}
