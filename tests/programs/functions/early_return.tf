//! `return` is accepted last in a function.
// unformatted: the formatter removes the `return` that this is about

module M {
    target "nvidia.h200_sxm";

    func twice(x: f32[8]) -> f32[8] {
        return x + x;
    }

    entry func f(x: f32[8]) -> f32[8] {
        twice(x)
    }
}
