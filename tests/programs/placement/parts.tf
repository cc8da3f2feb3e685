//! Parts of a mesh keep their axis names, count from 0, and may be arranged anew.

// reveal: a: f32[6, 8] in rmem[(3 @ most.w, 2), 8]
// reveal: b: f32[2, 2, 8] in rmem[2 @ grid.p, 2 @ grid.q, 8]
module M {
    target "nvidia.h200_sxm";
    topology cta = 132, warpgroup = 4, thread = 128;

    entry func f(x: f32[6, 8], z: f32[2, 2, 8]) -> (f32[6, 8], f32[2, 2, 8]) {
        // a mesh smaller than its level uses the first positions
        mesh g = cta[r: 1],
             wg = warpgroup[w: 4],
             most = wg[1..4],
             grid = wg[0..4] as [p: 2, q: 2] {
            let a = reshard(x, rmem[6 @ most.w, 8]);
            let b = reshard(z, rmem[2 @ grid.p, 2 @ grid.q, 8]);
            (reshard(a + a, gmem), reshard(b + b, gmem))
        }
    }
}
