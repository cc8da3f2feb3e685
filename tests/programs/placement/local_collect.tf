//! `local` gives a position its piece of a split value; `collect` puts the pieces together.

// agrees: f = logical
// reveal: p: f32[16, 8] in smem varying(g.r)
// reveal: v: f32[8] in smem varying(g.r)
// reveal: c: f32[4, 8] in smem[4 @ g.r, 8]
// reveal: total: f32[8] in smem partial(sum, g.r)
module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64, 8]) -> f32[8] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[64 @ g.r, 8]);
            let p = local(s);
            let v = sum(p * p, dim = 0);
            let c = collect(v, g.r);
            let total = sum(c, dim = 0);
            reshard(complete(total), gmem)
        }
    }

    pub func logical(x: f32[64, 8]) -> f32[8] {
        sum(x * x, dim = 0)
    }
}
