//! Meshes over one level inside each other: its positions are arranged once.
// no fix: the inner mesh may be meant for another level

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func f(x: f32[64, 128]) -> f32[64, 128] {
        mesh g = cta[r: 8] {
            mesh h = cta[c: 8] { // error[TF0306]: `cta` is already arranged by mesh `g`
                reshard(reshard(x, smem[64 @ g.r, 128 @ h.c]), gmem)
            }
        }
    }
}
