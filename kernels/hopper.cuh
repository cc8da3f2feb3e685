// What the hand-written kernels for sm_90a share: barriers in shared memory, the tensor copy engine, and
// the matrix instructions of a warpgroup, each one PTX instruction or two.

#pragma once
#include <stdint.h>

/// A `CUtensorMap`, which the driver encodes and only the copy engine reads.
struct alignas(64) TensorMap {
    uint8_t opaque[128];
};

__device__ __forceinline__ uint32_t smem_address(const void* p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

/// Whether this thread is the one of its converged warp that acts for it.
__device__ __forceinline__ bool elected() {
    uint32_t yes;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(yes));
    return yes;
}

// --- barriers -----------------------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(uint32_t at, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

/// Initialised barriers are seen by the cluster and by the copy engine.
__device__ __forceinline__ void barrier_init_done() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Waits until the phase with this parity is over.
__device__ __forceinline__ void barrier_wait(uint32_t at, uint32_t parity) {
    asm volatile("{\n.reg .pred done;\n"
                 "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\nbra again;\nover:\n}" ::"r"(at), "r"(parity) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}

/// Arrives at the barrier that CTA `rank` of the cluster has at this address.
__device__ __forceinline__ void barrier_arrive_at(uint32_t at, uint32_t rank) {
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(at), "r"(rank)
                 : "memory");
}

/// Arrives, and lets the phase wait for this many bytes of copies.
__device__ __forceinline__ void barrier_expect(uint32_t at, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ uint32_t cluster_rank() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

/// A barrier of some warps of the CTA: 0 is __syncthreads.
__device__ __forceinline__ void warps_sync(uint32_t id, uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// A place in a ring of N buffers, and how often it went around: the parity for those who wait until a buffer
/// is full; of one that is to be emptied the parity is the other.
template <uint32_t N>
struct Ring {
    uint32_t at = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++at == N) {
            at = 0;
            parity ^= 1;
        }
    }
};

// --- tensor copies ------------------------------------------------------------------------------

__device__ __forceinline__ void prefetch(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// A box at column x and row y, into this CTA.
__device__ __forceinline__ void load_2d(uint32_t to, const TensorMap& map, uint32_t bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y)
                 : "memory");
}

/// The same into every CTA of the mask, each at the same address and on its own barrier.
__device__ __forceinline__ void load_2d(uint32_t to, const TensorMap& map, uint32_t bar, int x, int y, uint16_t mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "h"(mask)
                 : "memory");
}

__device__ __forceinline__ void load_4d(uint32_t to, const TensorMap& map, uint32_t bar, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}

__device__ __forceinline__ void store_2d(const TensorMap& map, uint32_t from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(&map), "r"(from), "r"(x), "r"(y)
                 : "memory");
}

__device__ __forceinline__ void store_4d(const TensorMap& map, uint32_t from, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}

__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until at most N committed groups have yet to be read from shared memory.
template <int N>
__device__ __forceinline__ void store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/// What this thread wrote to shared memory is seen by the copy engine and the matrix unit.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Four 8 x 8 matrices of 16-bit elements; lane 8i + r gives the address of row r of matrix i.
__device__ __forceinline__ void store_matrices(uint32_t at, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

// --- the matrix unit ----------------------------------------------------------------------------

template <int REGS>
__device__ __forceinline__ void registers_down() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGS));
}

template <int REGS>
__device__ __forceinline__ void registers_up() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGS));
}

/// A matrix in shared memory with rows of 128 bytes, swizzled in groups of 8 rows, 1024 bytes apart. Columns
/// of a matrix that is read transposed go on `next` bytes further after each 128 bytes.
__device__ __forceinline__ uint64_t matrix(uint32_t at, uint32_t next = 0) {
    const uint64_t swizzle_128 = 1;
    return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)(next >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           swizzle_128 << 62;
}

__device__ __forceinline__ void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most N committed groups are running.
template <int N>
__device__ __forceinline__ void mma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/// Keeps uses of the registers on their side of this point: the compiler does not know that a product is
/// still running when its instruction is done.
template <int N>
__device__ __forceinline__ void pin(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// the first 64 and 128 operands of an instruction
#define MMA_LIST_64 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MMA_LIST_128 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MMA_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define MMA_16(d, i) MMA_4(d, i), MMA_4(d, (i) + 4), MMA_4(d, (i) + 8), MMA_4(d, (i) + 12)
#define MMA_64(d, i) MMA_16(d, i), MMA_16(d, (i) + 16), MMA_16(d, (i) + 32), MMA_16(d, (i) + 48)

/// d[64, 256] (+)= a[64, 16] b[256, 16]^T
__device__ __forceinline__ void mma_bf16(float (&d)[128], uint64_t a, uint64_t b, uint32_t add) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" MMA_LIST_128 "}, %128, %129, p, 1, 1, 0, 0; }"
                 : MMA_64(d, 0), MMA_64(d, 64)
                 : "l"(a), "l"(b), "r"(add));
}

/// d[64, 128] (+)= a[64, 16] b[128, 16]^T
__device__ __forceinline__ void mma_f16(float (&d)[64], uint64_t a, uint64_t b, uint32_t add) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" MMA_LIST_64 "}, %64, %65, p, 1, 1, 0, 0; }"
                 : MMA_64(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

/// d[64, 128] (+)= a[64, 16] b[16, 128], with a in registers
__device__ __forceinline__ void mma_f16_transposed(float (&d)[64], const uint32_t* a, uint64_t b, uint32_t add) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" MMA_LIST_64 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
                 : MMA_64(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
