//! `inout` stands at the call too.
// fixed

module M {
    target "nvidia.h200_sxm";

    func push(x: f32[4], inout cache: f32[8, 4]) -> f32[4] {
        cache[0] = x;
        x + x
    }

    entry func f(x: f32[4], inout cache: f32[8, 4]) -> f32[4] {
        push(x, cache) // error[TF0228]: `cache` is updated by `push`
    }
}
