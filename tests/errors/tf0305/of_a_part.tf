//! A part keeps the axis names of its mesh.
// no fix: no axis of the part has a similar name

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, warpgroup = 3, thread = 128;

    entry func f(x: f32[4, 2, 8]) -> f32[4, 2, 8] {
        mesh g = cta[r: 4], wg = warpgroup[w: 3], mma = wg[1..3] {
            let s = reshard(x, rmem[4 @ g.r, 2 @ mma.group, 8]); // error[TF0305]: mesh `mma` has no axis `group`
            reshard(s + s, gmem)
        }
    }
}
