//! A reshape that cuts 16 split positions into 4 and 4.
// no fix: another split of `x` is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 16, thread = 128;

    entry func f(x: f32[32]) -> f32[4, 8] {
        mesh g = cta[r: 16] {
            let s = reshard(x, smem[32 @ g.r]);
            let t = reshape(s, [4, 8]); // error[TF0308]: the new axes do not end at the factors
            reshard(t, gmem)
        }
    }
}
