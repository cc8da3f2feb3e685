//! A file of inputs has another shape than its parameter.
// no fix: the file or the declaration is wrong
// run: check FILE --inputs tests/errors/tf0401/x.npy --fn finite
// error[TF0408] anywhere: `x` is declared f32[5], `tests/errors/tf0401/x.npy` is f32[4]

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[5]) -> f32[5] {
        x + x
    }
}
