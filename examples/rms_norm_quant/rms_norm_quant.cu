// RMS norm of a bf16 row of 7168 and its f8e4m3 quantization by blocks of 128: one row in a CTA.
//
// The result has the bits of `Landed` in rms_norm_quant.tf. The sum of squares is taken in the order
// that the language fixes for a row: blocks of 512, in each 16 lanes (element i goes to lane i % 16)
// that add up in order, a tree over the lanes, a tree of neighbours over the blocks. The row is in
// registers in 16-byte vectors, so it goes through shared memory once to be added up in that order.

#include <cstdint>

namespace {

constexpr int H = 7168;
constexpr int THREADS = H / 16;     // two vectors of 8 in a thread
constexpr int SUMS = H / 512;       // blocks of the sum: 14
constexpr int SUM_BYTES = 1024 + 32;  // one of them, shifted by 8 banks against the one before
constexpr float EPS = 1e-6f;

__device__ __forceinline__ uint4 load(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ float low(uint32_t v) { return __uint_as_float(v << 16); }
__device__ __forceinline__ float high(uint32_t v) { return __uint_as_float(v & 0xffff0000u); }

__device__ __forceinline__ uint32_t mul_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t max_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t pack_bf16x2(float lo, float hi) {
    uint32_t d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
    return d;
}

// 1 / sqrt(x) as if computed in f64 and rounded once; the same for every f32 of two binades, which
// are all there are up to a power of 4. The approximation y is good to 2^-22, e = 1 - x y^2 is taken
// with the product's two parts, and the correction is y (e/2 + 3e^2/8).
__device__ __forceinline__ float rsqrt_rn(float x) {
    float y;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    const float p = __fmul_rn(x, y), rest = __fmaf_rn(x, y, -p);
    const float e = __fmaf_rn(-rest, y, __fmaf_rn(-p, y, 1.0f));
    const float z = __fmaf_rn(__fmul_rn(y, e), __fmaf_rn(e, 0.375f, 0.5f), y);
    return fabsf(e) < 1.0f ? z : y;  // infinity and NaN have no correction
}

// The tree of neighbours over the blocks' sums: (0, 1), (2, 3), ..., an odd last one goes up alone.
template <int N>
__device__ __forceinline__ float tree(float (&s)[N]) {
#pragma unroll
    for (int n = N; n > 1; n = (n + 1) / 2) {
#pragma unroll
        for (int i = 0; i < n / 2; i++) s[i] = s[2 * i] + s[2 * i + 1];
        if (n % 2 == 1) s[n / 2] = s[n - 1];
    }
    return s[0];
}

__device__ __forceinline__ uint16_t f8x2(float lo, float hi) {
    uint16_t d;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(d) : "f"(hi), "f"(lo));
    return d;
}

// y / scale in f32 with its one rounding, in two operations: the reciprocal is held in two parts, to
// 48 bits. A scale is a bf16 times 1 / 448, so the quotient's bits hang on 128 x 128 pairs of
// mantissas, and for all of these they are those of the division. The first part is rounded down,
// so that the second is not negative and a zero keeps its sign.
struct Reciprocal {
    float hi, lo;
    // not so near the ends of the range that a part overflows or loses bits
    bool plain;

    __device__ explicit Reciprocal(float s) {
        hi = __frcp_rd(s);
        lo = __fmaf_rn(-hi, s, 1.0f) * hi;
        plain = s > 0x1p-100f && s < 0x1p100f;
    }
    __device__ float of(float y) const { return __fmaf_rn(y, hi, y * lo); }
};

__device__ __forceinline__ uint2 quantize(uint4 y, float scale) {
    const Reciprocal r(scale);
    const uint32_t v[4] = {y.x, y.y, y.z, y.w};
    uint16_t q[4];
    // the conversion saturates, so that the clamp to +-448 is in it
    if (r.plain) {
#pragma unroll
        for (int i = 0; i < 4; i++) q[i] = f8x2(r.of(low(v[i])), r.of(high(v[i])));
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            q[i] = f8x2(__fdiv_rn(low(v[i]), scale), __fdiv_rn(high(v[i]), scale));
        }
    }
    return make_uint2(q[0] | (uint32_t)q[1] << 16, q[2] | (uint32_t)q[3] << 16);
}

