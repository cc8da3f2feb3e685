//! A mesh of CTAs inside one of threads.
// no fix: the meshes change places, and what is between them may not

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func f(x: f32[64, 128]) -> f32[64, 128] {
        mesh t = thread[c: 128] {
            mesh g = cta[r: 8] { // error[TF0306]: mesh `g` of `cta` stands inside one of `thread`
                reshard(reshard(x, rmem[64 @ g.r, 128 @ t.c]), gmem)
            }
        }
    }
}
