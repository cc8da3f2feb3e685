//! Whether 64 divides `n` is not known for every n.
// fixed

dim n in 1..=8192;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n]) -> f32 {
        let mut acc = zeros(f32);
        for w in tile(n, 64) { // error[TF0303]: `n` is not known to be a multiple of `64`
            acc = acc + sum(x[w], dim = 0);
        }
        acc
    }
}
