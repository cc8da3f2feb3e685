//! Loops within loops run more often than is counted.
// no fix: which extent was not meant is the author's
// run: analyze FILE

const N = 1_000_000_000_000;

module M {
    target "nvidia.h200_sxm";

    // error[TF0504] at 11: this runs or stores more than 2^100
    entry func f(x: f32[8]) -> f32[8] {
        let mut acc = x;
        for i in 0..N {
            for j in 0..N {
                for k in 0..N {
                    acc = acc + x;
                }
            }
        }
        acc
    }
}
