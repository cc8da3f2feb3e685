//! Predicates have the names that `check --help` lists.
// no fix: the command names the predicate
// run: check FILE --inputs random:1 --fn finit
// error[TF0422] anywhere: there is no predicate `finit`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
