//! 2688 elements over 256 threads: a split that does not divide, and the padded one that covers it.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[2688]) -> f32[2688] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let s = reshard(x, rmem[2688 @ t.x]); // error[TF0303]: `2688` is not divided evenly by the 256 positions of `t.x`
            reshard(s + s, gmem)
        }
    }
}
