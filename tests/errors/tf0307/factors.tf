//! Two operands of one sum, split into different factors of one axis.
// no fix: which operand is moved is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[128], y: f32[128]) -> f32[128] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let a = reshard(x, rmem[(32 @ t.x, 4)]);
            let b = reshard(y, rmem[(4, 32 @ t.x)]);
            reshard(a + b, gmem) // error[TF0307]: the operands are split differently
        }
    }
}
