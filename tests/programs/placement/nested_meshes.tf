//! A mesh over threads inside one over CTAs: what leaves the inner one is whole over its axes.

// agrees: f = logical
// reveal: r: f32[64] in rmem[(4 @ g.r, 16 @ t.x)]
// reveal: d: f32[64] in smem[(4 @ g.r, 16)]
module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 16;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[64 @ g.r]);
            let d = mesh t = thread[x: 16] {
                let r = reshard(s, rmem[(4 @ g.r, 16 @ t.x)]);
                reshard(r + r, smem[64 @ g.r])
            };
            reshard(d + s, gmem)
        }
    }

    pub func logical(x: f32[64]) -> f32[64] {
        x * 3.0
    }
}
