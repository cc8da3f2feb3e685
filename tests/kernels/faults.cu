// Small kernels for tests of the checker and of the launches: correct ones, and ones with one known
// fault each. The twins that launch them are in faults.tf.

#include <cooperative_groups.h>
#include <cstdint>
#include <cuda.h>

namespace {

__device__ __forceinline__ uint32_t index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ void spin(int64_t cycles) {
    const int64_t start = clock64();
    while (clock64() - start < cycles) {
    }
}

__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

}  // namespace

// -- y = 2 x

extern "C" __global__ void scale(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = x[i] * 2.0f;
}

// The last element is not written.
extern "C" __global__ void scale_misses_tail(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i + 1 < n) y[i] = x[i] * 2.0f;
}

// Each element is written one place late: the first not at all, the last past the end.
extern "C" __global__ void scale_off_by_one(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i + 1] = x[i] * 2.0f;
}

// The result is right, and one element lies before its start.
extern "C" __global__ void scale_writes_before(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = x[i] * 2.0f;
    if (i == 0) *(y - 1) = 1.0f;
}

// The result is right, and one element lies past its end.
extern "C" __global__ void scale_writes_past(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = x[i] * 2.0f;
    if (i == 0) y[n] = 1.0f;
}

// The result is right, and an element of the input is another afterwards.
extern "C" __global__ void scale_writes_input(float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i >= n) return;
    const float v = x[i];
    y[i] = v * 2.0f;
    if (i == n / 3) x[i] = v + 1.0f;
}

// The element in the middle is NaN.
extern "C" __global__ void scale_makes_nan(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = i == n / 2 ? __int_as_float(0x7fc00000) : x[i] * 2.0f;
}

extern "C" __global__ void scale_traps(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i == n / 2) __trap();
    if (i < n) y[i] = x[i] * 2.0f;
}

// Reads an address that no allocation has.
extern "C" __global__ void scale_reads_illegal(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = x[i + ((uint64_t)1 << 45)] * 2.0f;
}

// Reads 16 bytes at an address that is no multiple of 16, and needs them all.
extern "C" __global__ void scale_misaligned(const float* x, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i >= n) return;
    float v[4];
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(x + (n - 999)));
    y[i] = v[0] + v[1] + v[2] + v[3];
}

// Waits for a flag that nobody sets. It gives up after `seconds`, so that no device hangs.
extern "C" __global__ void scale_never_ends(const float* x, float* y, const uint32_t* flag, uint32_t n,
                                            uint32_t seconds) {
    const uint32_t i = index();
    uint64_t start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (*(const volatile uint32_t*)flag == 0 && now - start < seconds * 1000000000ull);
    if (i < n) y[i] = x[i] * 2.0f;
}

// -- y = a - b: the fault is the twin's, which may swap the operands

extern "C" __global__ void subtract(const float* a, const float* b, float* y, uint32_t n) {
    const uint32_t i = index();
    if (i < n) y[i] = a[i] - b[i];
}

// -- sums of rows: a block of 256 threads for a row

extern "C" __global__ void row_sums(const float* x, float* y, uint32_t columns) {
    __shared__ float part[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* row = x + (size_t)blockIdx.x * columns;
    float s = 0.0f;
    for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) s += row[i];
    s = warp_sum(s);
    if (lane == 0) part[warp] = s;
    __syncthreads();
    if (warp == 0) {
        s = warp_sum(lane < 8 ? part[lane] : 0.0f);
        if (lane == 0) y[blockIdx.x] = s;
    }
}

