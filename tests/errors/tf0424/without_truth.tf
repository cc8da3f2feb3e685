//! `no_worse` compares two distances to a truth.
// no fix: the command adds the truth
// run: check FILE --inputs random:1 --expected tests/errors/tf0401/x.npy --fn no_worse --slack 2
// error[TF0424] anywhere: `no_worse` on `output` needs the truth

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