__device__ __forceinline__ uint4 normalize(uint4 x, uint4 g, float r) {
    return make_uint4(mul_bf16x2(pack_bf16x2(low(x.x) * r, high(x.x) * r), g.x),
                      mul_bf16x2(pack_bf16x2(low(x.y) * r, high(x.y) * r), g.y),
                      mul_bf16x2(pack_bf16x2(low(x.z) * r, high(x.z) * r), g.z),
                      mul_bf16x2(pack_bf16x2(low(x.w) * r, high(x.w) * r), g.w));
}

// The largest magnitude of a vector, in the low half.
__device__ __forceinline__ uint32_t magnitude(uint4 y) {
    constexpr uint32_t ABS = 0x7fff7fffu;
    const uint32_t m = max_bf16x2(max_bf16x2(y.x & ABS, y.y & ABS), max_bf16x2(y.z & ABS, y.w & ABS));
    return max_bf16x2(m, m >> 16);
}

}  // namespace

// x: bf16[rows, 7168], gamma: bf16[7168], q: f8e4m3[rows, 7168], scales: f32[rows, 56]
extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_quant(const uint4* __restrict__ x, const uint4* __restrict__ gamma,
                   uint2* __restrict__ q, float* __restrict__ scales) {
    __shared__ __align__(16) unsigned char row[SUMS * SUM_BYTES];
    __shared__ float sums[SUMS];
    const int t = threadIdx.x;
    const size_t vectors = (size_t)blockIdx.x * (H / 8);

    const uint4 x0 = load(x + vectors + t);
    const uint4 x1 = load(x + vectors + t + THREADS);
    const uint4 g0 = __ldg(gamma + t);
    const uint4 g1 = __ldg(gamma + t + THREADS);
    *(uint4*)(row + t / 64 * SUM_BYTES + t % 64 * 16) = x0;
    *(uint4*)(row + (t + THREADS) / 64 * SUM_BYTES + (t + THREADS) % 64 * 16) = x1;
    __syncthreads();

    // lanes 2p and 2p + 1 of block b; the square of a bf16 is exact in f32, so an fma rounds once
    if (t < SUMS * 8) {
        const int b = t / 8, p = t % 8;
        const uint32_t* at = (const uint32_t*)(row + b * SUM_BYTES) + p;
        float s0 = 0.0f, s1 = 0.0f;
#pragma unroll
        for (int j = 0; j < 32; j++) {
            const uint32_t v = at[j * 8];
            s0 = __fmaf_rn(low(v), low(v), s0);
            s1 = __fmaf_rn(high(v), high(v), s1);
        }
        const uint32_t mask = t / 32 == SUMS * 8 / 32 ? 0xffffu : 0xffffffffu;
#pragma unroll
        for (int d = 4; d > 0; d /= 2) {
            s0 += __shfl_xor_sync(mask, s0, d);
            s1 += __shfl_xor_sync(mask, s1, d);
        }
        if (p == 0) sums[b] = s0 + s1;
    }
    __syncthreads();

    float s[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) s[i] = sums[i];
    const float r = rsqrt_rn(__fdiv_rn(tree(s), (float)H) + EPS);
    const uint4 y0 = normalize(x0, g0, r);
    const uint4 y1 = normalize(x1, g1, r);

    // a block of 128 is 16 lanes of one vector each; both vectors' maxima travel in one register
    uint32_t top = (magnitude(y0) & 0xffffu) | magnitude(y1) << 16;
#pragma unroll
    for (int d = 8; d > 0; d /= 2) top = max_bf16x2(top, __shfl_xor_sync(0xffffffffu, top, d));
    const float scale0 = low(top) * (float)(1.0 / 448.0);
    const float scale1 = high(top) * (float)(1.0 / 448.0);
    // what is written is not read here again: it may leave L2 before what is
    __stcs(q + vectors + t, quantize(y0, scale0));
    __stcs(q + vectors + t + THREADS, quantize(y1, scale1));
    if (t % 16 == 0) {
        scales[(size_t)blockIdx.x * (H / 128) + t / 16] = scale0;
        scales[(size_t)blockIdx.x * (H / 128) + (t + THREADS) / 16] = scale1;
    }
}
