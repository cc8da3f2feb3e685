//! There is no `while`: a `for` makes all its trips.
// no fix: the range of the loop is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut y = x;
        while 3 { // error[TF0107]: `while`
            y = y + x;
        }
        y
    }
}
