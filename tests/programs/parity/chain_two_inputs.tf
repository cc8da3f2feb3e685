//! a * b + a, times b: both inputs are held, so that three values of 65,536 B are live.
// cost: flops.f16 = 25165824
// cost: gmem.read = 33554432
// cost: gmem.write = 16777216
// cost: peak.rmem.in_place = 196608

module M {
    target "nvidia.h200_sxm";
    topology cta = 256, thread = 256;

    entry func chain(a: f16[1, 4096, 2048], b: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh g = cta[x: 8, y: 32], t = thread[x: 32, y: 8] {
            let ar = reshard(a, rmem[1, 4096 @ (g.x, t.x), 2048 @ (g.y, t.y)]);
            let br = reshard(b, rmem[1, 4096 @ (g.x, t.x), 2048 @ (g.y, t.y)]);
            let y = ar * br;
            let z = y + ar;
            let w = z * br;
            reshard(w, gmem)
        }
    }
}
