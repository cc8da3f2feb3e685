// Residual add and RMS norm of bf16 rows of 2688.
//
// The results have the bits of `Logical` in residual_rms_norm.tf. The sum of squares is taken in the
// order that the language fixes for a row: blocks of 512, in each 16 lanes (element i goes to lane
// i % 16) that add up in order, a tree over the lanes, a tree of neighbours over the blocks. The row
// is in registers in 16-byte vectors, so it goes through shared memory once to be added up.

#include <cstdint>

namespace {

constexpr int H = 2688;
constexpr int VECTORS = H / 8;              // 336: a thread for each
constexpr int SUMS = (H + 511) / 512;       // blocks of the sum: 6, the last of 128
constexpr int SUM_BYTES = 1024 + 32;        // one of them, shifted by 8 banks against the one before
constexpr float EPS = 1e-5f;

// Read once, and first to leave L2.
__device__ __forceinline__ uint4 load(const uint4* p) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(policy));
    return v;
}

__device__ __forceinline__ float low(uint32_t v) { return __uint_as_float(v << 16); }
__device__ __forceinline__ float high(uint32_t v) { return __uint_as_float(v & 0xffff0000u); }

__device__ __forceinline__ uint32_t add_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t mul_bf16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

__device__ __forceinline__ uint32_t pack_bf16x2(float lo, float hi) {
    uint32_t d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
    return d;
}

__device__ __forceinline__ uint4 add(uint4 a, uint4 b) {
    return make_uint4(add_bf16x2(a.x, b.x), add_bf16x2(a.y, b.y), add_bf16x2(a.z, b.z),
                      add_bf16x2(a.w, b.w));
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

// The row's factor from the sums of its blocks.
__device__ __forceinline__ float factor(const float* sums) {
    const float s = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (sums[4] + sums[5]);
    return rsqrt_rn(__fdiv_rn(s, (float)H) + EPS);
}

__device__ __forceinline__ uint4 normalize(uint4 x, uint4 g, float r) {
    return make_uint4(mul_bf16x2(pack_bf16x2(low(x.x) * r, high(x.x) * r), g.x),
                      mul_bf16x2(pack_bf16x2(low(x.y) * r, high(x.y) * r), g.y),
                      mul_bf16x2(pack_bf16x2(low(x.z) * r, high(x.z) * r), g.z),
                      mul_bf16x2(pack_bf16x2(low(x.w) * r, high(x.w) * r), g.w));
}

}  // namespace

// One row in a CTA. x, residual, y, h: bf16[rows, 2688], gamma: bf16[2688]
extern "C" __global__ void __launch_bounds__(VECTORS)
    residual_rms_norm(const uint4* __restrict__ x, const uint4* __restrict__ residual,
                      const uint4* __restrict__ gamma, uint4* __restrict__ y,
                      uint4* __restrict__ h) {
    __shared__ __align__(16) unsigned char row[SUMS * SUM_BYTES];
    __shared__ float sums[SUMS];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * VECTORS + t;

    const uint4 a = load(x + at), b = load(residual + at);
    const uint4 g = __ldg(gamma + t);
    const uint4 sum = add(a, b);
    *(uint4*)(row + t / 64 * SUM_BYTES + t % 64 * 16) = sum;
    __syncthreads();

    // lanes 2p and 2p + 1 of block b in thread 8b + p; the square of a bf16 is exact in f32, so an
    // fma rounds once
    if (t < 64) {
        const int block = t / 8, p = t % 8;
        float s0 = 0.0f, s1 = 0.0f;
        const uint32_t* from = (const uint32_t*)(row + block * SUM_BYTES) + p;
        auto add_up = [&](int first, int end) {
#pragma unroll
            for (int j = first; j < end; j++) {
                const uint32_t v = from[j * 8];
                s0 = __fmaf_rn(low(v), low(v), s0);
                s1 = __fmaf_rn(high(v), high(v), s1);
            }
        };
        if (block < SUMS) add_up(0, 8);
        if (block < SUMS - 1) add_up(8, 32);
#pragma unroll
        for (int d = 4; d > 0; d /= 2) {
            s0 += __shfl_xor_sync(0xffffffffu, s0, d);
            s1 += __shfl_xor_sync(0xffffffffu, s1, d);
        }
        if (block < SUMS && p == 0) sums[block] = s0 + s1;
    }
    __syncthreads();
    // both results go out after every read of the row, and may leave L2 before what is read
    __stcs(h + at, sum);
    __stcs(y + at, normalize(sum, g, factor(sums)));
}
