//! Windows are checked for every coordinate: the last of 5 positions reads 64..80 of 64.
// no fix: the mesh or the window may be the mistake

module M {
    target "nvidia.h200_sxm";
    topology cta = 5, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        let mut y = empty(f32[64]);
        mesh g = cta[r: 5] {
            let w = g.r * 16..(g.r + 1) * 16;
            y[w] = x[w]; // error[TF0226]: at `g.r = 4` this is `64..80`, outside an axis of 64
        }
        y
    }
}
