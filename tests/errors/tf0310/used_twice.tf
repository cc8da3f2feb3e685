//! Two uses of one sum that is not finished over two axes: one mistake.
// no fix: whether the sum is completed before or after is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 256]) -> f32[4] {
        mesh g = cta[r: 1], t = thread[warp: 8, lane: 32] {
            let s = reshard(x, rmem[4, 256 @ (t.warp, t.lane)]);
            let total = sum(s, dim = 1);
            let e = exp(total) + exp(total * 2.0); // error[TF0310]: its sum over `t.warp`, `t.lane` is not finished
            reshard(e, gmem)
        }
    }
}
