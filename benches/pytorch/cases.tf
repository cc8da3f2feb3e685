//! What `cargo bench --bench pytorch` runs beside PyTorch: one module for each case, its entry the
//! program, the parameters random.

use std::nn::{attention, rms_norm, rope, softmax};

module matmul_f32 {
    target "nvidia.h200_sxm";
    entry func main(a: f32[2048, 2048], b: f32[2048, 2048]) -> f32[2048, 2048] {
        matmul(a, b)
    }
}

module matmul_f64 {
    target "nvidia.h200_sxm";
    entry func main(a: f64[2048, 2048], b: f64[2048, 2048]) -> f64[2048, 2048] {
        matmul(a, b)
    }
}

module matmul_bf16 {
    target "nvidia.h200_sxm";
    entry func main(a: bf16[2048, 2048], b: bf16[2048, 2048]) -> bf16[2048, 2048] {
        matmul(a, b)
    }
}

module matmul_f16 {
    target "nvidia.h200_sxm";
    entry func main(a: f16[1024, 1024], b: f16[1024, 1024]) -> f16[1024, 1024] {
        matmul(a, b)
    }
}

module attention_bf16 {
    target "nvidia.h200_sxm";
    entry func main(
        q: bf16[1, 512, 32, 128],
        k: bf16[1, 4096, 8, 128],
        v: bf16[1, 4096, 8, 128],
    ) -> bf16[1, 512, 32, 128] {
        attention(q, k, v)
    }
}

module softmax_f32 {
    target "nvidia.h200_sxm";
    entry func main(x: f32[4096, 4096]) -> f32[4096, 4096] {
        softmax(x)
    }
}

module rms_norm_f32 {
    target "nvidia.h200_sxm";
    entry func main(x: f32[4096, 4096], w: f32[4096]) -> f32[4096, 4096] {
        rms_norm(x, w)
    }
}

module chain_f16 {
    target "nvidia.h200_sxm";
    entry func main(x: f16[8388608], y: f16[8388608]) -> f16[8388608] {
        relu(x * y + x)
    }
}

/// One decoder layer of the size of Qwen3-1.7B over 1024 tokens.
module layer_bf16 {
    target "nvidia.h200_sxm";

    const S = 1024;
    const H = 2048;
    const D = 128;
    const F = 6144;

    entry func main(
        h: bf16[S, H],
        ln_attn: bf16[H],
        ln_mlp: bf16[H],
        wq: bf16[16 * D, H],
        wk: bf16[8 * D, H],
        wv: bf16[8 * D, H],
        wo: bf16[H, 16 * D],
        ln_q: bf16[D],
        ln_k: bf16[D],
        w_gate: bf16[F, H],
        w_up: bf16[F, H],
        w_down: bf16[H, F],
        cos: f32[S, D],
        sin: f32[S, D],
    ) -> bf16[S, H] {
        let x = rms_norm(h, ln_attn);
        let q = reshape(matmul(x, wq, transpose_b = true), [S, 16, D]);
        let k = reshape(matmul(x, wk, transpose_b = true), [S, 8, D]);
        let v = reshape(matmul(x, wv, transpose_b = true), [S, 8, D]);
        let qr = rope(rms_norm(q, ln_q), cos, sin);
        let kr = rope(rms_norm(k, ln_k), cos, sin);
        let o = attention(qr, kr, v, causal = true);
        let a = h + matmul(reshape(o, [S, 16 * D]), wo, transpose_b = true);
        let y = rms_norm(a, ln_mlp);
        let gate = silu(matmul(y, w_gate, transpose_b = true));
        let up = matmul(y, w_up, transpose_b = true);
        a + matmul(gate * up, w_down, transpose_b = true)
    }
}