// The columns past the last full 256 are not added.
extern "C" __global__ void row_sums_misses_tail(const float* x, float* y, uint32_t columns) {
    __shared__ float part[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* row = x + (size_t)blockIdx.x * columns;
    float s = 0.0f;
    for (uint32_t i = threadIdx.x; i < columns / 256 * 256; i += 256) s += row[i];
    s = warp_sum(s);
    if (lane == 0) part[warp] = s;
    __syncthreads();
    if (warp == 0) {
        s = warp_sum(lane < 8 ? part[lane] : 0.0f);
        if (lane == 0) y[blockIdx.x] = s;
    }
}

// The barrier between the parts and their sum is missing. The last warp comes late by a time that
// moves from block to block and run to run, and the first one reads after a fixed time, so in every
// run some of the rows lack a part, and other ones in the next.
extern "C" __global__ void row_sums_races(const float* x, float* y, uint32_t columns) {
    __shared__ float part[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* row = x + (size_t)blockIdx.x * columns;
    if (threadIdx.x < 8) part[threadIdx.x] = 0.0f;
    __syncthreads();
    float s = 0.0f;
    for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) s += row[i];
    s = warp_sum(s);
    if (warp == 7) {
        uint64_t now;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        const uint64_t mixed = (now + clock64() + blockIdx.x) * 0x9e3779b97f4a7c15ull;
        spin((mixed >> 40) % 40000);
    }
    if (lane == 0) *(volatile float*)(part + warp) = s;
    if (warp == 0) {
        spin(20000);
        s = warp_sum(lane < 8 ? *(volatile float*)(part + lane) : 0.0f);
        if (lane == 0) y[blockIdx.x] = s;
    }
}

// -- sums of rows by two launches: four parts of each row, then their sums

extern "C" __global__ void row_parts(const float* x, float* parts, uint32_t columns) {
    const uint32_t size = (columns + 3) / 4, lane = threadIdx.x;
    const uint32_t from = blockIdx.y * size, to = min(from + size, columns);
    float s = 0.0f;
    for (uint32_t i = from + lane; i < to; i += 32) s += x[(size_t)blockIdx.x * columns + i];
    s = warp_sum(s);
    if (lane == 0) parts[blockIdx.x * 4 + blockIdx.y] = s;
}

extern "C" __global__ void sum_parts(const float* parts, float* y, uint32_t rows) {
    const uint32_t i = index();
    if (i < rows) y[i] = (parts[4 * i] + parts[4 * i + 1]) + (parts[4 * i + 2] + parts[4 * i + 3]);
}

// -- sums of rows by a cluster of four blocks of 32: the first reads the others' shared memory

extern "C" __global__ void row_sums_cluster(const float* x, float* y, uint32_t columns) {
    namespace cg = cooperative_groups;
    __shared__ float part;
    const cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), n = cluster.num_blocks();
    const size_t row = blockIdx.x / n;
    float s = 0.0f;
    for (uint32_t i = rank * 32 + threadIdx.x; i < columns; i += n * 32) s += x[row * columns + i];
    s = warp_sum(s);
    if (threadIdx.x == 0) part = s;
    cluster.sync();
    if (rank == 0 && threadIdx.x == 0) {
        float all = 0.0f;
        for (uint32_t i = 0; i < n; i++) all += *cluster.map_shared_rank(&part, i);
        y[row] = all;
    }
    cluster.sync();
}

// -- total += x, in place

extern "C" __global__ void add_to(float* total, const float* x, uint32_t n) {
    const uint32_t i = index();
    if (i < n) total[i] += x[i];
}

// -- y = w x, with w laid out by columns

extern "C" __global__ void project(const float* x, const float* w_t, float* y, uint32_t inputs,
                                   uint32_t outputs) {
    const uint32_t m = index();
    if (m >= outputs) return;
    float s = 0.0f;
    for (uint32_t i = 0; i < inputs; i++) s += x[i] * w_t[(size_t)i * outputs + m];
    y[m] = s;
}

// -- y = x / sum(x^2), in one cooperative launch: blocks meet at a barrier over the grid

extern "C" __global__ void normalize(const float* x, float* parts, float* y, uint32_t n) {
    __shared__ float part[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float s = 0.0f;
    for (uint32_t i = index(); i < n; i += gridDim.x * blockDim.x) s += x[i] * x[i];
    s = warp_sum(s);
    if (lane == 0) part[warp] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = 0.0f;
        for (uint32_t i = 0; i < blockDim.x / 32; i++) s += part[i];
        parts[blockIdx.x] = s;
    }
    cooperative_groups::this_grid().sync();
    float total = 0.0f;
    for (uint32_t i = 0; i < gridDim.x; i++) total += __ldcg(parts + i);
    for (uint32_t i = index(); i < n; i += gridDim.x * blockDim.x) y[i] = x[i] / total;
}

// -- rows reversed, through dynamic shared memory of a whole row

extern "C" __global__ void reverse_rows(const float* x, float* y, uint32_t columns) {
    extern __shared__ float row[];
    const size_t at = (size_t)blockIdx.x * columns;
    for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) row[i] = x[at + i];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) y[at + i] = row[columns - 1 - i];
}

// -- y = 2 x for a matrix whose tiles of 8 x 32 come through a tensor map, swizzled by 128 bytes.
// The map's bounds give zeros past the last row.

extern "C" __global__ void scale_tiles(const __grid_constant__ CUtensorMap x, float* y, uint32_t rows,
                                       uint32_t columns) {
    __shared__ __align__(1024) float tile[8 * 32];
    __shared__ __align__(8) uint64_t ready;
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(tile);
    const uint32_t barrier = (uint32_t)__cvta_generic_to_shared(&ready);
    const uint32_t r = threadIdx.x / 32, c = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier)
                     : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"((uint32_t)sizeof tile)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
            "%3}], [%4];" ::"r"(to),
            "l"(&x), "r"(blockIdx.x * 32), "r"(blockIdx.y * 8), "r"(barrier)
            : "memory");
    }
    __syncthreads();
    asm volatile(
        "{\n\t.reg .pred done;\n"
        "again_%=:\n\tmbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n\t"
        "@!done bra again_%=;\n\t}" ::"r"(barrier)
        : "memory");
    const float v = tile[r * 32 + ((c / 4) ^ r) * 4 + c % 4];
    const uint32_t row = blockIdx.y * 8 + r, column = blockIdx.x * 32 + c;
    if (row < rows && column < columns) y[(size_t)row * columns + column] = v * 2.0f;
}
