//! One buffer twice among the inout arguments of a call.
// no fix: which buffer is meant is not known

module M {
    target "nvidia.h200_sxm";

    func swap(x: f32[4], inout a: f32[4], inout b: f32[4]) -> f32[4] {
        a = b;
        b = x;
        a + b
    }

    entry func f(x: f32[4], inout k: f32[2, 4]) -> f32[4] {
        swap(x, inout k[0], inout k[0]) // error[TF0229]: two inout arguments of one call overlap
    }
}
