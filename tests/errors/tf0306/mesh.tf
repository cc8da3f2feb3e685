//! A mesh of 288 positions over 256 CTAs.
// no fix: the mesh or the topology may be the mistake

module M {
    target "nvidia.h200_sxm";
    topology cta = 256, thread = 128;

    entry func f(x: f32[9, 32]) -> f32[9, 32] {
        mesh grid = cta[row: 9, col: 32] { // error[TF0306]: mesh `grid` has 288 positions, the topology has 256 of `cta`
            let s = reshard(x, smem[9 @ grid.row, 32 @ grid.col]);
            reshard(s + s, gmem)
        }
    }
}
