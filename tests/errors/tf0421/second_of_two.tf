//! Every output of a tuple is judged.
// no fix: the command judges the output
// run: check FILE --inputs random:1 --out output[0] --fn finite
// error[TF0421] anywhere: no predicate judges output `output[1]`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> (f32[4], f32[4]) {
        (x + x, x * x)
    }
}
