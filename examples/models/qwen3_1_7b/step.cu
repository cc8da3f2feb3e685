// One greedy decode step of a Qwen3 model in bf16 at batch 1. A layer is one cooperative launch.
//
// A step reads every weight once, so the kernels are built around that stream. Each CTA has eight warps
// that multiply, each with a ring in shared memory, and a warp that fills the rings by bulk copies with
// the rows they will multiply, in the order of their work: to the end of the layer, across the barriers
// of the grid. Weights need no result, so memory keeps sending while the grid waits for a product, and
// what comes after the barrier lies in shared memory already. Few copies are under way at a time: the
// grid's own messages would wait behind them. Rows are dealt two at a time to the CTAs and, within one,
// to its warps; the deal of a product goes on where the last one's ended, so that all CTAs have the same
// share of a layer.
//
// A launch runs its code once and has to fetch it, so short code is fast here: the products of a layer
// are one loop, and little is unrolled.
//
// Heads have 128 features and each KV head serves two query heads; all other sizes are arguments. Row
// lengths are multiples of 128. Values are rounded to bf16 where the module's ops give bf16.

#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_bf16.h>

namespace {

using bf16 = __nv_bfloat16;

constexpr int D = 128;                // features of a head
constexpr int G = 2;                  // query heads of a KV head
constexpr int WARPS = 8;              // that multiply; one more copies
constexpr int THREADS = WARPS * 32;   // of those that multiply
constexpr int BLOCK = THREADS + 32;
constexpr int CHUNK = 2048;           // elements of a row in one copy
constexpr int SLOT = 2 * CHUNK * 2;   // bytes: a chunk of two rows
constexpr int SLOTS = 3;
constexpr int RING = SLOTS * SLOT;    // of a warp
constexpr int UNDER_WAY = 1;          // slots of a ring that are being filled, at most
constexpr int STATE = G * D + 2 * G;  // a softmax state: weighted values, maxima, sums

static_assert(G * D == THREADS, "a thread has one value of the KV head's result");

__device__ __forceinline__ uint32_t shared_address(const void* p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ float lo(uint32_t w) { return __uint_as_float(w << 16); }
__device__ __forceinline__ float hi(uint32_t w) { return __uint_as_float(w & 0xffff0000u); }

__device__ __forceinline__ float round_bf16(float v) { return __bfloat162float(__float2bfloat16_rn(v)); }

__device__ __forceinline__ uint32_t pack(float lo, float hi) {
    uint32_t d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
    return d;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int i = 16; i > 0; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);
    return v;
}

__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Of the warps that multiply.
__device__ __forceinline__ void block_barrier() {
    asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

// Of the warps that multiply in the whole grid. The driver gives a cooperative launch a word for its
// barriers: the first CTA adds so much that the highest bit changes when the last one has come. The
// library's own barrier is of all warps of a CTA.
__device__ __forceinline__ void grid_barrier() {
    block_barrier();
    if (threadIdx.x == 0) {
        uint32_t* word = &cooperative_groups::details::get_grid_workspace()->barrier;
        const uint32_t add = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
        uint32_t before, now;
        asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(word), "r"(add)
                     : "memory");
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
        while (((before ^ now) & 0x80000000u) == 0);
    }
    block_barrier();
}

// -- the stream of weights

// A product of a layer, in the order of the stream.
enum Product { QKV, OUT, GATE_UP, DOWN };

// The weights of a layer as pairs of rows that one warp multiplies.
struct LayerWeights {
    const bf16 *q, *k, *v, *o, *gate, *up, *down;
    uint32_t hidden, inner, queries, keys;  // extents; queries and keys are of all heads
    int first, end;                         // products that the launch makes

    __device__ __forceinline__ uint32_t pairs(int product) const {
        return product == QKV       ? (queries + 2 * keys) / 2
               : product == GATE_UP ? inner
                                    : hidden / 2;
    }
    __device__ __forceinline__ uint32_t length(int product) const {
        return product == OUT ? queries : product == DOWN ? inner : hidden;
    }
    __device__ __forceinline__ void rows(int product, uint32_t pair, const bf16*& a,
                                         const bf16*& b) const {
        const size_t n = length(product);
        if (product == GATE_UP) {
            a = gate + pair * n;
            b = up + pair * n;
            return;
        }
        uint32_t row = 2 * pair;
        const bf16* of = product == OUT ? o : product == DOWN ? down : q;
        if (product == QKV && row >= queries) {
            row -= queries;
            of = k;
            if (row >= keys) {
                row -= keys;
                of = v;
            }
        }
        a = of + row * n;
        b = a + n;
    }
};

// The rows of the output head.
struct HeadWeights {
    const bf16* table;
    uint32_t vocabulary, hidden;
    int first, end;

