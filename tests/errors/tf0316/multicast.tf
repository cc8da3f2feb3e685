//! One load for several CTAs needs a cluster of them.
// no fix: the topology is the author's
// error[TF0316] at 11: the topology has no `cluster`, whose positions would share this load

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            #[via(tma), multicast]
            let s = reshard(x, smem);
            reshard(s + s, gmem)
        }
    }
}
