//! A statement ends with `;`, and the message stands where it is missing.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let a = x + x // error[TF0103]: expected `;`
        a * x
    }
}
