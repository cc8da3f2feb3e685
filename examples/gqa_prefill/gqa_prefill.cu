// Causal grouped-query attention of new tokens over a context, heads of 128 features, in f16: `Persistent`
// of gqa_prefill.tf as a kernel. The last query is aligned with the last key.
//
// Each CTA takes tiles of 128 queries of one head. A producer warp fetches K and V in blocks of 128 keys
// into a ring, from the diagonal back to the first key. Two warpgroups have 64 queries each. The scores of
// a block are on the matrix unit before the values of the block before it are, so that a softmax has both
// products of a block to run beside, and those of the other warpgroup. Queries and keys are multiples of
// 128, and the scale is positive.

#include "../../kernels/hopper.cuh"

namespace {

constexpr uint32_t BLOCK = 128, D = 128, CONSUMERS = 2, SLOTS = 5;
constexpr uint32_t HALF = BLOCK * 64 * 2, TILE = 2 * HALF; // bytes of 64 features of a block, of all
constexpr uint32_t MINE = 64 * 64 * 2;                     // of those of a half, one warpgroup's rows
constexpr uint32_t STORE = 1;                              // a barrier of warps for each warpgroup

struct Tile {
    uint32_t batch, head, block;
};

/// The i-th tile, the longest first. Every other round of the CTAs is backwards, so that whoever has a
/// long tile has a short one next.
__device__ __forceinline__ Tile tile(uint32_t i, uint32_t tiles, uint32_t blocks, uint32_t heads) {
    const uint32_t round = i / gridDim.x, first = round * gridDim.x, last = min(first + gridDim.x, tiles) - 1;
    const uint32_t at = round % 2 ? last - (i - first) : i, rest = at % (tiles / blocks);
    return {rest / heads, rest % heads, blocks - 1 - at / (tiles / blocks)};
}

/// Two floats as f16, the first in the low half.
__device__ __forceinline__ uint32_t pack(float lo, float hi) {
    uint32_t v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
    return v;
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// The softmax of two rows of this thread, r and r + 8 of its warp's 16: of each, 32 of the 128 scores, in
/// pairs of columns 8j + 2 (lane % 4).
struct Softmax {
    float top[2], sum[2];

    /// Scores become exp2((s - top) * scale); `less` is what the sums so far are multiplied by.
    template <bool FIRST>
    __device__ __forceinline__ void block(float (&s)[64], float scale, float (&less)[2]) {
        float part[2][2] = {{s[0], s[1]}, {s[2], s[3]}};
#pragma unroll
        for (int j = 1; j < 16; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) part[e / 2][e % 2] = fmaxf(part[e / 2][e % 2], s[4 * j + e]);
        float now[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float t = fmaxf(part[r][0], part[r][1]);
            t = fmaxf(t, __shfl_xor_sync(0xffffffff, t, 1));
            now[r] = fmaxf(t, __shfl_xor_sync(0xffffffff, t, 2));
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (!FIRST) {
                now[r] = fmaxf(now[r], top[r]);
                less[r] = power_of_two((top[r] - now[r]) * scale);
            }
            top[r] = now[r];
        }
        float total[2][2] = {};
        const float low[2] = {-now[0] * scale, -now[1] * scale};
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float& x = s[4 * j + e];
                x = power_of_two(fmaf(x, scale, low[e / 2]));
                total[e / 2][e % 2] += x;
            }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float t = total[r][0] + total[r][1];
            sum[r] = FIRST ? t : fmaf(sum[r], less[r], t);
        }
    }
};

/// s[64, 128] = q[64, D] k[128, D]^T
__device__ __forceinline__ void scores(float (&s)[64], uint32_t q, uint32_t k) {
    const uint64_t qm = matrix(q), km = matrix(k);
#pragma unroll
    for (uint32_t d = 0; d < D / 16; d++) {
        const uint32_t at = d / 4 * (HALF / 16) + d % 4 * 2;
        mma_f16(s, qm + at, km + at, d);
    }
}

/// o[64, D] (+)= p[64, 128] v[128, D]
__device__ __forceinline__ void weighted(float (&o)[64], const uint32_t (&p)[32], uint32_t v, bool add) {
    const uint64_t vm = matrix(v, HALF);
#pragma unroll
    for (uint32_t k = 0; k < BLOCK / 16; k++)
        mma_f16_transposed(o, p + 4 * k, vm + k * (16 * 128 / 16), add || k > 0);
}

