//! A part past the positions of its mesh.
// no fix: the part or the mesh may be the mistake

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, warpgroup = 3, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        mesh g = cta[r: 4], wg = warpgroup[w: 3], mma = wg[1..4] { // error[TF0306]: the part reaches past the 3 positions of `wg.w`
            let s = reshard(x, smem[4 @ g.r, 8]);
            reshard(s + s, gmem)
        }
    }
}
