//! A tile of 2 MiB in the registers of a CTA.
// no fix: a smaller tile or another storage, both are possible
// run: analyze FILE
// error[TF0503] at 13: `rmem` of a cta holds 2 MiB
// error[TF0503] at 13: `rmem` of a thread holds 16 KiB

module M {
    target "nvidia.h200_sxm";
    topology cta = 2, thread = 128;

    entry func f(x: f32[1024, 1024]) -> f32[1024, 1024] {
        mesh g = cta[r: 2], t = thread[c: 128] {
            let a = reshard(x, rmem[(2 @ g.r, 512), (128 @ t.c, 8)]);
            reshard(a + a, gmem)
        }
    }
}
