//! An integer has no quotient by 0.
// no fix: what the quotient should be is the author's
// run: check FILE --inputs tests/errors/tf0401/equal.npy --fn finite

module M {
    target "nvidia.h200_sxm";

    entry func f(n: i32[4]) -> i32[4] {
        floor_div(n, n) // error[TF0405]: division by zero, `b` is 0
    }
}
