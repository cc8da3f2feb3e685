//! `buffers` is about reshards, and this statement has none.
// no fix: the hint is removed or moved
// warning[TF0317] at 12: `buffers` applies to nothing here

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[64 @ g.r]);
            #[buffers(2)]
            let a = s + s;
            reshard(a, gmem)
        }
    }
}
