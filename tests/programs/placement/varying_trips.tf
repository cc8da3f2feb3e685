//! Loop bounds and carried values may vary between positions; extents never do.

// agrees: f = logical
// reveal: acc: f32[8] in rmem varying(g.r)
module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[16, 8]) -> f32[4, 8] {
        let mut y = empty(f32[4, 8]);
        mesh g = cta[r: 4] {
            let mut acc = zeros(f32[8]);
            for i in 0..4 * (g.r + 1) {
                acc = acc + x[i];
            }
            y[g.r] = acc;
        }
        y
    }

    pub func logical(x: f32[16, 8]) -> f32[4, 8] {
        let a = sum(x[..4], dim = 0, keepdim = true);
        let b = sum(x[..8], dim = 0, keepdim = true);
        let c = sum(x[..12], dim = 0, keepdim = true);
        let d = sum(x, dim = 0, keepdim = true);
        concat([a, b, c, d], dim = 0)
    }
}
