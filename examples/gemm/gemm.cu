// C[M, N] = A[M, K] B[N, K]^T in bf16, summed in f32: the `Pair` of gemm.tf as a kernel.
//
// Pairs of CTAs walk over tiles of 256 x 256; each CTA makes 128 x 256 of one. A producer warp feeds a ring
// of K steps through the tensor copy engine: its own rows of A, and half of the rows of B, which both CTAs
// get. Two warpgroups multiply, 64 rows each, and store their rows through shared memory while the producer
// is already at the next tile. Any M and N; K is a multiple of 64.

#include "../../kernels/hopper.cuh"

namespace {

constexpr uint32_t BM = 128, BN = 256, BK = 64, STAGES = 4, PAIR = 2;
constexpr uint32_t GROUP = 8; // rows of tiles that are walked together, column by column
constexpr uint32_t A_BYTES = BM * BK * 2, B_BYTES = BN * BK * 2, STAGE = A_BYTES + B_BYTES;
constexpr uint32_t OUT_BYTES = 64 * 64 * 2; // 64 rows and columns of C
constexpr uint32_t CONSUMERS = 2;

/// Tile i of mt x nt.
__device__ __forceinline__ void grouped(uint32_t i, uint32_t mt, uint32_t nt, uint32_t& tm, uint32_t& tn) {
    uint32_t first = i / (GROUP * nt) * GROUP, rows = min(GROUP, mt - first), r = i % (GROUP * nt);
    tm = first + r % rows;
    tn = r / rows;
}

/// Two floats as bf16, the first in the low half.
__device__ __forceinline__ uint32_t pack(float lo, float hi) {
    uint32_t v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
    return v;
}

} // namespace

extern "C" __global__ void __cluster_dims__(PAIR, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c,
         uint32_t m, uint32_t n, uint32_t k) {
    extern __shared__ uint8_t raw[];
    __shared__ uint64_t bars[2 * STAGES];
    // the swizzle repeats every 1024 bytes
    const uint32_t buffers = (smem_address(raw) + 1023) & ~1023u, out = buffers + STAGES * STAGE;
    const uint32_t full = smem_address(bars), empty = full + 8 * STAGES;
    const uint32_t group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const uint32_t rank = cluster_rank(), cluster = blockIdx.x / PAIR, clusters = gridDim.x / PAIR;
    const uint32_t mt = (m + PAIR * BM - 1) / (PAIR * BM), nt = (n + BN - 1) / BN, steps = k / BK;

    if (threadIdx.x == 0) {
        prefetch(a);
        prefetch(b);
        prefetch(c);
        for (uint32_t s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, PAIR * CONSUMERS * 4); // each consumer warp of both CTAs
        }
        barrier_init_done();
    }
    cluster_sync();

    if (group == CONSUMERS) {
        registers_down<40>();
        if (warp == 0 && elected()) {
            Ring<STAGES> ring;
            for (uint32_t i = cluster; i < mt * nt; i += clusters) {
                uint32_t tm, tn;
                grouped(i, mt, nt, tm, tn);
                int row = (tm * PAIR + rank) * BM, col = tn * BN + rank * (BN / PAIR);
                for (uint32_t s = 0; s < steps; s++, ring.next()) {
                    uint32_t bar = full + 8 * ring.at, to = buffers + ring.at * STAGE;
                    barrier_wait(empty + 8 * ring.at, ring.parity ^ 1);
                    barrier_expect(bar, STAGE);
                    load_2d(to, a, bar, s * BK, row);
                    load_2d(to + A_BYTES + rank * (B_BYTES / PAIR), b, bar, s * BK, col, (1 << PAIR) - 1);
                }
            }
        }
    } else {
        registers_up<232>();
        Ring<STAGES> ring;
        float d[128];
        const uint32_t my_out = out + group * 2 * OUT_BYTES;
        for (uint32_t i = cluster; i < mt * nt; i += clusters) {
            uint32_t done = 0;
            for (uint32_t s = 0; s < steps; s++) {
                const uint32_t from = buffers + ring.at * STAGE;
                const uint64_t am = matrix(from + group * (A_BYTES / CONSUMERS)), bm = matrix(from + A_BYTES);
                barrier_wait(full + 8 * ring.at, ring.parity);
                mma_begin();
#pragma unroll
                for (uint32_t kk = 0; kk < BK / 16; kk++) mma_bf16(d, am + 2 * kk, bm + 2 * kk, s + kk);
                mma_commit();
                // the step before this one has been read
                mma_wait<1>();
                if (s > 0 && lane < PAIR) barrier_arrive_at(empty + 8 * done, lane);
                done = ring.at;
                ring.next();
            }
            mma_wait<0>();
            pin(d);
            if (lane < PAIR) barrier_arrive_at(empty + 8 * done, lane);

            uint32_t tm, tn;
            grouped(i, mt, nt, tm, tn);
            const int row = (tm * PAIR + rank) * BM + group * 64, col = tn * BN;
            // lane's row of the 16 of its warp, and which of two neighbouring blocks of 8 columns
            const uint32_t r = warp * 16 + lane % 16, half = lane / 16;
#pragma unroll
            for (uint32_t part = 0; part < BN / 64; part++) {
                const uint32_t to = my_out + part % 2 * OUT_BYTES;
                // the store before the last has left its buffer
                if (warp == 0) store_wait_read<1>();
                warps_sync(1 + group, 128);
#pragma unroll
                for (uint32_t j = 0; j < 8; j += 2) {
                    const float* e = d + part * 32 + j * 4;
                    store_matrices(to + r * 128 + (((j + half) ^ (r % 8)) * 16), pack(e[0], e[1]), pack(e[2], e[3]),
                                   pack(e[4], e[5]), pack(e[6], e[7]));
                }
                proxy_fence();
                warps_sync(1 + group, 128);
                if (warp == 0 && lane == 0) store_2d(c, to, col + part * 64, row);
                if (warp == 0) store_commit();
            }
        }
        if (warp == 0) store_wait_read<0>();
    }
    // no CTA leaves while the other may still write to it
    cluster_sync();
}
