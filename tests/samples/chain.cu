// The kernel of the twin in chain.tf: 32 x 8 blocks of 8 x 32 threads, each block 128 rows of 256
// columns. Every op rounds once, as in the module.

#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256) chain(const __half2 *x, __half2 *out) {
    constexpr unsigned row_pairs = 2048 / 2;
    for (unsigned r = threadIdx.y; r < 128; r += 32) {
        unsigned row = blockIdx.x * 128 + r;
        for (unsigned c = threadIdx.x; c < 128; c += 8) {
            unsigned i = row * row_pairs + blockIdx.y * 128 + c;
            __half2 v = x[i];
            out[i] = __hmul2_rn(__hadd2_rn(__hmul2_rn(v, v), v), v);
        }
    }
}
