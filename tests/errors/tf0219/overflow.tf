//! A literal takes the other operand's dtype: 1e6 is infinity in f16.
// no fix: a cast of the tensor or a smaller number, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f16[4]) -> f16[4] {
        x * 1e6 // warning[TF0219]: `1000000` is no value of f16
    }
}
