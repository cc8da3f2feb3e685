//! Strings stand in double quotes.
// fixed

module M {
    target 'nvidia.h200_sxm'; // error[TF0102]

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
