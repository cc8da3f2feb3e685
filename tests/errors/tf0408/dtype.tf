//! A file of inputs has another dtype than its parameter.
// no fix: the file or the declaration is wrong
// run: check FILE --inputs tests/errors/tf0401/equal.npy --fn finite
// error[TF0408] anywhere: `x` is declared f32[4], `tests/errors/tf0401/equal.npy` is i32[4]

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
