// The elementwise chain of chain.tf: (x * x + x) * x, each op rounded to f16.
//
// A CTA takes BYTES of x in PARTS: one thread starts the bulk copies into shared memory, all threads
// compute a part in place as soon as it is there, and one thread starts its bulk copy out. The copies
// hold the bytes in flight, so that few threads do.

#include <cstdint>

namespace {

constexpr int BYTES = 16384;
constexpr int PARTS = 2;
constexpr int THREADS = 128;
constexpr int PART = BYTES / PARTS;
static_assert(PART % (THREADS * 16) == 0, "a part is whole vectors of every thread");

// Two elements. `.rn` keeps the product and the sum from becoming one fma, which rounds once less.
__device__ __forceinline__ uint32_t chain2(uint32_t x) {
    uint32_t y;
    asm("{\n\t.reg .b32 t;\n\t"
        "mul.rn.f16x2 t, %1, %1;\n\t"
        "add.rn.f16x2 t, t, %1;\n\t"
        "mul.rn.f16x2 %0, t, %1;\n\t}"
        : "=r"(y)
        : "r"(x));
    return y;
}

__device__ __forceinline__ void wait(uint32_t barrier) {
    asm volatile(
        "{\n\t.reg .pred done;\n"
        "again_%=:\n\tmbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n\t"
        "@!done bra again_%=;\n\t}" ::"r"(barrier)
        : "memory");
}

}  // namespace

// As many CTAs as there are BYTES in x.
extern "C" __global__ void __launch_bounds__(THREADS) chain(const char* x, char* y) {
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ __align__(8) uint64_t arrived[PARTS];
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(tile);
    const uint32_t barrier = (uint32_t)__cvta_generic_to_shared(arrived);
    const size_t base = (size_t)blockIdx.x * BYTES;

    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier + 8 * i) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier + 8 * i),
                         "r"(PART)
                         : "memory");
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                "[%3];" ::"r"(to + i * PART),
                "l"(x + base + i * PART), "r"(PART), "r"(barrier + 8 * i)
                : "memory");
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        wait(barrier + 8 * i);
#pragma unroll
        for (int j = 0; j < PART; j += THREADS * 16) {
            uint4* at = (uint4*)(tile + i * PART + j) + threadIdx.x;
            const uint4 v = *at;
            *at = make_uint4(chain2(v.x), chain2(v.y), chain2(v.z), chain2(v.w));
        }
        // what ordinary stores wrote is read by the copy
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                             y + base + i * PART),
                         "r"(to + i * PART), "r"(PART)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    // shared memory stays until it was read
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