    __device__ __forceinline__ uint32_t pairs(int) const { return (vocabulary + 1) / 2; }
    __device__ __forceinline__ uint32_t length(int) const { return hidden; }
    // of an odd number the last row comes twice
    __device__ __forceinline__ void rows(int, uint32_t pair, const bf16*& a, const bf16*& b) const {
        a = table + (size_t)(2 * pair) * hidden;
        b = 2 * pair + 1 < vocabulary ? a + hidden : a;
    }
};

// Where a warp is in the weights: a product, the CTA where its deal starts, a pair, an element.
template <class W>
struct Cursor {
    const W& w;
    int product;
    uint32_t start, pair, at, warp;

    __device__ __forceinline__ Cursor(const W& w, int product, uint32_t warp)
        : w(w), product(product), start(0), at(0), warp(warp) {
        for (int p = w.first; p < product; p++) start += w.pairs(p);
        start %= gridDim.x;
        pair = first();
    }

    // This warp's first pair of the product.
    __device__ __forceinline__ uint32_t first() const {
        return blockIdx.x + (blockIdx.x < start ? gridDim.x : 0) - start + gridDim.x * warp;
    }
    __device__ __forceinline__ uint32_t chunk() const {
        return min((uint32_t)CHUNK, w.length(product) - at);
    }
    __device__ __forceinline__ bool end() const { return product >= w.end; }

    // To the next product in which this warp has a pair.
    __device__ __forceinline__ void skip() {
        while (!end() && pair >= w.pairs(product)) {
            start = (start + w.pairs(product)) % gridDim.x;
            product++;
            pair = first();
        }
    }
    __device__ __forceinline__ void next() {
        at += CHUNK;
        if (at < w.length(product)) return;
        at = 0;
        pair += gridDim.x * WARPS;
        skip();
    }
};

// The rings of a CTA. A slot's first barrier is passed when a copy has filled it, its second one when
// its warp has read it.
struct Rings {
    uint64_t barriers[WARPS][SLOTS][2];
};

__device__ __forceinline__ bool passed(uint32_t barrier, uint32_t parity) {
    uint32_t yes;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(yes)
        : "r"(barrier), "r"(parity)
        : "memory");
    return yes;
}

// What fills the rings: lane i of the copying warp has the ring of warp i.
template <class W>
struct Copies {
    const W& w;
    Cursor<W> cursor;  // of the copy to come
    uint32_t to, barriers;
    uint32_t n = 0;  // copies so far
    uint64_t policy;

    __device__ __forceinline__ Copies(const W& w, const unsigned char* rings, Rings& shared)
        : w(w), cursor(w, w.first, threadIdx.x % 32) {
        const uint32_t lane = threadIdx.x % 32;
        to = shared_address(rings) + lane * RING;
        barriers = shared_address(shared.barriers) + lane * (SLOTS * 16);
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    }

    __device__ __forceinline__ void init() {
        if (threadIdx.x % 32 >= WARPS) return;
        for (int i = 0; i < 2 * SLOTS; i++)
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * i) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }

    // All copies, each when its slot is free and few are under way.
    __device__ __forceinline__ void run() {
        if (threadIdx.x % 32 >= WARPS) return;
        cursor.skip();
        while (!cursor.end()) {
            const uint32_t before = n - UNDER_WAY;
            if ((n < UNDER_WAY || passed(barriers + before % SLOTS * 16, before / SLOTS & 1)) &&
                (n < SLOTS || passed(barriers + n % SLOTS * 16 + 8, (n / SLOTS & 1) ^ 1)))
                copy();
        }
    }

    __device__ __forceinline__ void copy() {
        const uint32_t elements = cursor.chunk(), slot = n % SLOTS;
        const bf16 *a, *b;
        w.rows(cursor.product, cursor.pair, a, b);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barriers + slot * 16),
                     "r"(4 * elements)
                     : "memory");
        copy(slot, 0, a + cursor.at, 2 * elements);
        copy(slot, SLOT / 2, b + cursor.at, 2 * elements);
        n++;
        cursor.next();
    }

    __device__ __forceinline__ void copy(uint32_t slot, uint32_t at, const bf16* from, uint32_t bytes) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
            "[%1], %2, [%3], %4;" ::"r"(to + slot * SLOT + at),
            "l"(from), "r"(bytes), "r"(barriers + slot * 16), "l"(policy)
            : "memory");
    }
};

// What a warp that multiplies takes from its ring.
template <class W>
struct Stream {
    const W& w;
    const unsigned char* ring;
    uint32_t barriers, lane, warp;
    int slot = 0;
    uint32_t parity = 0;

    __device__ __forceinline__ Stream(const W& w, const unsigned char* rings, Rings& shared)
        : w(w), lane(threadIdx.x % 32), warp(threadIdx.x / 32) {
        ring = rings + warp * RING;
        barriers = shared_address(shared.barriers) + warp * (SLOTS * 16);
    }

