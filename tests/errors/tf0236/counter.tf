//! A compile-time number does not change from trip to trip.
// no fix: a tensor counts, or the loop's own variable

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut n = 0;
        for i in 0..4 { // error[TF0236]: `n` is a compile-time number
            n = n + 1;
        }
        x * n
    }
}
