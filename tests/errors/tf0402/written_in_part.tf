//! The windows written leave elements of `empty` without a value.
// no fix: zeros or more windows, both are possible
// run: check FILE --inputs random:1 --fn finite
// error[TF0402] at 14: element [3, 0] of `y` is read, and nobody wrote it (2 elements in all)

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 2]) -> f32[4, 2] {
        let mut y = empty(f32[4, 2]);
        for i in 0..3 {
            y[i] = x[i];
        }
        y + x
    }
}
