//! An elementwise chain, x*x + x, times x, in registers from its one read to its one write.
//! `Placed` runs it on 256 CTAs and fits. `Crowded` is the same program on 8 CTAs, and is refused:
//! one value of the chain takes 2 MiB of a CTA's registers, and an SM has 256 KiB.

// reveal: a: f16[1, 4096, 2048] in rmem[1, (8 @ grid.row, 16, 32 @ lane.row), (32 @ grid.col, 8 @ lane.col, 8)]
// reveal: a: f16[1, 4096, 2048] in rmem[1, (8 @ grid.row, 16, 32 @ lane.row), (8 @ lane.col, 256)]
module Placed {
    target "nvidia.h200_sxm";
    topology cta = 256, thread = 256;

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh grid = cta[row: 8, col: 32], lane = thread[row: 32, col: 8] {
            // 512 x 64 of x in a CTA, 16 x 8 of that in a thread: 64 registers
            let xr = reshard(
                x,
                rmem[1, (8 @ grid.row, 16, 32 @ lane.row), (32 @ grid.col, 8 @ lane.col, 8)],
            );
            let a = xr * xr;
            let b = a + xr;
            reshard(b * xr, gmem)
        }
    }
}

module Crowded {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 256;

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh grid = cta[row: 8], lane = thread[row: 32, col: 8] {
            // 512 x 2048 of x in a CTA, 16 x 256 of that in a thread: 2048 registers
            let xr = reshard(x, rmem[1, (8 @ grid.row, 16, 32 @ lane.row), (8 @ lane.col, 256)]);
            let a = xr * xr;
            let b = a + xr;
            reshard(b * xr, gmem)
        }
    }
}

/// The structure of the kernel in chain.cu: 16 KiB in a CTA, into and out of shared memory by bulk
/// copies.
module Bulk {
    target "nvidia.h200_sxm";
    topology cta = 1024, thread = 128;

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh grid = cta[row: 1024], lane = thread[x: 128] {
            // four rows in a CTA, which its threads take in vectors of 8
            #[via(tma)]
            let xs = reshard(x, smem[1, (1024 @ grid.row, 4), 2048]);
            let xr = reshard(xs, rmem[1, (1024 @ grid.row, 4), (2, 128 @ lane.x, 8)]);
            let a = xr * xr;
            let b = a + xr;
            let ys = reshard(b * xr, smem[1, (1024 @ grid.row, 4), 2048]);
            reshard(ys, gmem)
        }
    }
}

twin Chain for Bulk {
    extern kernel chain_bulk(x: in f16[1, 4096, 2048], y: out f16[1, 4096, 2048])
        from "chain.ptx" entry "chain";

    func chain(x) {
        let y = alloc(f16[1, 4096, 2048]);
        launch chain_bulk(x, y) grid(1024) block(128) smem(16384);
        y
    }
}
