//! 9 warpgroups of 128 threads are 1152 threads, more than a CTA has.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, warpgroup = 9, thread = 128; // error[TF0321]: 9 of `warpgroup` in one `cta`

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}
