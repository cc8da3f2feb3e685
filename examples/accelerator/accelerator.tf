//! An i8 matrix product on a small accelerator that is known by its target document alone: four
//! cores, an array of multiply-accumulates and a scratchpad in each. `Narrow` walks over tiles of
//! 64 x 64, `Wide` over tiles of 128 x 256 of the same product.

const M = 512;
const N = 1024;
const K = 768;
const BK = 256;

/// Rows and columns of the i-th tile, row by row.
func tile_of(i: index, bm: index, bn: index) -> (index, index) {
    let per_row = N / bn;
    (i / per_row * bm, i % per_row * bn)
}

module Narrow {
    target "example.array";
    topology core = 4;

    entry func product(a: i8[M, K], b: i8[N, K]) -> i32[M, N] {
        let mut c = empty(i32[M, N]);
        mesh g = core[p: 4] {
            for i in g.p..(M / 64) * (N / 64) step 4 {
                let (m, n) = tile_of(i, 64, 64);
                let mut acc = zeros(i32[64, 64]);
                for k in tile(K, BK) {
                    #[via(dma), buffers(2)]
                    let at = reshard(a[m..m + 64, k], smem);
                    #[via(dma), buffers(2)]
                    let bt = reshard(b[n..n + 64, k], smem);
                    #[atom(array)]
                    acc = acc + matmul(at, bt, transpose_b = true, out = i32);
                }
                c[m..m + 64, n..n + 64] = acc;
            }
        }
        c
    }
}

module Wide {
    target "example.array";
    topology core = 4;

    entry func product(a: i8[M, K], b: i8[N, K]) -> i32[M, N] {
        let mut c = empty(i32[M, N]);
        mesh g = core[p: 4] {
            for i in g.p..(M / 128) * (N / 256) step 4 {
                let (m, n) = tile_of(i, 128, 256);
                let mut acc = zeros(i32[128, 256]);
                for k in tile(K, BK) {
                    #[via(dma), buffers(2)]
                    let at = reshard(a[m..m + 128, k], smem);
                    #[via(dma), buffers(2)]
                    let bt = reshard(b[n..n + 256, k], smem);
                    #[atom(array)]
                    acc = acc + matmul(at, bt, transpose_b = true, out = i32);
                }
                c[m..m + 128, n..n + 256] = acc;
            }
        }
        c
    }
}
