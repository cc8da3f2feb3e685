//! `min` reduces one tensor or takes two numbers; of two tensors `minimum` takes the smaller.
// no fix: a reduction of one tensor may be meant

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4]) -> f32[4] {
        min(x, y) // error[TF0204]: `minimum` takes the min
    }
}
