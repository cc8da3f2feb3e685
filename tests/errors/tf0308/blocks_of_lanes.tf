//! 256 positions of 28 neighbours do not end at blocks of 128; 8 warps of 7 blocks, of 32 lanes of 4, do.
// no fix: another split of `r` is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 256;

    entry func f(x: f32[64, 7168]) -> f32[64, 56] {
        mesh g = cta[p: 8], t = thread[warp: 8, lane: 32] {
            let r = reshard(x, rmem[64 @ g.p, 7168 @ (t.warp, t.lane)]);
            let b = reshape(r, [64, 56, 128]); // error[TF0308]: the new axes do not end at the factors of `(8 @ t.warp, 32 @ t.lane, 28)`
            reshard(max(b, dim = 2), gmem)
        }
    }
}
