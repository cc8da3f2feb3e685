//! 100 elements in windows of 64: without `pad` the last window would be shorter.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[100]) -> f32 {
        let mut acc = zeros(f32);
        for w in tile(100, 64) { // error[TF0303]: a range of 100 is not divided evenly by windows of 64
            acc = acc + sum(x[w], dim = 0);
        }
        acc
    }
}
