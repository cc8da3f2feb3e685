//! The axes of a mesh have different names.
// no fix: the name is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 16, thread = 128;

    entry func f(x: f32[4, 4]) -> f32[4, 4] {
        mesh g = cta[r: 4, r: 4] { // error[TF0215]: axis `r` is declared twice
            let s = reshard(x, smem[4 @ g.r, 4]);
            reshard(s + s, gmem)
        }
    }
}
