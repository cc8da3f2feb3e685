//! A sum over a split axis is partial, and `exp` of a partial sum is not the sum of the `exp`.
// no fix: whether the sum is completed before or after is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 256]) -> f32[4] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let s = reshard(x, rmem[4, 256 @ t.x]);
            let total = sum(s, dim = 1);
            let e = exp(total); // error[TF0310]: an operand is partial: its sum over `t.x` is not finished
            reshard(e, gmem)
        }
    }
}
