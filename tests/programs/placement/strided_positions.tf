//! Positions that walk over tiles by stride write disjoint windows, though trips differ.

// agrees: f = logical
const TILES = 10;

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[TILES * 8]) -> f32[TILES * 8] {
        let mut y = empty(f32[TILES * 8]);
        mesh g = cta[p: 4] {
            for i in g.p..TILES step 4 {
                let w = i * 8..(i + 1) * 8;
                y[w] = x[w] + x[w];
            }
        }
        y
    }

    pub func logical(x: f32[TILES * 8]) -> f32[TILES * 8] {
        x + x
    }
}
