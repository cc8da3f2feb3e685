// What `tilefoundry target calibrate` runs: each kernel keeps one resource of the device busy, so that
// its rate is work over time. Built to PTX by scripts/build-kernels.sh.

#include <stdint.h>

// Addresses and counts are such that no loop has a tail.

/// Clocks and nanoseconds of the first block of a kernel, at `sink + 2` and `sink + 4`.
struct Watch {
    int64_t clocks;
    uint64_t ns;
    static __device__ __forceinline__ uint64_t now() {
        uint64_t t;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
        return t;
    }
    __device__ __forceinline__ Watch() : clocks(clock64()), ns(now()) {}
    __device__ __forceinline__ void stop(uint32_t* sink) const {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            ((int64_t*)sink)[1] = clock64() - clocks;
            ((uint64_t*)sink)[2] = now() - ns;
        }
    }
};

// --- memory -------------------------------------------------------------------------------------

/// Copies 4 vectors of 16 bytes a thread; there are as many as 4 x all threads.
extern "C" __global__ void __launch_bounds__(256) copy(const uint4* __restrict__ in, uint4* __restrict__ out) {
    uint64_t at = (uint64_t)blockIdx.x * 1024 + threadIdx.x;
    uint4 a = in[at], b = in[at + 256], c = in[at + 512], d = in[at + 768];
    out[at] = a;
    out[at + 256] = b;
    out[at + 512] = c;
    out[at + 768] = d;
}

__device__ __forceinline__ uint4 through_l2(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

__device__ __forceinline__ uint32_t fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

/// Reads n vectors `rounds` times, past the cache of each unit; n is a multiple of 4 x all threads.
extern "C" __global__ void __launch_bounds__(512) read_again(const uint4* in, uint32_t n, uint32_t rounds, uint32_t* sink) {
    uint32_t step = gridDim.x * blockDim.x, sum = 0;
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
            uint4 a = through_l2(in + i), b = through_l2(in + i + step);
            uint4 c = through_l2(in + i + 2 * step), d = through_l2(in + i + 3 * step);
            // every word is used, or narrower loads would do
            sum += fold(a) ^ fold(b) ^ fold(c) ^ fold(d);
        }
    }
    if (sum == 0xffffffff) *sink = sum;
}

/// Reads 8 vectors of shared memory a thread and round, without bank conflicts.
extern "C" __global__ void __launch_bounds__(1024) read_shared(uint32_t rounds, uint32_t* sink) {
    __shared__ uint4 buffer[2048];
    for (uint32_t i = threadIdx.x; i < 2048; i += blockDim.x) buffer[i] = make_uint4(i, i, i, i);
    __syncthreads();
    uint32_t at = (uint32_t)__cvta_generic_to_shared(buffer + threadIdx.x), sum = 0;
    for (uint32_t r = 0; r < rounds; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            uint4 v;
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at + (k & 1) * 16384));
            sum += fold(v);
        }
    }
    if (sum == 0xffffffff) *sink = sum;
}

/// Follows `hops` links from *sink, one after the other, and leaves there where it is; a link is the
/// index of the next line of 128 bytes.
extern "C" __global__ void follow(const uint32_t* links, uint32_t hops, uint32_t* sink) {
    uint32_t at = *sink;
    for (uint32_t i = 0; i < hops; i++) {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(links + (uint64_t)at * 32));
    }
    *sink = at;
}

/// Follows links in shared memory.
extern "C" __global__ void follow_shared(uint32_t hops, uint32_t* sink) {
    __shared__ uint32_t links[1024];
    uint32_t base = (uint32_t)__cvta_generic_to_shared(links);
    for (uint32_t i = 0; i < 1024; i++) links[i] = base + ((i * 33 + 7) % 1024) * 4;
    uint32_t at = base;
    for (uint32_t i = 0; i < hops; i++) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at));
    }
    *sink = at;
}

// --- launches -----------------------------------------------------------------------------------

extern "C" __global__ void nothing() {}

/// Takes this many clocks.
extern "C" __global__ void spin(uint32_t clocks) {
    int64_t start = clock64();
    while (clock64() - start < clocks) {}
}

/// Every block waits for all others, `rounds` times. All blocks are resident; *count starts at 0.
extern "C" __global__ void barriers(uint32_t* count, uint32_t rounds) {
    for (uint32_t r = 1; r <= rounds; r++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t want = r * gridDim.x, seen;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
            do {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
            } while (seen < want);
        }
        __syncthreads();
    }
}

// --- scalar units: 8 independent chains of 16 in a round ------------------------------------------

