//! Whether values are equal cannot be said of one side.
// no fix: the command names the reference
// run: check FILE --inputs random:1 --fn equal
// error[TF0424] anywhere: `equal` on `output` needs a reference

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
