//! The only output of a function is `output`.
// no fix: the command names the output
// run: check FILE --inputs random:1 --out result --fn finite
// error[TF0420] anywhere: there is no output `result`
// error[TF0421] anywhere: no predicate judges output `output`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
