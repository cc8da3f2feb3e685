//! Each position would add its own rows, and nothing would add the sums.
// no fix: where the value is gathered is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(z: f32[8, 4], idx: i32[32], src: f32[32, 4]) -> f32[8, 4] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let s = reshard(src, rmem[32 @ t.x, 4]);
            let y = index_add(z, idx, s, dim = 0); // error[TF0309]: `index_add` needs all elements along this axis, which is split
            reshard(y, gmem)
        }
    }
}
