//! Two consts that define each other.
// no fix: one of them needs a value

const A = B + 1;
const B = A - 1; // error[TF0218]: const `A` is defined by itself

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + A
    }
}
