//! Words of the grammar are names elsewhere, and a value may be named like an op.

module M {
    target "nvidia.h200_sxm";

    entry func step(weight: f32[8, 4], from: f32[8, 4]) -> f32[8] {
        let out = weight + from;
        let max = max(out, dim = 1);
        let range = max + max;
        let dim = 1;
        let type = sum(out, dim = dim);
        range + type
    }
}
