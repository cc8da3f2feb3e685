//! A mesh axis splits one axis of a value.
// no fix: another mesh axis or a whole axis, both are possible

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4, 4]) -> f32[4, 4] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[4 @ g.r, 4 @ g.r]); // error[TF0301]: `g.r` splits two axes
            reshard(s + s, gmem)
        }
    }
}
