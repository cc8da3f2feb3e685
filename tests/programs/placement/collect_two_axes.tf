//! The position's view and the global view meet: pieces over two mesh axes become new axes.

// agrees: f = logical
// reveal: part: f32 in rmem varying(g.r, g.c)
// reveal: all: f32[4, 2] in rmem[4 @ g.r, 2 @ g.c]
// reveal: rows: f32[4] in rmem[4 @ g.r] partial(sum, g.c)
module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func f(x: f32[64, 8]) -> f32[4] {
        mesh g = cta[r: 4, c: 2] {
            let w = x[g.r * 16..(g.r + 1) * 16, g.c * 4..(g.c + 1) * 4];
            let part = sum(reshard(w, rmem), dim = [0, 1]);
            let all = collect(part, g.r, g.c);
            let rows = sum(all, dim = 1);
            reshard(complete(rows), gmem)
        }
    }

    pub func logical(x: f32[64, 8]) -> f32[4] {
        sum(reshape(x, [4, 16 * 8]), dim = 1)
    }
}