    // Waits for the oldest copy.
    __device__ __forceinline__ const unsigned char* take() const {
        asm volatile(
            "{\n\t.reg .pred p;\n"
            "again:\n\t"
            "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t"
            "@!p bra again;\n\t}" ::"r"(barriers + slot * 16),
            "r"(parity)
            : "memory");
        return ring + slot * SLOT;
    }

    // Gives its slot to the next one.
    __device__ __forceinline__ void release() {
        __syncwarp();
        if (lane == 0)
            asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barriers + slot * 16 + 8)
                         : "memory");
        slot = slot == SLOTS - 1 ? 0 : slot + 1;
        parity ^= slot == 0;
    }
};

// d += a b with rows 8 to 15 of a zero.
__device__ __forceinline__ void mma(float (&d)[4], uint32_t a0, uint32_t a2, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(0), "r"(a2), "r"(0), "r"(b0), "r"(b1));
}

// Two rows by x, on the tensor cores. A block of 256 elements is cut into eight segments of 32: they are
// the columns of b for a row of weights, and the rows of a for x. A sum over elements is the same in any
// order, so that each lane takes 16 bytes as they lie. What is wanted of d is its diagonal.
struct Products {
    float d[2][2][4] = {};

    __device__ __forceinline__ void add(int row, uint4 w, uint4 x) {
        mma(d[row][0], x.x, x.y, w.x, w.y);
        mma(d[row][1], x.z, x.w, w.z, w.w);
    }
    __device__ __forceinline__ float diagonal(int row, int lane) const {
        const int segment = lane / 4, c = lane % 4;
        const float v = segment % 2 ? d[row][0][1] + d[row][1][1] : d[row][0][0] + d[row][1][0];
        return c == segment / 2 ? v : 0.0f;
    }

    // The sums of the two rows, in lane 0.
    __device__ __forceinline__ float2 sums(int lane) const {
        const float a = diagonal(0, lane), b = diagonal(1, lane);
        // the first half of the warp sums the one row, the second the other
        float v = (lane < 16 ? a : b) + __shfl_xor_sync(0xffffffffu, lane < 16 ? b : a, 16);
#pragma unroll
        for (int i = 8; i > 0; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);
        return make_float2(v, __shfl_sync(0xffffffffu, v, 16));
    }
};

// Multiplies this warp's pairs of rows by x, which lies in shared memory; lane 0 hands over each
// pair's two sums.
template <class W, class Done>
__device__ __forceinline__ void multiply_rows(Stream<W>& s, int product, const bf16* x, Done done) {
    const uint32_t pairs = s.w.pairs(product), length = s.w.length(product);
#pragma unroll 1
    for (uint32_t pair = Cursor<W>(s.w, product, s.warp).first(); pair < pairs;
         pair += gridDim.x * WARPS) {
        Products p;
#pragma unroll 1
        for (uint32_t k = 0; k < length; k += CHUNK) {
            const uint4* wa = (const uint4*)s.take();
            const uint4* wb = wa + SLOT / 32;
            const uint4* xs = (const uint4*)(x + k);
            const uint32_t n = min((uint32_t)CHUNK, length - k) / 8;
            if (n % 32 == 0) {
#pragma unroll 4
                for (uint32_t i = s.lane; i < n; i += 32) {
                    const uint4 xv = xs[i], av = wa[i], bv = wb[i];
                    p.add(0, av, xv);
                    p.add(1, bv, xv);
                }
            } else {
#pragma unroll 1
                for (uint32_t i = s.lane; i - s.lane < n; i += 32) {
                    uint4 xv = {}, av = {}, bv = {};
                    if (i < n) {
                        xv = xs[i];
                        av = wa[i];
                        bv = wb[i];
                    }
                    p.add(0, av, xv);
                    p.add(1, bv, xv);
                }
            }
            s.release();
        }
        const float2 sums = p.sums(s.lane);
        if (s.lane == 0) done(pair, sums.x, sums.y);
    }
}

// -- vectors in shared memory

// What a CTA keeps beside its rings.
struct Vectors {
    bf16* x;      // of the next product
    bf16* h;      // the residual stream
    bf16* scale;  // of the next norm

    __device__ Vectors(unsigned char* smem, uint32_t hidden, uint32_t longest) {
        x = (bf16*)(smem + WARPS * RING);
        h = x + longest;
        scale = h + hidden;
    }
};

// A value that its reader waits for: bf16 above a mark. Words are 0 before.
constexpr uint32_t MARK = 0x5a17;

__device__ __forceinline__ uint32_t marked(float v) { return (pack(0.0f, v) & 0xffff0000u) | MARK; }

__device__ __forceinline__ void clear(uint32_t* words, uint32_t n) {
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) words[i] = 0;
}

