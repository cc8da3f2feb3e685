//! A carried partial sum starts at zero: each of 256 threads would add the 1 of its own start.
// no fix: zeros before the loop or an addition after it, both are possible

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 1024]) -> f32[4] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let mut acc = full(f32[4], 1.0);
            for k in tile(1024, 256) {
                let s = reshard(x[.., k], rmem[4, 256 @ t.x]);
                acc = acc + sum(s, dim = 1); // error[TF0310]: an operand is partial: its sum over `t.x` is not finished
            }
            reshard(complete(acc), gmem)
        }
    }
}
