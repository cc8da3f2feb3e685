//! Helpers take indices and meshes: an index that is a const or dim may stand in extents.

dim n in 8..=64;

func first(x: f32[64], k: index) -> f32[k] {
    x[..k]
}

func tile_of(g: mesh[r, c], size: index) -> (index, index) {
    (g.r * size, g.c * size)
}

// reveal: a: f32[4] in gmem
// reveal: b: f32[n] in gmem
// reveal: t: f32[8, 8] in rmem varying(g.r, g.c)
module M {
    target "nvidia.h200_sxm";
    topology cta = 16, thread = 128;

    entry func f(x: f32[64], z: f32[32, 32]) -> (f32[4], f32[n], f32[32, 32]) {
        let a = first(x, 4);
        let b = first(x, n);
        let mut y = empty(f32[32, 32]);
        mesh g = cta[r: 4, c: 4] {
            let (i, j) = tile_of(g, 8);
            let t = reshard(z[i..i + 8, j..j + 8], rmem);
            y[i..i + 8, j..j + 8] = t + t;
        }
        (a, b, y)
    }
}