// Four values when all of them are there.
__device__ __forceinline__ uint2 wait_for(const uint32_t* words) {
    uint32_t a, b, c, d;
    do asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                    : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                    : "l"(words)
                    : "memory");
    while ((((a ^ MARK) | (b ^ MARK) | (c ^ MARK) | (d ^ MARK)) & 0xffffu) != 0);
    return make_uint2(__byte_perm(a, b, 0x7632), __byte_perm(c, d, 0x7632));
}

// A vector in global memory, of bf16 or of marked words.
struct Source {
    const bf16* values;
    const uint32_t* words;

    __device__ __forceinline__ uint4 eight(uint32_t i) const {
        if (!words) return __ldcg((const uint4*)values + i);
        const uint2 a = wait_for(words + 8 * i), b = wait_for(words + 8 * i + 4);
        return make_uint4(a.x, a.y, b.x, b.y);
    }
};

// x, from global memory.
__device__ __forceinline__ void load(const Vectors& at, const Source& from, uint32_t n) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < n / 8; i += THREADS) ((uint4*)at.x)[i] = from.eight(i);
    block_barrier();
}

// Up to 32 KiB.
__device__ __forceinline__ void prefetch(const void* from, uint32_t bytes) {
    const uint32_t at = threadIdx.x * 128;
    if (at < bytes) asm volatile("prefetch.global.L2 [%0];" ::"l"((const char*)from + at));
}

__device__ __forceinline__ float square_sum(uint32_t w) {
    return fmaf(lo(w), lo(w), hi(w) * hi(w));
}

__device__ __forceinline__ uint32_t scaled(uint32_t v, float r, uint32_t w) {
    return pack(round_bf16(lo(v) * r) * lo(w), round_bf16(hi(v) * r) * hi(w));
}

// h, from global memory, and x, its RMS norm.
__device__ __forceinline__ void norm(const Vectors& at, const Source& from, const bf16* scale, uint32_t n,
                                     float eps, float* sums) {
    float s = 0.0f;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < n / 8; i += THREADS) {
        const uint4 v = from.eight(i);
        const uint4 w = __ldg((const uint4*)scale + i);
        ((uint4*)at.h)[i] = v;
        ((uint4*)at.scale)[i] = w;
        s += square_sum(v.x) + square_sum(v.y) + square_sum(v.z) + square_sum(v.w);
    }
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = s;
    block_barrier();
    s = 0.0f;
#pragma unroll
    for (int i = 0; i < WARPS; i++) s += sums[i];
    const float r = rsqrtf(s / n + eps);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < n / 8; i += THREADS) {
        const uint4 v = ((const uint4*)at.h)[i], w = ((const uint4*)at.scale)[i];
        ((uint4*)at.x)[i] = make_uint4(scaled(v.x, r, w.x), scaled(v.y, r, w.y), scaled(v.z, r, w.z),
                                       scaled(v.w, r, w.w));
    }
    block_barrier();
}

// -- attention

struct Attention {
    const bf16 *scale_q, *scale_k;
    const float *cos, *sin;
    bf16 *keys, *values;  // the caches, [tokens, heads, D]
    const bf16* qkv;
    float* states;    // [heads, gridDim / heads, STATE]
    uint32_t* count;  // of the parts of a head that are done
    bf16* o;
    uint32_t heads, ctx;
    float eps, scale;

    // Scores are exponents of 2.
    __device__ __forceinline__ float scale2() const { return scale * 1.4426950408889634f; }
};

struct AttentionShared {
    float states[WARPS + 1][STATE];  // of the warps, and of the new token
    float q[G][D], k[D];
    uint32_t last;
};

// The RMS norm of a head's features, turned by the token's angles: lane l has features 2l, 2l + 1 and
// 2l + 64, 2l + 65.
__device__ __forceinline__ void norm_rope(const Attention& a, const bf16* head, const bf16* scale,
                                          int lane, uint32_t& first, uint32_t& second) {
    const uint32_t v = __ldcg((const uint32_t*)head + lane);
    const uint32_t w = __ldcg((const uint32_t*)head + 32 + lane);
    const uint32_t scale_v = __ldg((const uint32_t*)scale + lane);
    const uint32_t scale_w = __ldg((const uint32_t*)scale + 32 + lane);
    const float2 c = __ldg((const float2*)a.cos + lane), s = __ldg((const float2*)a.sin + lane);
    const float r = rsqrtf(warp_sum(square_sum(v) + square_sum(w)) / D + a.eps);
    const uint32_t x = scaled(v, r, scale_v), y = scaled(w, r, scale_w);
    first = pack(lo(x) * c.x - lo(y) * s.x, hi(x) * c.y - hi(y) * s.y);
    second = pack(lo(y) * c.x + lo(x) * s.x, hi(y) * c.y + hi(x) * s.y);
}

// What a state's values and sum are worth beside the largest maximum.
__device__ __forceinline__ float weight(float m, float most) {
    return m == -INFINITY ? 0.0f : exp2_approx(m - most);
}

