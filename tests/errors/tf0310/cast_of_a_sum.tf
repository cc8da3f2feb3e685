//! A cast rounds, so that it does not pass a partial sum on.
// no fix: whether the sum is completed before or after is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 256]) -> bf16[4] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let s = reshard(x, rmem[4, 256 @ t.x]);
            let total = cast(sum(s, dim = 1), bf16); // error[TF0310]: an operand is partial
            reshard(complete(total), gmem)
        }
    }
}
