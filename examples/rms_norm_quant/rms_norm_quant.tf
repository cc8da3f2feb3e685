//! RMS norm of bf16 rows, then f8e4m3 quantization with one scale for each 128 elements of a row,
//! held against what PyTorch gave. Where the row lands in bf16, and how the scale is divided, decide
//! whether the bits agree: `Landed` has all of them, the other three unplaced versions have not.
//! `TwoPass` and `Fused` are `Landed` in two placements, so they have the same bits.

const ROWS = 2;
const H = 7168;
const BLOCK = 128;
const EPS = 1e-6;
const F8_MAX = 448.0;

/// The normalized row lands in bf16 first, and gamma multiplies it there.
func land_first<R, N>(x: bf16[R, N], gamma: bf16[1, N]) -> bf16[R, N] {
    let f = cast(x, f32);
    // where a row is split over threads, the mean is partial until `complete`
    let ms = complete(mean(square(f), dim = -1, keepdim = true));
    cast(f * rsqrt(ms + EPS), bf16) * gamma
}

/// Gamma multiplies in f32, and the product lands in bf16: one rounding less, and other bits.
func gamma_first<R, N>(x: bf16[R, N], gamma: bf16[1, N]) -> bf16[R, N] {
    let f = cast(x, f32);
    let ms = complete(mean(square(f), dim = -1, keepdim = true));
    cast(f * rsqrt(ms + EPS) * cast(gamma, f32), bf16)
}

/// The largest magnitude of each block of a row.
func block_max<R, N>(y: bf16[R, N]) -> (f32[R, N / BLOCK, BLOCK], f32[R, N / BLOCK, 1]) {
    let blocks = reshape(cast(y, f32), [R, N / BLOCK, BLOCK]);
    (blocks, complete(abs_max(blocks, dim = -1, keepdim = true)))
}

/// The quantized rows and their scales: the value is f8 times its block's scale.
func quantize<R, N>(y: bf16[R, N]) -> (f8e4m3[R, N], f32[R, N / BLOCK]) {
    let (blocks, top) = block_max(y);
    pack(blocks, top * (1.0 / F8_MAX))
}

/// The scale is the quotient by 448, which rounds otherwise than the product with 1 / 448.
func quantize_dividing<R, N>(y: bf16[R, N]) -> (f8e4m3[R, N], f32[R, N / BLOCK]) {
    let (blocks, top) = block_max(y);
    pack(blocks, top / F8_MAX)
}

func pack<R, NB>(
    blocks: f32[R, NB, BLOCK],
    scale: f32[R, NB, 1],
) -> (f8e4m3[R, NB * BLOCK], f32[R, NB]) {
    // a cast to f8e4m3 does not saturate
    let q = cast(clamp(blocks / scale, min = -F8_MAX, max = F8_MAX), f8e4m3);
    (reshape(q, [R, NB * BLOCK]), squeeze(scale, dim = -1))
}

module Landed {
    target "nvidia.h200_sxm";
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        quantize(land_first(x, gamma))
    }
}

module LandedDividing {
    target "nvidia.h200_sxm";
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        quantize_dividing(land_first(x, gamma))
    }
}

module GammaFirst {
    target "nvidia.h200_sxm";
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        quantize(gamma_first(x, gamma))
    }
}

module GammaFirstDividing {
    target "nvidia.h200_sxm";
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        quantize_dividing(gamma_first(x, gamma))
    }
}

/// Two launches that hand the normalized rows over through gmem.
module TwoPass {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 256;
    weight gamma: bf16[1, H] from "gamma";

    pub func norm(x: bf16[ROWS, H]) -> bf16[ROWS, H] {
        mesh g = cta[row: ROWS], t = thread[warp: 8, lane: 32] {
            let xr = reshard(x, rmem[ROWS @ g.row, (7, 8 @ t.warp, 32 @ t.lane, 4)]);
            reshard(land_first(xr, gamma), gmem)
        }
    }

    pub func quant(y: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        mesh g = cta[row: ROWS], t = thread[warp: 8, lane: 32] {
            let yr = reshard(y, rmem[ROWS @ g.row, (7, 8 @ t.warp, 32 @ t.lane, 4)]);
            let (q, scale) = quantize(yr);
            (reshard(q, gmem), reshard(scale, gmem))
        }
    }

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        quant(norm(x))
    }
}

/// One launch that keeps the normalized rows in registers.
module Fused {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 256;
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[ROWS, H]) -> (f8e4m3[ROWS, H], f32[ROWS, H / BLOCK]) {
        mesh g = cta[row: ROWS], t = thread[warp: 8, lane: 32] {
            // a block of 128 is one warp's 32 lanes of 4, so its scale needs no other warp
            let xr = reshard(x, rmem[ROWS @ g.row, (7, 8 @ t.warp, 32 @ t.lane, 4)]);
            let (q, scale) = quantize(land_first(xr, gamma));
            (reshard(q, gmem), reshard(scale, gmem))
        }
    }
}

dim rows in 1..=8192;

/// Any number of rows, one in a CTA: the structure of the kernel in rms_norm_quant.cu.
module Rows {
    target "nvidia.h200_sxm";
    topology cta, thread = 448;
    weight gamma: bf16[1, H] from "gamma";

    entry func norm_quant(x: bf16[rows, H]) -> (f8e4m3[rows, H], f32[rows, H / BLOCK]) {
        mesh g = cta[row: rows], t = thread[block: 28, lane: 16] {
            // two vectors of 8 in a thread: a block of 128 is 16 threads' vectors
            let xr = reshard(x, rmem[rows @ g.row, (2, 28 @ t.block, 16 @ t.lane, 8)]);
            let (q, scale) = quantize(land_first(xr, gamma));
            (reshard(q, gmem), reshard(scale, gmem))
        }
    }
}

twin RowsFast for Rows {
    extern kernel rms_norm_quant(
        x: in bf16[rows, H],
        gamma: in bf16[1, H],
        q: out f8e4m3[rows, H],
        scales: out f32[rows, H / BLOCK],
    ) from "rms_norm_quant.ptx" entry "rms_norm_quant";

    func norm_quant(x) {
        let q = alloc(f8e4m3[rows, H]);
        let scales = alloc(f32[rows, H / BLOCK]);
        launch rms_norm_quant(x, gamma, q, scales) grid(rows) block(448);
        (q, scales)
    }
}
