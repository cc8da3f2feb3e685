//! Placed and unplaced operations in one function; placements of parameters of a helper.

// reveal: a: f32[64, 64] in gmem
// reveal: c: f32[64, 64] in smem[(4 @ g.r, 16), 64]
module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    func squared(x: f32[64, 64]) -> f32[64, 64] {
        let c = x * x;
        c
    }

    entry func f(x: f32[64, 64]) -> f32[64, 64] {
        let a = matmul(x, x);
        let b = mesh g = cta[r: 4] {
            let s = reshard(a, smem[64 @ g.r, 64]);
            reshard(squared(s), gmem)
        };
        b + squared(a)
    }
}