// `n` states as one, at most MOST: value t of G * D, and the maximum and sum of its head.
template <int MOST>
struct Joined {
    float most, sum, value;

    __device__ __forceinline__ Joined(const float* states, uint32_t n, int t) {
        const int g = t / D;
        float ms[MOST], ls[MOST], vs[MOST];
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const float* of = states + (i < n ? i : 0) * STATE;
            ms[i] = of[G * D + g];
            ls[i] = of[G * D + G + g];
            vs[i] = of[t];
        }
        most = -INFINITY;
        sum = value = 0.0f;
#pragma unroll
        for (int i = 0; i < MOST; i++)
            if (i < n) most = fmaxf(most, ms[i]);
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            const float x = i < n ? weight(ms[i], most) : 0.0f;
            sum = fmaf(ls[i], x, sum);
            value = fmaf(vs[i], x, value);
        }
    }
};

// A half of a warp has a token, a lane eight of its features. Four tokens of each half are in flight.
constexpr int FLIGHT = 4;
constexpr uint32_t TOKENS = 2 * FLIGHT;  // of a warp's trip
constexpr int MOST_PARTS = 16;           // of a head's context

// The CTA's part of a head's earlier tokens, lo..hi.
struct Part {
    uint32_t head, index, parts, lo, hi;

    __device__ Part(const Attention& a) {
        const uint32_t tokens = a.ctx - 1, most = min(gridDim.x / a.heads, (uint32_t)MOST_PARTS);
        const uint32_t size = max((tokens + most - 1) / most, 64u);
        parts = max((tokens + size - 1) / size, 1u);
        head = blockIdx.x % a.heads;
        index = blockIdx.x / a.heads;
        lo = min(index * size, tokens);
        hi = min(lo + size, tokens);
    }
    __device__ bool none() const { return index >= parts; }
    // Of one part the new token is.
    __device__ bool newest() const { return index == parts - 1; }
};

// The keys and values of a trip.
struct Trip {
    uint4 k[FLIGHT], v[FLIGHT];

    __device__ __forceinline__ static void fetch(uint4 (&r)[FLIGHT], const bf16* cache,
                                                 const Attention& a, const Part& part,
                                                 uint32_t token) {
        const int lane = threadIdx.x % 32, half = lane / 16, eight = lane % 16;
        const bf16* from = cache + part.head * D + eight * 8;
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            r[i] = __ldcg((const uint4*)(from + (size_t)min(token + 2 * i + half, part.hi - 1) *
                                                    a.heads * D));
    }
    __device__ __forceinline__ static uint32_t first(const Part& part) {
        return part.lo + threadIdx.x / 32 * TOKENS;
    }
    // The warp's first tokens: they lie in the caches already.
    __device__ __forceinline__ void start(const Attention& a, const Part& part) {
        if (part.none() || first(part) >= part.hi) return;
        fetch(k, a.keys, a, part, first(part));
        fetch(v, a.values, a, part, first(part));
    }
};

// Brings into L2 what `Trip::start` leaves, and what the norms and the rope read.
__device__ __forceinline__ void prefetch(const Attention& a, const Part& part) {
    const uint32_t t = threadIdx.x;
    if (part.none()) return;
#pragma unroll 1
    for (uint32_t token = part.lo + WARPS * TOKENS + t; token < part.hi; token += THREADS) {
        const size_t at = ((size_t)token * a.heads + part.head) * D;
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(a.keys + at), "n"(D * 2));
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(a.values + at), "n"(D * 2));
    }
    prefetch(a.scale_q, D * 2);
    prefetch(a.scale_k, D * 2);
    prefetch(a.cos, D * 2);
    prefetch(a.sin, D * 2);
}

// The warp's softmax state of its tokens of the part, into shared memory.
__device__ __forceinline__ void attend_tokens(const Attention& a, const Part& part, Trip& trip,
                                              AttentionShared& sh) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, half = lane / 16, eight = lane % 16;
    float q[G][8], acc[G][8] = {}, m[G], l[G] = {};
#pragma unroll
    for (int g = 0; g < G; g++) {
        m[g] = -INFINITY;
#pragma unroll
        for (int j = 0; j < 8; j++) q[g][j] = sh.q[g][eight * 8 + j];
    }
#pragma unroll 1
    for (uint32_t token = Trip::first(part); token < part.hi; token += WARPS * TOKENS) {
        float s[G][FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const uint32_t w[4] = {trip.k[i].x, trip.k[i].y, trip.k[i].z, trip.k[i].w};
#pragma unroll
            for (int g = 0; g < G; g++) {
                float even = 0.0f, odd = 0.0f;
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    even = fmaf(lo(w[j]), q[g][2 * j], even);
                    odd = fmaf(hi(w[j]), q[g][2 * j + 1], odd);
                }
                s[g][i] = even + odd;
            }
        }
        const uint32_t next = token + WARPS * TOKENS;
        if (next < part.hi) Trip::fetch(trip.k, a.keys, a, part, next);
