//! A mesh as large as a dim, which may exceed the topology.
// no fix: the extent of `cta` may be left out, or the dim bounded

dim rows in 1..=8192;

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 128;

    entry func f(x: f32[rows, 32]) -> f32[rows, 32] {
        mesh grid = cta[row: rows] { // error[TF0306]: mesh `grid` has rows positions, the topology has 132 of `cta`
            let s = reshard(x, smem[rows @ grid.row, 32]);
            reshard(s + s, gmem)
        }
    }
}
