//! Views move splits along: reshapes at factor boundaries, transposes, new axes of one.

// agrees: f = logical
// reveal: a: f32[32, 2] in rmem[32 @ t.x, 2]
// reveal: b: f32[1, 64] in rmem[1, (32 @ t.x, 2)]
// reveal: c: f32[64, 4] in rmem[(32 @ t.x, 2), 4]
// reveal: d: f32[256] in rmem[(4, 32 @ t.x, 2)]
// reveal: e: f32[2, 2, 64] in rmem[2, 2, (32 @ t.x, 2)]
// reveal: h: f32[8, 32] in rmem[8, (4, 8 @ t.y)]
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[64], y: f32[4, 64], z: f32[256]) -> f32[4, 64] {
        mesh g = cta[r: 1], t = thread[x: 32, y: 8] {
            let s = reshard(x, rmem[64 @ t.x]);
            let a = reshape(s, [32, 2]);
            let b = unsqueeze(s, dim = 0);
            let r = reshard(y, rmem[4, 64 @ t.x]);
            let c = transpose(r, [1, 0]);
            let d = reshape(r, [256]);
            let e = reshape(r, [2, 2, 64]);
            let h = reshape(reshard(z, rmem[(32, 8 @ t.y)]), [8, 32]);
            let back = reshape(a, [1, 64]) + b;
            let sum_c = reshape(transpose(c, [1, 0]), [4, 64]);
            let low = reshape(reshape(d, [4, 64]) + sum_c, [2, 2, 64]) + e;
            let extra = complete(sum(sum(h, dim = 1), dim = 0));
            reshard(reshape(low, [4, 64]) + back + extra, gmem)
        }
    }

    pub func logical(x: f32[64], y: f32[4, 64], z: f32[256]) -> f32[4, 64] {
        y + y + y + x + x + sum(z, dim = 0)
    }
}
