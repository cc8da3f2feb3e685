//! The product split over 8 x 16 CTAs with operands in gmem: rows are read by 16 CTAs, columns by 8.
// cost: flops.bf16 = 137438953472
// cost: gmem.read = 67108864
// cost: gmem.read.total = 805306368
// cost: gmem.write = 33554432

module M {
    target "nvidia.h200_sxm";
    topology cta = 128, thread = 128;

    entry func mm(a: bf16[4096, 4096], b: bf16[4096, 4096]) -> bf16[4096, 4096] {
        mesh g = cta[m: 8, n: 16] {
            let at = reshard(a, gmem[4096 @ g.m, 4096]);
            let bt = reshard(b, gmem[4096, 4096 @ g.n]);
            let c = matmul(at, bt);
            reshard(c, gmem)
        }
    }
}
