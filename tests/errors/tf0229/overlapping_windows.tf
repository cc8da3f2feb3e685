//! Two windows of one buffer that share an element.
// no fix: the windows are the author's

module M {
    target "nvidia.h200_sxm";

    func swap(x: f32[4], inout a: f32[4], inout b: f32[4]) -> f32[4] {
        a = b;
        b = x;
        a + b
    }

    entry func f(x: f32[4], inout k: f32[8]) -> f32[4] {
        swap(x, inout k[0..4], inout k[3..7]) // error[TF0229]: two inout arguments of one call overlap
    }
}
