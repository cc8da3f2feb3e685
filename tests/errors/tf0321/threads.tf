//! 2048 threads in a CTA, twice what the hardware has.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 2048; // error[TF0321]: holds at most 1024

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}