#pragma unroll
        for (int g = 0; g < G; g++) {
            float top = m[g];
#pragma unroll
            for (int i = 0; i < FLIGHT; i++) {
#pragma unroll
                for (int x = 8; x > 0; x /= 2) s[g][i] += __shfl_xor_sync(0xffffffffu, s[g][i], x);
                s[g][i] = token + 2 * i + half < part.hi ? s[g][i] * a.scale2() : -INFINITY;
                top = fmaxf(top, s[g][i]);
            }
            // the trip's first token is there, so this is finite
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 16));
            const float kept = exp2_approx(m[g] - top);
            m[g] = top;
            l[g] *= kept;
#pragma unroll
            for (int j = 0; j < 8; j++) acc[g][j] *= kept;
#pragma unroll
            for (int i = 0; i < FLIGHT; i++) {
                const float p = exp2_approx(s[g][i] - top);
                const uint32_t w[4] = {trip.v[i].x, trip.v[i].y, trip.v[i].z, trip.v[i].w};
                l[g] += p;
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[g][2 * j] = fmaf(p, lo(w[j]), acc[g][2 * j]);
                    acc[g][2 * j + 1] = fmaf(p, hi(w[j]), acc[g][2 * j + 1]);
                }
            }
        }
        if (next < part.hi) Trip::fetch(trip.v, a.values, a, part, next);
    }
#pragma unroll
    for (int g = 0; g < G; g++) {
        l[g] += __shfl_xor_sync(0xffffffffu, l[g], 16);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            acc[g][j] += __shfl_xor_sync(0xffffffffu, acc[g][j], 16);
            if (half == 0) sh.states[warp][g * D + eight * 8 + j] = acc[g][j];
        }
        if (lane == 0) {
            sh.states[warp][G * D + g] = m[g];
            sh.states[warp][G * D + G + g] = l[g];
        }
    }
}

// The new token's query heads, and in one CTA of the head its key and value: into shared memory, and
// into the caches.
__device__ __forceinline__ void new_token(const Attention& a, const Part& part, AttentionShared& sh) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bf16* key = a.qkv + (G * a.heads + part.head) * D;
    const size_t at = ((size_t)(a.ctx - 1) * a.heads + part.head) * D;
    if (warp < G || (warp == G && part.newest())) {
        uint32_t first, second;
        const bf16* from = warp < G ? a.qkv + (part.head * G + warp) * D : key;
        norm_rope(a, from, warp < G ? a.scale_q : a.scale_k, lane, first, second);
        float* to = warp < G ? sh.q[warp] : sh.k;
        ((float2*)to)[lane] = make_float2(lo(first), hi(first));
        ((float2*)to)[32 + lane] = make_float2(lo(second), hi(second));
        if (warp == G) {
            ((uint32_t*)(a.keys + at))[lane] = first;
            ((uint32_t*)(a.keys + at))[32 + lane] = second;
        }
    } else if (warp == G + 1 && part.newest()) {
        const uint2 v = __ldcg((const uint2*)(key + a.heads * D) + lane);
        ((uint2*)(a.values + at))[lane] = v;
#pragma unroll
        for (int g = 0; g < G; g++)
            ((float4*)(sh.states[WARPS] + g * D))[lane] = make_float4(lo(v.x), hi(v.x), lo(v.y), hi(v.y));
    }
    block_barrier();
    if (warp < G && part.newest()) {
        float s = 0.0f;
        for (int i = lane; i < D; i += 32) s = fmaf(sh.q[warp][i], sh.k[i], s);
        s = warp_sum(s);
        sh.states[WARPS][G * D + warp] = s * a.scale2();
        sh.states[WARPS][G * D + G + warp] = 1.0f;
    }
}

// Attention of the new token. The CTA that ends a head's last part puts the parts together.
__device__ __forceinline__ void attend_all(const Attention& a, const Part& part, Trip& trip,
                                           AttentionShared& sh) {
    const int t = threadIdx.x;
    if (part.none()) return;
    new_token(a, part, sh);
    attend_tokens(a, part, trip, sh);
    block_barrier();
    const Joined<WARPS + 1> own(sh.states[0], part.newest() ? WARPS + 1 : WARPS, t);
    bf16* o = a.o + part.head * G * D;
    if (part.parts == 1) {
        o[t] = __float2bfloat16_rn(own.value / own.sum);
        return;
    }
    float* states = a.states + (size_t)part.head * (gridDim.x / a.heads) * STATE;
    float* to = states + part.index * STATE;
    to[t] = own.value;
    if (t % D == 0) {
        to[G * D + t / D] = own.most;
        to[G * D + G + t / D] = own.sum;
    }
    __threadfence();
    block_barrier();
    if (t == 0) sh.last = atomicAdd(a.count + part.head, 1) == part.parts - 1;
    block_barrier();
    if (!sh.last) return;
    __threadfence();
    const Joined<MOST_PARTS> all(states, part.parts, t);
    o[t] = __float2bfloat16_rn(all.value / all.sum);
}

