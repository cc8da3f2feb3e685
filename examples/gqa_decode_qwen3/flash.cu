// Decode attention of one token over its cache: 16 query and 8 KV heads of 128, bf16.
//
// A cluster is a KV head. The head's cache is cut into tiles of 16 tokens, which the cluster's warps
// take in turn. Each warp keeps a ring in shared memory of its tiles' keys and values, filled by
// `cp.async` and read by nobody else, so that warps wait for memory alone. Scores and values go through
// the tensor cores, with the head's two queries as the only rows in use. The warps' softmax states meet
// first in their CTA, then in the shared memory of the cluster's first CTA: nothing passes through
// global memory, and there is one launch.

#include <cstdint>
#include <cuda_bf16.h>

namespace {

constexpr int KV_HEADS = 8;
constexpr int G = 2;                  // query heads of a KV head
constexpr int D = 128;
constexpr int BK = 16;                // tokens of a tile
constexpr int ROW = D * 2;            // bytes of a token's key or value in one head
constexpr int TILE = BK * ROW;        // of keys, or of values
constexpr int SLOTS = 4;
constexpr int RING = SLOTS * TILE;    // of a warp: keys and values alternate
constexpr int STATE = G * D + 2 * G;  // a softmax state: weighted values, maxima, sums

__device__ __forceinline__ uint32_t shared_address(const void* p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

// 16 bytes, or zeros where `bytes` is 0.
__device__ __forceinline__ void copy16(uint32_t to, const void* from, uint32_t bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N>
__device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ void ldmatrix(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_trans(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

// d += a b
__device__ __forceinline__ void mma(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                    uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ uint32_t pack(float lo, float hi) {
    uint32_t d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
    return d;
}

__device__ __forceinline__ float over4(float v, bool max) {
#pragma unroll
    for (int i = 1; i < 4; i *= 2) {
        const float o = __shfl_xor_sync(0xffffffffu, v, i);
        v = max ? fmaxf(v, o) : v + o;
    }
    return v;
}

// What a state's values and sum are worth beside the largest maximum.
__device__ __forceinline__ float weight(float m, float most) {
    return m == -INFINITY ? 0.0f : exp2_approx(m - most);
}

__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void store_first(const void* own, float v) {
    asm volatile(
        "{\n\t.reg .b32 a;\n\t"
        "mapa.shared::cluster.u32 a, %0, 0;\n\t"
        "st.shared::cluster.f32 [a], %1;\n\t}" ::"r"(shared_address(own)),
        "f"(v)
        : "memory");
}

// The states of `n` warps or CTAs, `stride` floats apart, as one: the part of value t of G * D.
struct Joined {
    float most, sum, value;

    __device__ Joined(const float* states, uint32_t n, uint32_t stride, int t) {
        const int h = t / D;
        most = -INFINITY;
        sum = value = 0.0f;
        for (uint32_t i = 0; i < n; i++) most = fmaxf(most, states[i * stride + G * D + h]);
        for (uint32_t i = 0; i < n; i++) {
            const float* of = states + i * stride;
            const float x = weight(of[G * D + h], most);
            sum += of[G * D + G + h] * x;
            value += of[t] * x;
        }
    }
};

}  // namespace

// q, o: bf16[16, 128]; k, v: bf16[ctx, 8, 128]. grid (n, 8) and cluster (n); dynamic shared memory has
// a ring for each warp, then a state for each CTA of the cluster.
extern "C" __global__ void __launch_bounds__(256, 1)
    flash_decode(const __nv_bfloat16* __restrict__ q, const char* __restrict__ k,
                 const char* __restrict__ v, __nv_bfloat16* __restrict__ o, uint32_t ctx,
                 float scale) {
    extern __shared__ __align__(128) unsigned char smem[];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const uint32_t warps = blockDim.x / 32;
    unsigned char* rings = smem;
    float* met = (float*)(smem + warps * RING);  // the states of the cluster's CTAs, in its first one
    const int g = lane / 4, c = lane % 4;
    const uint32_t splits = gridDim.x, split = blockIdx.x, head = blockIdx.y;
    cluster_arrive();

    const uint32_t tiles = (ctx + BK - 1) / BK;
    const uint32_t step = splits * warps;
    uint32_t tile = warp * splits + split;

    // Copies: two tokens of a tile at a time, 16 lanes of 16 bytes each. The chunks of a row are
    // permuted by its index, so that eight rows' chunks lie in different banks.
    const uint32_t ring = shared_address(rings) + warp * RING;
    const int chunk = lane % 16, odd = lane / 16;
    const uint32_t lane_to = odd * ROW + ((chunk ^ odd) << 4);
    const size_t lane_from = ((size_t)odd * KV_HEADS + head) * ROW + chunk * 16;
    uint32_t fetched = tile, to = ring;
    bool values = false;
    auto fetch = [&] {
        if (fetched < tiles) {
            const char* from = (values ? v : k) + (size_t)fetched * (BK * KV_HEADS * ROW) + lane_from;
            const uint32_t token = fetched * BK + odd;
            // the tokens past the end are zeros
#pragma unroll
            for (int i = 0; i < BK / 2; i++) {
                const bool there = token + 2 * i < ctx;
                copy16((to + i * (2 * ROW) + lane_to) ^ ((2 * i & 6) << 4),
                       there ? from + i * (2 * KV_HEADS * ROW) : k, there ? 16 : 0);
            }
        }
        fetched += values ? step : 0;
        values = !values;
        to = to == ring + RING - TILE ? ring : to + TILE;
        commit();
    };
#pragma unroll
    for (int s = 0; s < SLOTS - 1; s++) fetch();

    uint32_t qa[D / 16][2];
#pragma unroll
    for (int s = 0; s < D / 16; s++) {
        const uint32_t* row = (const uint32_t*)(q + (head * G + g) * D) + s * 8 + c;
        qa[s][0] = g < G ? row[0] : 0;
        qa[s][1] = g < G ? row[4] : 0;
    }
    const float scale2 = scale * 1.4426950408889634f;

    // lane 4g + c has the state of head g, and sums and probabilities of tokens 2c, 2c + 1, 2c + 8
    // and 2c + 9; values are transposed, dims 16i + g and 16i + g + 8 of heads 2c and 2c + 1
    float m = -INFINITY, l = 0.0f;
    float acc[D / 16][4] = {};
    // lanes of an ldmatrix: matrix lane / 8, row lane % 8
    const int j = lane / 8, r8 = lane % 8;
    const uint32_t row = (uint32_t)((j >> 1) * 8 + r8) * ROW, half = j & 1;
    uint32_t at = ring;
    auto next = [&] { at = at == ring + RING - TILE ? ring : at + TILE; };
    for (; tile < tiles; tile += step) {
        fetch();
        wait<SLOTS - 1>();
        __syncwarp();
        float s0[2][4] = {}, s1[2][4] = {};
#pragma unroll
        for (int s = 0; s < D / 16; s++) {
            uint32_t b[4];
            ldmatrix(b, at + row + (((2 * s + half) ^ r8) << 4));
            mma(s0[s % 2], qa[s][0], 0, qa[s][1], 0, b[0], b[1]);
            mma(s1[s % 2], qa[s][0], 0, qa[s][1], 0, b[2], b[3]);
        }
        __syncwarp();
        next();
        fetch();

        float p[4] = {(s0[0][0] + s0[1][0]) * scale2, (s0[0][1] + s0[1][1]) * scale2,
                      (s1[0][0] + s1[1][0]) * scale2, (s1[0][1] + s1[1][1]) * scale2};
        if (tile * BK + BK > ctx) {
            const uint32_t token = tile * BK + 2 * c;
            if (token >= ctx) p[0] = -INFINITY;
            if (token + 1 >= ctx) p[1] = -INFINITY;
            if (token + 8 >= ctx) p[2] = -INFINITY;
            if (token + 9 >= ctx) p[3] = -INFINITY;
        }
        // a tile has a token, so the maximum is finite from the first one on
        const float mn = fmaxf(m, over4(fmaxf(fmaxf(p[0], p[1]), fmaxf(p[2], p[3])), true));
        if (__any_sync(0xffffffffu, mn != m)) {
            const float correction = exp2_approx(m - mn);
            m = mn;
            l *= correction;
            const float even = __shfl_sync(0xffffffffu, correction, 8 * c % 32);
            const float odd = __shfl_sync(0xffffffffu, correction, (8 * c + 4) % 32);
#pragma unroll
            for (int i = 0; i < D / 16; i++) {
                acc[i][0] *= even;
                acc[i][1] *= odd;
                acc[i][2] *= even;
                acc[i][3] *= odd;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) p[i] = exp2_approx(p[i] - mn);
        l += (p[0] + p[1]) + (p[2] + p[3]);
        const uint32_t b0 = pack(p[0], p[1]), b1 = pack(p[2], p[3]);

        wait<SLOTS - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < D / 16; i++) {
            uint32_t a[4];
            ldmatrix_trans(a, at + row + (((2 * i + half) ^ r8) << 4));
            mma(acc[i], a[0], a[1], a[2], a[3], b0, b1);
        }
        __syncwarp();
        next();
    }
    wait<0>();
    __syncwarp();

    // the warp's state, in its own ring
    l = over4(l, false);
    float* own = (float*)(rings + warp * RING);
    if (c == 0) {
#pragma unroll
        for (int i = 0; i < D / 16; i++) {
            own[i * 16 + g] = acc[i][0];
            own[D + i * 16 + g] = acc[i][1];
            own[i * 16 + g + 8] = acc[i][2];
            own[D + i * 16 + g + 8] = acc[i][3];
        }
        if (g < G) {
            own[G * D + g] = m;
            own[G * D + G + g] = l;
        }
    }
    __syncthreads();

    // the CTA's, into the first CTA of the cluster
    cluster_wait();
    for (int i = t; i < G * D; i += blockDim.x) {
        const Joined all((const float*)rings, warps, RING / 4, i);
        float* to = met + split * STATE;
        store_first(to + i, all.value);
        if (i % D == 0) {
            store_first(to + G * D + i / D, all.most);
            store_first(to + G * D + G + i / D, all.sum);
        }
    }
    cluster_arrive();
    if (split != 0) return;
    cluster_wait();
    for (int i = t; i < G * D; i += blockDim.x) {
        const Joined all(met, splits, STATE, i);
        o[head * G * D + i] = __float2bfloat16_rn(all.value / all.sum);
    }
}
