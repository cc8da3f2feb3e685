//! A loop ends at the product of an element with itself, whose range is too wide for a product.
// no fix: the range is the author's
// run: analyze FILE

func square(n: index) -> index {
    n * n
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8], n: i64 range 0..=9_000_000_000_000_000_000) -> f32[8] {
        let mut acc = zeros(f32[8]);
        // error[TF0502] at 15: the trips of this loop have no bound
        for i in 0..square(n) {
            acc = acc + x;
        }
        acc
    }
}
