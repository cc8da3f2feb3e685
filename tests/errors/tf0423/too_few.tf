//! One file for two parameters.
// no fix: the command names the files
// run: check FILE --inputs tests/errors/tf0401/x.npy --fn finite
// error[TF0423] anywhere: 1 tensors are given for 2 parameters

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4]) -> f32[4] {
        x + y
    }
}
