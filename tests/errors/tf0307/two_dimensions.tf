//! One mesh axis cannot split the rows of one operand and the columns of the other.
// no fix: which operand is moved is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(a: bf16[64, 32], b: bf16[64, 32]) -> f32[64, 64] {
        mesh g = cta[r: 4] {
            let at = reshard(a, smem[64 @ g.r, 32]);
            let bt = reshard(b, smem[64 @ g.r, 32]);
            let c = matmul(at, bt, transpose_b = true, out = f32); // error[TF0307]: `g.r` would split two different dimensions
            reshard(c, gmem)
        }
    }
}
