// Kernels whose images the tests of `src/twin/image` read. `scripts/build-kernels.sh` rebuilds the
// PTX; the cubins, with the same compiler:
//     for a in 80 90a 100; do nvcc -std=c++17 -O3 -arch=sm_$a -cubin -o kernels.sm_$a.cubin kernels.cu; done
// and kernels.sm_90a.old.cubin, whose flags are laid out as before CUDA 13, with ptxas 12.8 from
// the PTX, its `.version` set to 8.7.

struct alignas(64) Map {
    unsigned char bytes[128];
};

struct Odd {
    int a[5];
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(2, 1, 1)
#else
#define CLUSTER
#endif

// 1024 bytes of static shared memory
extern "C" __global__ void __launch_bounds__(128)
    scale(const float *x, float *y, unsigned n, float s, long long offset) {
    __shared__ float tile[256];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i + offset] = tile[127 - threadIdx.x] * s;
}

extern "C" __global__ void CLUSTER __launch_bounds__(256)
    mapped(const __grid_constant__ Map m, float *y, Odd odd, char c) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = m.bytes[threadIdx.x & 127];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1] + odd.a[threadIdx.x % 5] + c;
}

__global__ void fill(float *y, int n) {
    y[threadIdx.x] = n;
}
