//! The inner extents of a matrix product agree.
// no fix: a transpose or another operand, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(a: bf16[64, 128], b: bf16[256, 128]) -> bf16[64, 256] {
        matmul(a, b) // error[TF0206]: `matmul`
    }
}
