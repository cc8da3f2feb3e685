//! Residual add and RMS norm, one row of 2688 in a CTA of 256 threads, 132 rows on 132 CTAs. A row is
//! not a multiple of 256: a padded split gives each thread 11 slots, 2816 in all, and the 128 slots
//! past the end hold nothing. The row's sum of squares is completed by `complete` in `AddNorm`, and
//! through shared memory, by a reshard of each thread's partial sum, in `ThroughSmem`.

const ROWS = 132;
const H = 2688;
const EPS = 1e-5;

module Logical {
    target "nvidia.h200_sxm";
    weight gamma: bf16[H] from "norm.weight";

    entry func add_norm(
        x: bf16[ROWS, H],
        residual: bf16[ROWS, H],
    ) -> (bf16[ROWS, H], bf16[ROWS, H]) {
        let h = x + residual;
        let f = cast(h, f32);
        let ms = mean(square(f), dim = -1, keepdim = true);
        (cast(f * rsqrt(ms + EPS), bf16) * gamma, h)
    }
}

// reveal: h: bf16[132, 2688] in rmem[132 @ g.row, pad(11, 256 @ t.x)]
// reveal: part: f32[132, 1] in rmem[132 @ g.row, 1] partial(sum, t.x)
module AddNorm {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 256;
    weight gamma: bf16[H] from "norm.weight";

    entry func add_norm(
        x: bf16[ROWS, H],
        residual: bf16[ROWS, H],
    ) -> (bf16[ROWS, H], bf16[ROWS, H]) {
        mesh g = cta[row: ROWS], t = thread[x: 256] {
            let xr = reshard(x, rmem[ROWS @ g.row, pad(11, 256 @ t.x)]);
            let rr = reshard(residual, rmem[ROWS @ g.row, pad(11, 256 @ t.x)]);
            let h = xr + rr;
            let f = cast(h, f32);
            // a mean of 2688 elements: the padding is not among them
            let ms = complete(mean(square(f), dim = -1, keepdim = true));
            let y = cast(f * rsqrt(ms + EPS), bf16) * gamma;
            (reshard(y, gmem), reshard(h, gmem))
        }
    }
}

module ThroughSmem {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 256;
    weight gamma: bf16[H] from "norm.weight";

    entry func add_norm(
        x: bf16[ROWS, H],
        residual: bf16[ROWS, H],
    ) -> (bf16[ROWS, H], bf16[ROWS, H]) {
        mesh g = cta[row: ROWS], t = thread[x: 256] {
            let xr = reshard(x, rmem[ROWS @ g.row, pad(11, 256 @ t.x)]);
            let rr = reshard(residual, rmem[ROWS @ g.row, pad(11, 256 @ t.x)]);
            let h = xr + rr;
            let f = cast(h, f32);
            // each thread's 11 squares, added up
            let part = sum(square(f), dim = -1, keepdim = true);
            // 256 partial sums meet in smem, and every thread reads the whole one back
            let total = reshard(part, smem[ROWS @ g.row, 1]);
            let ms = total / H;
            let y = cast(f * rsqrt(ms + EPS), bf16) * gamma;
            (reshard(y, gmem), reshard(h, gmem))
        }
    }
}

dim tokens in 1..=8192;

/// Any number of rows, one in a CTA: the structure of the kernel in residual_rms_norm.cu. A thread has
/// one vector of 8, and no slot is empty.
module Tokens {
    target "nvidia.h200_sxm";
    topology cta, thread = 336;
    weight gamma: bf16[H] from "norm.weight";

    entry func add_norm(
        x: bf16[tokens, H],
        residual: bf16[tokens, H],
    ) -> (bf16[tokens, H], bf16[tokens, H]) {
        mesh g = cta[row: tokens], t = thread[x: 336] {
            let xr = reshard(x, rmem[tokens @ g.row, (336 @ t.x, 8)]);
            let rr = reshard(residual, rmem[tokens @ g.row, (336 @ t.x, 8)]);
            let h = xr + rr;
            let f = cast(h, f32);
            let ms = complete(mean(square(f), dim = -1, keepdim = true));
            let y = cast(f * rsqrt(ms + EPS), bf16) * gamma;
            (reshard(y, gmem), reshard(h, gmem))
        }
    }
}

twin TokensFast for Tokens {
    extern kernel add_rms_norm(
        x: in bf16[tokens, H],
        residual: in bf16[tokens, H],
        gamma: in bf16[H],
        y: out bf16[tokens, H],
        h: out bf16[tokens, H],
    ) from "residual_rms_norm.ptx" entry "residual_rms_norm";

    func add_norm(x, residual) {
        let y = alloc(bf16[tokens, H]);
        let h = alloc(bf16[tokens, H]);
        launch add_rms_norm(x, residual, gamma, y, h) grid(tokens) block(336);
        (y, h)
    }
}