// -- a layer

struct Buffers {
    const bf16 *h, *scale_attn, *scale_mlp;
    bf16 *qkv, *y;
    uint32_t *mid, *act;  // h after attention, where the launch goes on; what `down` takes
};

// The products of a launch, w.first to w.end. ATTENDS: QKV and OUT are among them, with attention
// between.
template <bool ATTENDS>
__device__ __forceinline__ void run(const LayerWeights& w, const Buffers& b, const Attention& a,
                                    const Vectors& at, const unsigned char* smem, Rings& rings,
                                    AttentionShared* sh, float* sums) {
    if (threadIdx.x >= THREADS) {
        Copies<LayerWeights> copies(w, smem, rings);
        copies.init();
        __syncthreads();
        copies.run();
        return;
    }
    __syncthreads();
    Stream<LayerWeights> s(w, smem, rings);
    const Part part(a);
    Trip trip;
    if (!ATTENDS) {
        clear(b.act, w.inner);
        grid_barrier();
    }
#pragma unroll 1
    for (int product = w.first; product < w.end; product++) {
        block_barrier();
        if (ATTENDS && product == OUT) {
            grid_barrier();
            attend_all(a, part, trip, *sh);
            grid_barrier();
        }
        Source from = {product == OUT ? a.o : b.h, nullptr};
        if (product == DOWN) from.words = b.act;
        if (ATTENDS && product == GATE_UP) from.words = b.mid;
        if (product == QKV || product == GATE_UP)
            norm(at, from, product == QKV ? b.scale_attn : b.scale_mlp, w.hidden, a.eps, sums);
        else
            load(at, from, w.length(product));
        if (ATTENDS && product == QKV) {
            trip.start(a, part);
            prefetch(a, part);
            if (blockIdx.x == 0 && threadIdx.x < a.heads) a.count[threadIdx.x] = 0;
            if (w.end > GATE_UP) {
                prefetch(b.scale_mlp, w.hidden * 2);
                clear(b.mid, w.hidden);
                clear(b.act, w.inner);
            }
        }
        multiply_rows(s, product, at.x, [&](uint32_t pair, float x, float y) {
            x = round_bf16(x);
            y = round_bf16(y);
            if (product == GATE_UP) {
                const float silu = round_bf16(x / (1.0f + expf(-x)));
                asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(b.act + pair),
                             "r"(marked(silu * y))
                             : "memory");
                return;
            }
            if (product != QKV) {
                const uint32_t h = ((const uint32_t*)at.h)[pair];
                x += lo(h);
                y += hi(h);
            }
            if (product == OUT && w.end > GATE_UP) {
                asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(b.mid + 2 * pair),
                             "r"(marked(x)), "r"(marked(y))
                             : "memory");
                return;
            }
            ((uint32_t*)(product == QKV ? b.qkv : b.y))[pair] = pack(x, y);
        });
    }
}

// -- argmax

// As in PyTorch: the first of the largest, and NaN is larger than any number.
__device__ __forceinline__ bool better(float v, uint32_t i, float w, uint32_t j) {
    if (v != v || w != w) return v != v && (w == w || i < j);
    return v > w || (v == w && i < j);
}

struct Best {
    float value = -INFINITY;
    uint32_t index = 0xffffffffu;

    __device__ __forceinline__ void add(float v, uint32_t i) {
        if (better(v, i, value, index)) {
            value = v;
            index = i;
        }
    }
    __device__ __forceinline__ void over_warp() {
        for (int x = 16; x > 0; x /= 2) {
            const float v = __shfl_xor_sync(0xffffffffu, value, x);
            add(v, __shfl_xor_sync(0xffffffffu, index, x));
        }
    }
};

}  // namespace

// y = table[token]. One CTA.
extern "C" __global__ void embed(const int* token, const bf16* __restrict__ table, bf16* y,
                                 uint32_t hidden) {
    const bf16* row = table + (size_t)*token * hidden;
    for (uint32_t i = threadIdx.x; i < hidden / 8; i += blockDim.x)
        ((uint4*)y)[i] = ((const uint4*)row)[i];
}

// y = x. One CTA.
extern "C" __global__ void copy(const bf16* x, bf16* y, uint32_t n) {
    for (uint32_t i = threadIdx.x; i < n / 8; i += blockDim.x) ((uint4*)y)[i] = ((const uint4*)x)[i];
}

