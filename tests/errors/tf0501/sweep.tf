//! Every size of a sweep lies outside the dim: the first one is told, the table has the others.
// no fix: sizes are stated on the command line
// run: analyze FILE --dim n=9,10

// error[TF0501] at 6: `n` = 9 is outside 1..=8
dim n in 1..=8;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n]) -> f32[n] {
        x + x
    }
}
