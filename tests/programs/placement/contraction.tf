//! A product's rows and columns are split as its operands are; a split inner axis is partial.

// agrees: f = logical
// reveal: c: f32[64, 32] in rmem[(2 @ g.m, 32), (4 @ g.n, 8)]
// reveal: d: f32[64, 32] in rmem[(2 @ g.m, 32), 32] partial(sum, g.n)
// reveal: e: f32[2, 64, 32] in rmem[2 @ g.m, 64, (4 @ g.n, 8)]
module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func f(
        a: bf16[64, 128],
        b: bf16[32, 128],
        u: bf16[2, 64, 128],
    ) -> (f32[64, 32], f32[64, 32], f32[2, 64, 32]) {
        mesh g = cta[m: 2, n: 4] {
            let am = reshard(a, smem[64 @ g.m, 128]);
            let bn = reshard(b, smem[32 @ g.n, 128]);
            let c = matmul(am, bn, transpose_b = true, out = f32);

            let ak = reshard(a, smem[64 @ g.m, 128 @ g.n]);
            let bk = reshard(b, smem[32, 128 @ g.n]);
            let d = matmul(ak, bk, transpose_b = true, out = f32);

            // one b for both batches of u
            let um = reshard(u, smem[2 @ g.m, 64, 128]);
            let e = matmul(um, bn, transpose_b = true, out = f32);
            (reshard(c, gmem), reshard(d, gmem), reshard(e, gmem))
        }
    }

    pub func logical(
        a: bf16[64, 128],
        b: bf16[32, 128],
        u: bf16[2, 64, 128],
    ) -> (f32[64, 32], f32[64, 32], f32[2, 64, 32]) {
        let c = matmul(a, b, transpose_b = true, out = f32);
        (c, c, matmul(u, b, transpose_b = true, out = f32))
    }
}
