//! The sizes of a split add up and are not negative.
// no fix: the sizes are the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8]) -> f32[10] {
        let (a, _) = split(x, [10, -2], dim = 0); // error[TF0224]: `split` takes sizes of at least 0, found -2
        a
    }
}
