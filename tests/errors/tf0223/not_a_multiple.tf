//! In an extent `/` is exact.
// no fix: `ceil_div` rounds up, another extent may be meant

const N = 10;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[N]) -> f32[N / 4] { // error[TF0223]: `10` is not a multiple of `4`
        x[0..2]
    }
}
