//! A mesh axis by a name it does not have.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 256, thread = 128;

    entry func f(x: f32[8, 32]) -> f32[8, 32] {
        mesh grid = cta[row: 8, col: 32] {
            let s = reshard(x, smem[8 @ grid.rwo, 32 @ grid.col]); // error[TF0305]: mesh `grid` has no axis `rwo`
            reshard(s + s, gmem)
        }
    }
}
