//! A mesh is made over a level that the topology names.
// no fix: the level's extent is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        mesh g = cta[r: 4], w = warpgroup[i: 1] { // error[TF0304]: `warpgroup` is no level of this module's topology
            let s = reshard(x, smem[4 @ g.r, 8]);
            reshard(s + s, gmem)
        }
    }
}
