//! A bf16 matrix product, 8192 x 17408 x 5120, as four kernels. `Grid` gives one tile of the result to
//! each CTA. `Position` is persistent: 132 CTAs walk over the tiles in an order that shares rows in L2,
//! and a producer warpgroup feeds two consumers. `Pair` has the same with clusters of two CTAs, which
//! share the loads of b; its twin `PairTma` is gemm.cu. `Global` splits the whole product and leaves
//! roles open. All accumulate K in steps of 64, so that all four give the same bits.

const M = 8192;
const N = 17408;
const K = 5120;
const BM = 128;
const BN = 256;
const BK = 64;
const MT = M / BM;
const NT = N / BN;
const GROUP = 8;

/// Row and column of the i-th tile of `rows` rows of them. Tiles go by groups of GROUP rows, column by
/// column, so that the tiles which run together share rows of a and b in L2.
func grouped(i: index, rows: index) -> (index, index) {
    let first = i / (GROUP * NT) * GROUP;
    let height = min(GROUP, rows - first);
    let r = i % (GROUP * NT);
    (first + r % height, r / height)
}

module Grid {
    target "nvidia.h200_sxm";
    topology cta, thread = 256;

    entry func gemm(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        let mut c = empty(bf16[M, N]);
        mesh g = cta[m: MT, n: NT] {
            let rows = g.m * BM..(g.m + 1) * BM;
            let cols = g.n * BN..(g.n + 1) * BN;
            let mut acc = zeros(f32[BM, BN]);
            for k in tile(K, BK) {
                #[via(tma), buffers(4)]
                let at = reshard(a[rows, k], smem swizzle(3, 4, 3));
                #[via(tma), buffers(4)]
                let bt = reshard(b[cols, k], smem swizzle(3, 4, 3));
                #[atom(wgmma, n = 256)]
                acc = acc + matmul(at, bt, transpose_b = true, out = f32);
            }
            c[rows, cols] = cast(acc, bf16);
        }
        c
    }
}

module Position {
    target "nvidia.h200_sxm";
    topology cta = 132, warpgroup = 3, thread = 128;

    entry func gemm(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        let mut c = empty(bf16[M, N]);
        mesh g = cta[p: 132], wg = warpgroup[w: 3], load = wg[0..1], mma = wg[1..3] {
            for i in g.p..MT * NT step 132 {
                let (tm, tn) = grouped(i, MT);
                let rows = tm * BM..(tm + 1) * BM;
                let cols = tn * BN..(tn + 1) * BN;
                // 64 x 256 for each consumer: 128 registers in a thread, accumulated in place
                let mut acc: f32[BM, BN] in rmem[BM @ mma.w, BN] = zeros(f32[BM, BN]);
                for k in tile(K, BK) {
                    #[via(tma), buffers(4), regs(40)]
                    let (at, bt) = on load {
                        (
                            reshard(a[rows, k], smem swizzle(3, 4, 3)),
                            reshard(b[cols, k], smem swizzle(3, 4, 3)),
                        )
                    };
                    #[atom(wgmma, n = 256), regs(232)]
                    on mma {
                        acc = acc + matmul(at, bt, transpose_b = true, out = f32);
                    }
                }
                on mma {
                    c[rows, cols] = cast(acc, bf16);
                }
            }
        }
        c
    }
}

module Pair {
    target "nvidia.h200_sxm";
    topology cluster = 66, cta = 2, warpgroup = 3, thread = 128;

    entry func gemm(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        let mut c = empty(bf16[M, N]);
        mesh p = cluster[p: 66],
             g = cta[r: 2],
             wg = warpgroup[w: 3],
             load = wg[0..1],
             mma = wg[1..3] {
            // tiles of 256 x 256, half of the rows for each CTA
            for i in p.p..MT / 2 * NT step 66 {
                let (tm, tn) = grouped(i, MT / 2);
                let rows = (2 * tm + g.r) * BM..(2 * tm + g.r + 1) * BM;
                let cols = tn * BN..(tn + 1) * BN;
                let mut acc: f32[BM, BN] in rmem[BM @ mma.w, BN] = zeros(f32[BM, BN]);
                for k in tile(K, BK) {
                    #[via(tma), buffers(4), regs(40)]
                    let at = on load { reshard(a[rows, k], smem swizzle(3, 4, 3)) };
                    // each CTA fetches half of the rows, for both
                    #[via(tma), multicast, buffers(4), regs(40)]
                    let bt = on load { reshard(b[cols, k], smem swizzle(3, 4, 3)) };
                    #[atom(wgmma, n = 256), regs(232)]
                    on mma {
                        acc = acc + matmul(at, bt, transpose_b = true, out = f32);
                    }
                }
                on mma {
                    c[rows, cols] = cast(acc, bf16);
                }
            }
        }
        c
    }
}

module Global {
    target "nvidia.h200_sxm";
    topology cta, thread = 256;

    entry func gemm(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        // 4352 positions on the CTAs that are resident, last axis fastest: the same grouped order
        #[persistent]
        mesh g = cta[outer: MT / GROUP, col: NT, inner: GROUP] {
            let mut acc: f32[M, N] in rmem[M @ (g.outer, g.inner), N @ g.col] = zeros(f32[M, N]);
            for k in tile(K, BK) {
                #[via(tma), buffers(4)]
                let at = reshard(a[.., k], smem[M @ (g.outer, g.inner), BK] swizzle(3, 4, 3));
                #[via(tma), buffers(4)]
                let bt = reshard(b[.., k], smem[N @ g.col, BK] swizzle(3, 4, 3));
                #[atom(wgmma, n = 256)]
                acc = acc + matmul(at, bt, transpose_b = true, out = f32);
            }
            reshard(cast(acc, bf16), gmem)
        }
    }
}

twin PairTma for Pair {
    extern kernel pairs(
        a: in tensor_map(bf16[M, K], box = [BM, BK], swizzle = 128),
        b: in tensor_map(bf16[N, K], box = [BN / 2, BK], swizzle = 128),
        c: out tensor_map(bf16[M, N], box = [64, 64], swizzle = 128),
        m: u32,
        n: u32,
        k: u32,
    ) from "gemm.ptx" entry "gemm";

    func gemm(a, b) {
        let c = alloc(bf16[M, N]);
        // four steps of K, and two stores of 64 x 64 in flight for each consumer
        launch pairs(a, b, c, M, N, K) grid(132) block(384) smem(
            4 * (BM + BN) * BK * 2 + 2 * 2 * 64 * 64 * 2 + 1024,
        ) cluster(2);
        c
    }
}
