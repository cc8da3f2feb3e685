// Kernels of a toy language model, for loops over a twin (lm.tf): correct ones, and ones with one known
// fault each.

#include <cstdint>

namespace {

// The row of a token, thread by thread.
__device__ __forceinline__ void take(const int* token, const float* table, float* row, uint32_t h) {
    for (uint32_t i = threadIdx.x; i < h; i += blockDim.x) row[i] = table[*token * h + i];
}

// Logits of all tokens, and the first of the largest ones. One block of at most 128 threads.
__device__ __forceinline__ int best(const float* seen, const float* table, float* logits, uint32_t v, uint32_t h) {
    __shared__ float top[128];
    __shared__ int at[128];
    float m = -INFINITY;
    int mine = 0;
    for (uint32_t t = threadIdx.x; t < v; t += blockDim.x) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < h; ++i) {
            const float x = seen[i];
            sum += (x - floorf(x / 13.0f) * 13.0f - 6.0f) * table[t * h + i];
        }
        logits[t] = sum;
        if (sum > m) {
            m = sum;
            mine = t;
        }
    }
    top[threadIdx.x] = m;
    at[threadIdx.x] = mine;
    __syncthreads();
    int next = 0;
    m = -INFINITY;
    for (uint32_t i = 0; i < blockDim.x; ++i) {
        if (top[i] > m || (top[i] == m && at[i] < next)) {
            m = top[i];
            next = at[i];
        }
    }
    return next;
}

}  // namespace

extern "C" __global__ void append(const int* token, const float* table, float* row, uint32_t h) {
    take(token, table, row, h);
}

// The row behind the one that is given is written too: with a full cache, past its end.
extern "C" __global__ void append_past(const int* token, const float* table, float* row, uint32_t h) {
    take(token, table, row, h);
    row[h + threadIdx.x] = 1.0f;
}

// Reads where nothing lies, for all tokens but the first.
extern "C" __global__ void append_lost(const int* token, const float* table, float* row, uint32_t h) {
    take(token, table, row, h);
    if (*token != 0) row[threadIdx.x] += *reinterpret_cast<const float*>(static_cast<uintptr_t>(16));
}

extern "C" __global__ void few(const float* c, float* seen, uint32_t n, uint32_t h) {
    for (uint32_t i = threadIdx.x; i < h; i += blockDim.x) {
        float sum = 0.0f;
        for (uint32_t r = 0; r < n; ++r) sum += c[r * h + i];
        seen[i] = sum;
    }
}

// A block for each row.
extern "C" __global__ void rows(const float* c, float* part, uint32_t n, uint32_t h) {
    const uint32_t r = blockIdx.x;
    for (uint32_t i = threadIdx.x; i < h; i += blockDim.x) part[r * h + i] = c[r * h + i];
}

extern "C" __global__ void add(const float* part, float* seen, uint32_t n, uint32_t h) {
    for (uint32_t i = threadIdx.x; i < h; i += blockDim.x) {
        float sum = 0.0f;
        for (uint32_t r = n; r > 0; --r) sum += part[(r - 1) * h + i];
        seen[i] = sum;
    }
}

extern "C" __global__ void head(const float* seen, const float* table, float* logits, int* next, uint32_t v,
                                uint32_t h) {
    const int n = best(seen, table, logits, v, h);
    if (threadIdx.x == 0) *next = n;
}

// The next token is one that does not exist.
extern "C" __global__ void head_far(const float* seen, const float* table, float* logits, int* next, uint32_t v,
                                    uint32_t h) {
    best(seen, table, logits, v, h);
    if (threadIdx.x == 0) *next = v;
}
