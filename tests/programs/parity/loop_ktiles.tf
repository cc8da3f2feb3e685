//! A loop over K on 4 x 4 CTAs: operands through smem, the accumulator in registers. Without an atom
//! the accumulation is an addition of its own: 512 x 512 for each of 16 trips.
// cost: work.tensor.f16 = 536870912
// cost: flops.f32 = 4194304
// cost: gmem.read = 2097152
// cost: gmem.read.total = 8388608
// cost: gmem.write = 1048576
// cost: smem.read = 2097152
// cost: smem.write = 2097152
// cost: smem.read.total = 8388608
// cost: smem.write.total = 8388608
// cost: peak.smem = 32768
// cost: peak.rmem.in_place = 131072

const M = 512;
const N = 512;
const K = 1024;
const BK = 64;

module Loop {
    target "nvidia.h200_sxm";
    topology cta = 16, thread = 128;

    entry func gemm(a: f16[M, K], b: f16[K, N]) -> f32[M, N] {
        mesh g = cta[m: 4, n: 4] {
            let mut acc: f32[M, N] in rmem[M @ g.m, N @ g.n] = zeros(f32[M, N]);
            for k in tile(K, BK) {
                let ak = reshard(a[.., k], smem[M @ g.m, BK]);
                let bk = reshard(b[k], smem[BK, N @ g.n]);
                acc = acc + matmul(ak, bk, out = f32);
            }
            reshard(acc, gmem)
        }
    }
}
