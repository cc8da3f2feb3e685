//! 200 is none of the values of i8: added, it wraps to -56.
// no fix: a cast of the tensor or a smaller number, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(x: i8[4]) -> i8[4] {
        x + 200 // warning[TF0219]: `200` is no value of i8
    }
}