// The kernels below are cooperative, of 288 threads, a CTA for each SM. Dynamic shared memory has the
// rings, then x (of the longest row), h and the norm's weight.

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    layer(const bf16* h, const float* cos, const float* sin, bf16* kc, bf16* vc, const bf16* ln_attn,
          const bf16* ln_q, const bf16* ln_k, const bf16* wq, const bf16* wk, const bf16* wv,
          const bf16* wo, const bf16* ln_mlp, const bf16* w_gate, const bf16* w_up, const bf16* w_down,
          bf16* qkv, float* states, uint32_t* count, bf16* o, uint32_t* mid, uint32_t* act, bf16* y,
          uint32_t hidden, uint32_t inner, uint32_t heads, uint32_t ctx, float eps, float scale) {
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ Rings rings;
    __shared__ AttentionShared shared;
    __shared__ float sums[WARPS];
    const uint32_t queries = G * heads * D;
    const LayerWeights w = {wq,     wk,    wv,      wo,        w_gate, w_up, w_down,
                            hidden, inner, queries, heads * D, QKV,    DOWN + 1};
    const Vectors at(smem, hidden, max(hidden, max(inner, queries)));
    const Buffers b = {h, ln_attn, ln_mlp, qkv, y, mid, act};
    const Attention a = {ln_q, ln_k, cos, sin, kc, vc, qkv, states, count, o, heads, ctx, eps, scale};
    run<true>(w, b, a, at, smem, rings, &shared, sums);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    attend(const bf16* h, const float* cos, const float* sin, bf16* kc, bf16* vc, const bf16* ln_attn,
           const bf16* ln_q, const bf16* ln_k, const bf16* wq, const bf16* wk, const bf16* wv,
           const bf16* wo, bf16* qkv, float* states, uint32_t* count, bf16* o, bf16* y, uint32_t hidden,
           uint32_t heads, uint32_t ctx, float eps, float scale) {
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ Rings rings;
    __shared__ AttentionShared shared;
    __shared__ float sums[WARPS];
    const uint32_t queries = G * heads * D;
    const LayerWeights w = {wq,     wk, wv,      wo,        nullptr, nullptr, nullptr,
                            hidden, 0,  queries, heads * D, QKV,     OUT + 1};
    const Vectors at(smem, hidden, max(hidden, queries));
    const Buffers b = {h, ln_attn, nullptr, qkv, y, nullptr, nullptr};
    const Attention a = {ln_q, ln_k, cos, sin, kc, vc, qkv, states, count, o, heads, ctx, eps, scale};
    run<true>(w, b, a, at, smem, rings, &shared, sums);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    mlp(const bf16* h, const bf16* ln_mlp, const bf16* w_gate, const bf16* w_up, const bf16* w_down,
        uint32_t* act, bf16* y, uint32_t hidden, uint32_t inner, float eps) {
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ Rings rings;
    __shared__ float sums[WARPS];
    const LayerWeights w = {nullptr, nullptr, nullptr, nullptr, w_gate,  w_up,    w_down,
                            hidden,  inner,   0,       0,       GATE_UP, DOWN + 1};
    const Vectors at(smem, hidden, max(hidden, inner));
    const Buffers b = {h, nullptr, ln_mlp, nullptr, y, nullptr, act};
    Attention a = {};
    a.eps = eps;
    a.heads = a.ctx = 1;
    run<false>(w, b, a, at, smem, rings, nullptr, sums);
}

// logits = norm(h) table^T in f32, and the first of the largest.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    head(const bf16* h, const bf16* ln_out, const bf16* table, float* values, uint32_t* indices,
         int* token, float* logits, uint32_t hidden, uint32_t vocabulary, float eps) {
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ Rings rings;
    __shared__ float sums[WARPS];
    __shared__ Best found[WARPS];
    const HeadWeights w = {table, vocabulary, hidden, 0, 1};
    const Vectors at(smem, hidden, hidden);
    Best best;
    if (threadIdx.x >= THREADS) {
        Copies<HeadWeights> copies(w, smem, rings);
        copies.init();
        __syncthreads();
        copies.run();
    } else {
        __syncthreads();
        Stream<HeadWeights> s(w, smem, rings);
        norm(at, Source{h, nullptr}, ln_out, hidden, eps, sums);
        multiply_rows(s, 0, at.x, [&](uint32_t pair, float x, float y) {
            logits[2 * pair] = x;
            best.add(x, 2 * pair);
            if (2 * pair + 1 < vocabulary) {
                logits[2 * pair + 1] = y;
                best.add(y, 2 * pair + 1);
            }
        });
        if (s.lane == 0) found[s.warp] = best;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < WARPS; i++) best.add(found[i].value, found[i].index);
        values[blockIdx.x] = best.value;
        indices[blockIdx.x] = best.index;
    }
    cooperative_groups::this_grid().sync();
    if (blockIdx.x != 0 || threadIdx.x >= 32) return;
    best = Best();
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += 32)
        best.add(__ldcg(values + i), __ldcg(indices + i));
    best.over_warp();
    if (threadIdx.x == 0) *token = (int)best.index;
}
