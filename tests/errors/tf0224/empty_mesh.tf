//! A mesh axis has at least one position.
// no fix: the extent is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4]) -> f32[4] {
        mesh g = cta[r: 0] { // error[TF0224]: a mesh axis has at least one position
            let s = reshard(x, smem);
            reshard(s + s, gmem)
        }
    }
}
