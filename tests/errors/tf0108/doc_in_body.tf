//! A doc comment before a statement documents nothing.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        /// twice x // warning[TF0108]
        x + x
    }
}
