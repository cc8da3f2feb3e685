//! Windows of a loop: their fields, and trips that divide exactly.

// agrees: f = logical
dim n in 1..=16;

// reveal: w: f32[8, 4] in gmem
// reveal: acc: f32[4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n * 8, 4], y: f32[64, 4]) -> (f32[4], f32[64, 4]) {
        let mut acc = zeros(f32[4]);
        for k in tile(n * 8, 8) {
            let w = x[k];
            acc = acc + sum(w, dim = 0) * (k.index + 1);
        }
        let mut out = empty(f32[64, 4]);
        for k in tile(16..64, 16) {
            out[k] = y[k.start - 16..k.end - 16];
        }
        out[..16] = y[48..];
        (acc, out)
    }

    pub func logical(x: f32[n * 8, 4], y: f32[64, 4]) -> (f32[4], f32[64, 4]) {
        let weight = unsqueeze(cast(arange(n, dtype = i32) + 1, f32), dim = 1);
        let blocks = sum(reshape(x, [n, 8, 4]), dim = 1);
        (sum(blocks * weight, dim = 0), concat([y[48..], y[..48]], dim = 0))
    }
}
