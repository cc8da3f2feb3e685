//! A part of a mesh without positions.
// no fix: the part may begin or end elsewhere

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, warpgroup = 3, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        mesh g = cta[r: 4], wg = warpgroup[w: 3], mma = wg[2..1] { // error[TF0224]: the part `2..1` has no positions
            let s = reshard(x, smem[4 @ g.r, 8]);
            reshard(s + s, gmem)
        }
    }
}
