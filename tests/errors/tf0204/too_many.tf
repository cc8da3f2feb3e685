//! More operands than the op takes; the signature is shown.
// no fix: which operand is one too many is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4], z: f32[4]) -> f32[4] {
        maximum(x, y, z) // error[TF0204]: `maximum` has no positional parameter left
    }
}
