//! A window is taken of a whole axis.
// no fix: `local` or a `reshard` give different programs

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[16] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[64 @ g.r]);
            let w = s[0..16]; // error[TF0309]: axis 0 is read by windows or by data, and is split
            reshard(w, gmem)
        }
    }
}