#define CHAINS(NAME, TYPE, REG, START, STEP, ASM)                                                  \
    extern "C" __global__ void __launch_bounds__(1024) NAME(uint32_t rounds, uint32_t* sink) {     \
        Watch watch;                                                                               \
        TYPE x[8];                                                                                 \
        _Pragma("unroll") for (int i = 0; i < 8; i++) x[i] = (TYPE)(START + threadIdx.x + i);      \
        TYPE m = (TYPE)(STEP + blockIdx.x);                                                        \
        for (uint32_t r = 0; r < rounds; r++) {                                                    \
            _Pragma("unroll") for (int k = 0; k < 16; k++) {                                       \
                _Pragma("unroll") for (int i = 0; i < 8; i++) {                                    \
                    asm volatile(ASM : "+" REG(x[i]) : REG(m));                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        watch.stop(sink);                                                                          \
        TYPE sum = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];                          \
        if (sum == (TYPE)12345) *sink = 1;                                                         \
    }

CHAINS(fma_f32, float, "f", 1, 1, "fma.rn.f32 %0, %0, %1, %1;")
CHAINS(fma_f64, double, "d", 1, 1, "fma.rn.f64 %0, %0, %1, %1;")
CHAINS(fma_f16, uint32_t, "r", 1, 1, "fma.rn.f16x2 %0, %0, %1, %1;")
CHAINS(fma_bf16, uint32_t, "r", 1, 1, "fma.rn.bf16x2 %0, %0, %1, %1;")
CHAINS(exp2_f32, float, "f", 1, 1, "{ .reg .f32 t; ex2.approx.ftz.f32 %0, %0; }")
CHAINS(mad_s32, uint32_t, "r", 1, 3, "mad.lo.s32 %0, %0, %1, %1;")
CHAINS(cvt_bf16, uint32_t, "r", 1, 1, "{ .reg .f32 a, b; mov.b32 a, %0; mov.b32 b, %1; cvt.rn.bf16x2.f32 %0, a, b; }")

// --- the matrix unit: 64 x 256 x 32 bytes, both operands in shared memory, 128 B swizzle ----------

__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
    // start, leading offset (unused here), stride of 8 rows = 1024 B, swizzle of 128 B
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

#define R1(i) "+f"(d[i])
#define R4(i) R1(i), R1(i + 1), R1(i + 2), R1(i + 3)
#define R16(i) R4(i), R4(i + 4), R4(i + 8), R4(i + 12)
#define S1(i) "+r"(d[i])
#define S4(i) S1(i), S1(i + 1), S1(i + 2), S1(i + 3)
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)
#define F128 R16(0), R16(16), R16(32), R16(48), R16(64), R16(80), R16(96), R16(112)
#define I128 S16(0), S16(16), S16(32), S16(48), S16(64), S16(80), S16(96), S16(112)
#define LIST                                                                                       \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/// A block is two warpgroups, each with 64 rows of its own against the same 256 columns; `rounds`
/// of 4 steps of 32 bytes. `bits` fills the operands: it decides what the values, and so the power, are.
#define MATRIX(NAME, ACC, OPERANDS, SHAPE, SCALES)                                                 \
    extern "C" __global__ void __launch_bounds__(256) NAME(uint32_t rounds, const uint32_t* bits, uint32_t* sink) { \
        extern __shared__ __align__(1024) uint32_t tile[];                                         \
        for (uint32_t i = threadIdx.x; i < 12288; i += 256) tile[i] = bits[i];                     \
        asm volatile("fence.proxy.async;" ::: "memory");                                           \
        __syncthreads();                                                                           \
        uint32_t base = (uint32_t)__cvta_generic_to_shared(tile), group = threadIdx.x / 128;       \
        Watch watch;                                                                               \
        ACC d[128];                                                                                \
        _Pragma("unroll") for (int i = 0; i < 128; i++) d[i] = 0;                                  \
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                    \
        for (uint32_t r = 0; r < rounds; r++) {                                                    \
            _Pragma("unroll") for (int k = 0; k < 4; k++) {                                        \
                uint64_t a = descriptor(base + group * 8192 + k * 32);                             \
                uint64_t b = descriptor(base + 16384 + k * 32);                                    \
                asm volatile("{ wgmma.mma_async.sync.aligned." SHAPE " {" LIST "}, %128, %129, 1" SCALES "; }" \
                             : OPERANDS : "l"(a), "l"(b));                                         \
            }                                                                                      \
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                         \
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");                         \
        }                                                                                          \
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                             \
        watch.stop(sink);                                                                          \
        ACC sum = 0;                                                                               \
        _Pragma("unroll") for (int i = 0; i < 128; i++) sum += d[i];                               \
        if (sum == (ACC)12345) *sink = 1;                                                          \
    }

MATRIX(mma_bf16, float, F128, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0")
MATRIX(mma_f16, float, F128, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0")
MATRIX(mma_tf32, float, F128, "m64n256k8.f32.tf32.tf32", ", 1, 1")
MATRIX(mma_f8e4m3, float, F128, "m64n256k32.f32.e4m3.e4m3", ", 1, 1")
MATRIX(mma_f8e5m2, float, F128, "m64n256k32.f32.e5m2.e5m2", ", 1, 1")
MATRIX(mma_i8, uint32_t, I128, "m64n256k32.s32.s8.s8", "")
