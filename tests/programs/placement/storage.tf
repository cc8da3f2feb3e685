//! Where results live: the finest storage of the operands; products inside a mesh in registers.

// reveal: a: f32[64, 64] in smem
// reveal: b: f32[64, 64] in rmem[(32 @ t.x, 2), 64]
// reveal: c: f32[64, 64] in rmem[(32 @ t.x, 2), 64]
// reveal: d: f32[64, 64] in rmem
// reveal: e: f32[64, 64] in rmem
// reveal: v: f32[4096] in smem
// reveal: w: f32[8, 64] in smem
// reveal: h: f32[8, 64] in gmem
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(
        x: f32[64, 64],
    ) -> (f32[64, 64], f32[64, 64], f32[64, 64], f32[4096], f32[8, 64]) {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let s = reshard(x, smem);
            let r = reshard(x, rmem[64 @ t.x, 64]);
            let a = s + s;
            let b = s + r;
            let c = b * x;
            let d = matmul(s, a);
            let e = x * 2.0;
            let v = reshape(a, [4096]);
            let w = s[8..16];
            let h = x[8..16];
            (
                reshard(c, gmem),
                reshard(d, gmem),
                reshard(e, gmem),
                reshard(v, gmem),
                reshard(w + h, gmem),
            )
        }
    }
}
