//! A loop over a symbolic context, one row a CTA, at 4096: 32 trips.
// dim: blocks = 32
// cost: flops.f32 = 32768
// cost: gmem.read = 131072
// cost: gmem.write = 4096
// cost: smem.read = 266240
// cost: smem.write = 266240
// cost: peak.smem.in_place = 1024

dim blocks in 1..=512;

module Scan {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func scan(x: f32[8, blocks * 128]) -> f32[8, 128] {
        mesh g = cta[r: 8] {
            let mut acc: f32[8, 128] in smem[8 @ g.r, 128] = zeros(f32[8, 128]);
            for k in tile(blocks * 128, 128) {
                let xk = reshard(x[.., k], smem[8 @ g.r, 128]);
                acc = acc + xk;
            }
            reshard(acc, gmem)
        }
    }
}
