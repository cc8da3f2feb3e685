//! The chain on 8 x 32 CTAs of 32 x 8 threads.
//! With in-place reuse two values of 65,536 B are live: x and the one that becomes the next.
// cost: flops.f16 = 25165824
// cost: gmem.read = 16777216
// cost: gmem.write = 16777216
// cost: gmem.read.total = 16777216
// cost: peak.rmem = 196608
// cost: peak.rmem.in_place = 131072

module M {
    target "nvidia.h200_sxm";
    topology cta = 256, thread = 256;

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh g = cta[x: 8, y: 32], t = thread[x: 32, y: 8] {
            let xr = reshard(x, rmem[1, 4096 @ (g.x, t.x), 2048 @ (g.y, t.y)]);
            let y = xr * xr;
            let z = y + xr;
            let w = z * xr;
            reshard(w, gmem)
        }
    }
}
