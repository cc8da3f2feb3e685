//! Arguments are separated by commas.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4]) -> f32[4] {
        maximum(x y) // error[TF0103]: expected `,`
    }
}
