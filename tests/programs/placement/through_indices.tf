//! How a distribution passes through writes by indices, bits read anew, padding and convolutions.

// reveal: k: f32[8, 64] in rmem[8, (32 @ t.x, 2)]
// reveal: s: f32[8, 64] in rmem[8, (32 @ t.x, 2)]
// reveal: b: u8[64, 8] in rmem[(32 @ t.x, 2), 8]
// reveal: h: f64[64] in rmem[(32 @ t.x, 2)]
// reveal: p: f32[64, 4] in rmem[(32 @ t.x, 2), 4]
// reveal: c: f32[32, 4, 6, 6] in rmem[32 @ t.x, 4, 6, 6]
// reveal: o: f32[2, 64, 6, 6] in rmem[2, (32 @ t.x, 2), 6, 6]
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(
        z: f32[8, 64],
        idx: i32[3] range 0..8,
        at: i32[3, 64] range 0..8,
        src: f32[3, 64],
        y: f32[64, 2],
        x: f32[32, 3, 6, 6],
        w: f32[4, 3, 3, 3],
        v: f32[2, 64, 6, 6],
        u: f32[64, 1, 3, 3],
    ) -> f32[64] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let zs = reshard(z, rmem[8, 64 @ t.x]);
            let ss = reshard(src, rmem[3, 64 @ t.x]);
            let k = index_copy(zs, idx, ss, dim = 0);
            let s = scatter(k, reshard(at, rmem[3, 64 @ t.x]), ss, dim = 0);
            let ys = reshard(y, rmem[64 @ t.x, 2]);
            let b = bitcast(ys, u8);
            let h = squeeze(bitcast(bitcast(b, f32), f64), dim = 1);
            let p = pad(ys, dim = 1, low = 1, high = 1);
            let c = conv2d(reshard(x, rmem[32 @ t.x, 3, 6, 6]), w, padding = 1);
            let o = conv2d(
                reshard(v, rmem[2, 64 @ t.x, 6, 6]),
                reshard(u, rmem[64 @ t.x, 1, 3, 3]),
                padding = 1,
                groups = 64,
            );
            reshard(sum(s, dim = 0), gmem)
        }
    }
}
