//! 4096 CTAs with 64 KiB of shared memory each wait for each other; one at a time fits an SM.
// no fix: fewer positions or a second launch, both are possible
// run: analyze FILE

module M {
    target "nvidia.h200_sxm";
    topology cta = 4096, thread = 128;

    entry func f(x: f32[4096, 16384]) -> f32[16384] {
        mesh g = cta[r: 4096], t = thread[c: 128] {
            let a = reshard(x, smem[4096 @ g.r, 16384]);
            let s = complete(sum(a, dim = 0)); // error[TF0505]: the 4096 positions of `cta` wait
            reshard(s, gmem)
        }
    }
}
