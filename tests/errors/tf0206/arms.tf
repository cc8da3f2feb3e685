//! All arms of a match give one shape.
// no fix: either arm may be the mistake

dim n in 1..=64;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n, 8]) -> f32[8] {
        match n {
            1..=8 => x[0],
            9..=64 => x[.., 0..1], // error[TF0206]: the arms of a `match` differ
        }
    }
}
