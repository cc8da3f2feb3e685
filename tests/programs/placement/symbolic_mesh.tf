//! A mesh as large as a dim: the grid is the mesh.

// agrees: f = logical
dim rows in 1..=8192;

// reveal: s: f32[rows, 128] in rmem[rows @ g.r, (32 @ t.x, 4)]
// reveal: m: f32[rows, 1] in rmem[rows @ g.r, 1] partial(max, t.x)
module M {
    target "nvidia.h200_sxm";
    topology cta, thread = 32;

    entry func f(x: f32[rows, 128]) -> f32[rows, 128] {
        mesh g = cta[r: rows], t = thread[x: 32] {
            let s = reshard(x, rmem[rows @ g.r, 128 @ t.x]);
            let m = max(s, dim = 1, keepdim = true);
            reshard(s - complete(m), gmem)
        }
    }

    pub func logical(x: f32[rows, 128]) -> f32[rows, 128] {
        x - max(x, dim = 1, keepdim = true)
    }
}
