//! A byte that is not UTF-8: the name is in Latin-1.
// no fix: the file is converted as a whole, for example with `iconv -f latin1 -t utf-8`

module M {
    target "nvidia.h200_sxm";

    // café // error[TF0101]: is not UTF-8
    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
