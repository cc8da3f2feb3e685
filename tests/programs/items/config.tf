//! A JSON config as constants: integers, floats, bools, strings, arrays and objects.

// agrees: f = logical
config cfg = "model.json";

const H = cfg.hidden_size;
const THETA = cfg.rope.theta;

// reveal: a: f32[64] in gmem
// reveal: b: f32[48] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[H]) -> (f32[H], f32[48]) {
        let a = match cfg.tie {
            true => x + cfg.rms_norm_eps,
            false => x * THETA,
        };
        let b = zeros(f32[cfg.rope.dims[0] + cfg.rope.dims[1]]);
        (a, b)
    }

    pub func logical(x: f32[H]) -> (f32[H], f32[48]) {
        (x + 0.000001, zeros(f32[48]))
    }
}
