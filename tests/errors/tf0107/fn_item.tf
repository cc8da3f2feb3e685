//! Functions are declared with `func`.
// fixed

module M {
    target "nvidia.h200_sxm";

    fn twice(x: f32[4]) -> f32[4] { // error[TF0107]: `fn`
        x + x
    }

    entry func f(x: f32[4]) -> f32[4] {
        twice(x)
    }
}
