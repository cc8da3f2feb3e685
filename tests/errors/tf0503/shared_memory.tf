//! A tile of 512 KiB in the shared memory of a CTA.
// no fix: a smaller tile or another storage, both are possible
// run: analyze FILE

module M {
    target "nvidia.h200_sxm";
    topology cta = 2, thread = 128;

    entry func f(x: f32[256, 1024]) -> f32[256, 1024] {
        mesh g = cta[r: 2] {
            let a = reshard(x, smem[(2 @ g.r, 128), 1024]); // error[TF0503]: `smem` of a cta holds
            reshard(a, gmem)
        }
    }
}