__device__ __forceinline__ void round(uint32_t (&p)[32], const float (&s)[64]) {
#pragma unroll
    for (int i = 0; i < 32; i++) p[i] = pack(s[2 * i], s[2 * i + 1]);
}

} // namespace

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gqa_prefill(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
                const __grid_constant__ TensorMap v, const __grid_constant__ TensorMap out, uint32_t batch,
                uint32_t queries, uint32_t keys, uint32_t heads, uint32_t kv_heads, float scale) {
    extern __shared__ uint8_t raw[];
    __shared__ uint64_t bars[2 * SLOTS + 4];
    // the swizzle repeats every 1024 bytes
    const uint32_t qs = (smem_address(raw) + 1023) & ~1023u, buffers = qs + 2 * TILE;
    const uint32_t full = smem_address(bars), empty = full + 8 * SLOTS;
    const uint32_t q_full = empty + 8 * SLOTS, q_empty = q_full + 16;
    const uint32_t group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const uint32_t blocks = queries / BLOCK, tiles = blocks * batch * heads;

    if (threadIdx.x == 0) {
        prefetch(q);
        prefetch(k);
        prefetch(v);
        prefetch(out);
        for (uint32_t s = 0; s < SLOTS; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CONSUMERS * 4); // each consumer warp
        }
        for (uint32_t s = 0; s < 2; s++) {
            barrier_init(q_full + 8 * s, 1);
            barrier_init(q_empty + 8 * s, CONSUMERS);
        }
        barrier_init_done();
    }
    __syncthreads();

    if (group == CONSUMERS) {
        registers_down<24>();
        if (warp == 0 && elected()) {
            Ring<SLOTS> ring;
            auto fetch = [&](const TensorMap& map, uint32_t key, uint32_t head, uint32_t b) {
                const uint32_t bar = full + 8 * ring.at, to = buffers + ring.at * TILE;
                barrier_wait(empty + 8 * ring.at, ring.parity ^ 1);
                barrier_expect(bar, TILE);
                load_4d(to, map, bar, 0, head, key, b);
                load_4d(to + HALF, map, bar, 64, head, key, b);
                ring.next();
            };
            for (uint32_t i = blockIdx.x, t = 0; i < tiles; i += gridDim.x, t++) {
                const Tile w = tile(i, tiles, blocks, heads);
                const uint32_t bar = q_full + t % 2 * 8, to = qs + t % 2 * TILE, head = w.head / (heads / kv_heads);
                if (t >= 2) barrier_wait(q_empty + t % 2 * 8, t / 2 % 2 ^ 1);
                barrier_expect(bar, TILE);
                load_4d(to, q, bar, 0, w.head, w.block * BLOCK, w.batch);
                load_4d(to + HALF, q, bar, 64, w.head, w.block * BLOCK, w.batch);
                // in the order of their use
                uint32_t key = keys - queries + w.block * BLOCK;
                fetch(k, key, head, w.batch);
                for (; key > 0; key -= BLOCK) {
                    fetch(k, key - BLOCK, head, w.batch);
                    fetch(v, key, head, w.batch);
                }
                fetch(v, 0, head, w.batch);
            }
        }
        return;
    }

    registers_up<240>();
    scale *= 1.44269504f; // exp(x) = exp2(x log2(e))
    Ring<SLOTS> ring;
    auto taken = [&](uint32_t slot) {
        if (lane == 0) barrier_arrive(empty + 8 * slot);
    };
    for (uint32_t i = blockIdx.x, t = 0; i < tiles; i += gridDim.x, t++) {
        const Tile w = tile(i, tiles, blocks, heads);
        const uint32_t mine = qs + t % 2 * TILE + group * MINE;
        float s[64], o[64], less[2];
        uint32_t p[32];
        Softmax soft;

        barrier_wait(q_full + t % 2 * 8, t / 2 % 2);
        barrier_wait(full + 8 * ring.at, ring.parity);
        mma_begin();
        scores(s, mine, buffers + ring.at * TILE);
        mma_commit();
        if (t > 0 && warp == 0 && lane == 0) {
            // the result before has left its buffer, which the next queries get
            store_wait_read<0>();
            barrier_arrive(q_empty + (t + 1) % 2 * 8);
        }
        mma_wait<0>();
        pin(s);
        taken(ring.at);
        ring.next();
        // the block on the diagonal
        const uint32_t row = group * 64 + warp * 16 + lane / 4, col = lane % 4 * 2;
#pragma unroll
        for (uint32_t j = 0; j < 16; j++)
#pragma unroll
            for (uint32_t e = 0; e < 4; e++)
                if (8 * j + col + e % 2 > row + e / 2 * 8) s[4 * j + e] = -INFINITY;
        soft.block<true>(s, scale, less);
        round(p, s);

        bool add = false;
        for (uint32_t key = keys - queries + w.block * BLOCK; key > 0; key -= BLOCK, add = true) {
            const uint32_t k_slot = ring.at;
            barrier_wait(full + 8 * k_slot, ring.parity);
            mma_begin();
            scores(s, mine, buffers + k_slot * TILE);
            mma_commit();
            ring.next();
            const uint32_t v_slot = ring.at;
            barrier_wait(full + 8 * v_slot, ring.parity);
            mma_begin();
            weighted(o, p, buffers + v_slot * TILE, add);
            mma_commit();
            ring.next();
            mma_wait<1>();
            pin(s);
            taken(k_slot);
            soft.block<false>(s, scale, less);
            mma_wait<0>();
            pin(o);
            taken(v_slot);
#pragma unroll
            for (int n = 0; n < 64; n++) o[n] *= less[n / 2 % 2];
            round(p, s);
        }
        barrier_wait(full + 8 * ring.at, ring.parity);
        mma_begin();
        weighted(o, p, buffers + ring.at * TILE, add);
        mma_commit();
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float sum = soft.sum[r];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            less[r] = 1 / sum;
        }
        mma_wait<0>();
        pin(o);
        taken(ring.at);
        ring.next();

        // the result goes where this warpgroup's queries were
        const uint32_t r = warp * 16 + lane % 16, half = lane / 16;
#pragma unroll
        for (uint32_t j = 0; j < 16; j += 2) {
            const float* e = o + j * 4;
            store_matrices(mine + j / 8 * HALF + r * 128 + ((j % 8 + half) ^ (r % 8)) * 16,
                           pack(e[0] * less[0], e[1] * less[0]), pack(e[2] * less[1], e[3] * less[1]),
                           pack(e[4] * less[0], e[5] * less[0]), pack(e[6] * less[1], e[7] * less[1]));
        }
        proxy_fence();
        warps_sync(STORE + group, 128);
        if (warp == 0 && lane == 0) {
            const int to = w.block * BLOCK + group * 64;
            store_4d(out, mine, 0, w.head, to, w.batch);
            store_4d(out, mine + HALF, 64, w.head, to, w.batch);
            store_commit();
        }
    }
    if (warp == 0) store_wait_read<0>();
}
