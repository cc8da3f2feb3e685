//! A tolerance has no default.
// no fix: the command states the tolerance
// run: check FILE --inputs random:1 --expected tests/errors/tf0401/x.npy --fn allclose --atol 0.1
// error[TF0422] anywhere: `allclose` needs `--rtol`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
