//! Integers are equal or not; a tolerance has no meaning.
// no fix: the command names the predicate
// run: check FILE --inputs random:1 --expected tests/errors/tf0401/equal.npy --fn max_abs --max 1
// error[TF0422] anywhere: `max_abs` cannot judge `output`, which is i32

module M {
    target "nvidia.h200_sxm";

    entry func f(x: i32[4]) -> i32[4] {
        x + x
    }
}
