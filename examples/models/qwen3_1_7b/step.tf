//! Kernels for the greedy decode step of Qwen3-1.7B, at batch 1 in bf16. `Kernels` is a twin of the
//! module `Qwen3` of qwen3_1_7b.tf: a launch for the embedding, one for each layer, and one for the
//! head with its argmax. The kernels are in step.cu. They take any sizes of the model but these: heads
//! have 128 features, a KV head serves two query heads, and `H` and `F` are multiples of 128.

use "qwen3_1_7b.tf" as model;

const H = model::H / 128 * 128;
const F = model::F / 128 * 128;
const NKV = model::NKV;
const V = model::V;
const LAYERS = model::LAYERS;
const MAX = model::MAX;
const EPS = model::EPS;
const SCALE = model::SCALE;

const D = 128;                  // features of a head
const G = 2;                    // query heads of a KV head
const Q = G * NKV * D;          // rows of all queries,
const KV = NKV * D;             // of all keys, and of all values

const SMS = 132;                // of the device: a CTA on each
const THREADS = 9 * 32;         // eight warps multiply, one copies weights
const RINGS = 8 * 3 * 8192;     // bytes: a ring of three slots for each warp that multiplies
const PARTS = SMS / NKV;        // of a KV head's context, at most
const STATE = G * D + 2 * G;    // a softmax state: values, maxima, sums

twin LayerKernels for model::Layer {
    extern kernel whole(
        h: in bf16[1, H],
        cos: in f32[1, D / 2],
        sin: in f32[1, D / 2],
        kc: inout bf16[MAX, NKV, D],
        vc: inout bf16[MAX, NKV, D],
        ln_attn: in bf16[H],
        ln_q: in bf16[D],
        ln_k: in bf16[D],
        wq: in bf16[Q, H],
        wk: in bf16[KV, H],
        wv: in bf16[KV, H],
        wo: in bf16[H, Q],
        ln_mlp: in bf16[H],
        w_gate: in bf16[F, H],
        w_up: in bf16[F, H],
        w_down: in bf16[H, F],
        qkv: out bf16[Q + 2 * KV],
        states: out f32[NKV, PARTS, STATE],
        count: out u32[NKV],
        o: out bf16[Q],
        mid: out u32[H],
        act: out u32[F],
        y: out bf16[1, H],
        hidden: u32,
        inner: u32,
        kv_heads: u32,
        tokens: u32,
        eps: f32,
        scale: f32,
    ) from "step.ptx" entry "layer";

    extern kernel attention(
        h: in bf16[1, H],
        cos: in f32[1, D / 2],
        sin: in f32[1, D / 2],
        kc: inout bf16[MAX, NKV, D],
        vc: inout bf16[MAX, NKV, D],
        ln_attn: in bf16[H],
        ln_q: in bf16[D],
        ln_k: in bf16[D],
        wq: in bf16[Q, H],
        wk: in bf16[KV, H],
        wv: in bf16[KV, H],
        wo: in bf16[H, Q],
        qkv: out bf16[Q + 2 * KV],
        states: out f32[NKV, PARTS, STATE],
        count: out u32[NKV],
        o: out bf16[Q],
        y: out bf16[1, H],
        hidden: u32,
        kv_heads: u32,
        tokens: u32,
        eps: f32,
        scale: f32,
    ) from "step.ptx" entry "attend";

    extern kernel feed_forward(
        h: in bf16[1, H],
        ln_mlp: in bf16[H],
        w_gate: in bf16[F, H],
        w_up: in bf16[F, H],
        w_down: in bf16[H, F],
        act: out u32[F],
        y: out bf16[1, H],
        hidden: u32,
        inner: u32,
        eps: f32,
    ) from "step.ptx" entry "mlp";

    func attend(h, cos, sin, inout kc, inout vc) {
        let qkv = alloc(bf16[Q + 2 * KV]);
        let states = alloc(f32[NKV, PARTS, STATE]);
        let count = alloc(u32[NKV]);
        let o = alloc(bf16[Q]);
        let y = alloc(bf16[1, H]);
        launch attention(
            h,
            cos,
            sin,
            kc,
            vc,
            ln_attn,
            ln_q,
            ln_k,
            wq,
            wk,
            wv,
            wo,
            qkv,
            states,
            count,
            o,
            y,
            H,
            NKV,
            model::ctx,
            EPS,
            SCALE,
        ) grid(SMS) block(THREADS) smem(RINGS + 2 * (max(H, Q) + 2 * H)) cooperative;
        y
    }

    func mlp(h) {
        let act = alloc(u32[F]);
        let y = alloc(bf16[1, H]);
        launch feed_forward(h, ln_mlp, w_gate, w_up, w_down, act, y, H, F, EPS)
            grid(SMS) block(THREADS) smem(RINGS + 2 * (max(H, F) + 2 * H)) cooperative;
        y
    }

    func layer(h, cos, sin, inout kc, inout vc) {
        let qkv = alloc(bf16[Q + 2 * KV]);
        let states = alloc(f32[NKV, PARTS, STATE]);
        let count = alloc(u32[NKV]);
        let o = alloc(bf16[Q]);
        let mid = alloc(u32[H]);
        let act = alloc(u32[F]);
        let y = alloc(bf16[1, H]);
        launch whole(
            h,
            cos,
            sin,
            kc,
            vc,
            ln_attn,
            ln_q,
            ln_k,
            wq,
            wk,
            wv,
            wo,
            ln_mlp,
            w_gate,
            w_up,
            w_down,
            qkv,
            states,
            count,
            o,
            mid,
            act,
            y,
            H,
            F,
            NKV,
            model::ctx,
            EPS,
            SCALE,
        ) grid(SMS) block(THREADS) smem(RINGS + 2 * (max(max(H, F), Q) + 2 * H)) cooperative;
        y
    }
}

twin Kernels for model::Qwen3 {
    child layers: LayerKernels;

    extern kernel row(token: in i32[1], table: in bf16[V, H], y: out bf16[1, H], hidden: u32)
        from "step.ptx" entry "embed";

    extern kernel copy(x: in bf16[1, H], y: out bf16[1, H], n: u32) from "step.ptx" entry "copy";

    extern kernel head(
        h: in bf16[1, H],
        ln_out: in bf16[H],
        table: in bf16[V, H],
        values: out f32[SMS],
        indices: out u32[SMS],
        token: out i32[1],
        logits: out f32[1, V],
        hidden: u32,
        vocabulary: u32,
        eps: f32,
    ) from "step.ptx" entry "head";

    func step(token, inout kc, inout vc) {
        let c = cos_t[model::ctx - 1..model::ctx];
        let s = sin_t[model::ctx - 1..model::ctx];
        let first = alloc(bf16[1, H]);
        launch row(token, embed, first, H) grid(1) block(256);
        let mut h = first;
        for i in 0..LAYERS {
            h = layers[i](h, c, s, inout kc[i], inout vc[i]);
        }
        let values = alloc(f32[SMS]);
        let indices = alloc(u32[SMS]);
        let next = alloc(i32[1]);
        let logits = alloc(f32[1, V]);
        launch head(h, ln_out, embed, values, indices, next, logits, H, V, EPS)
            grid(SMS) block(THREADS) smem(RINGS + 2 * 3 * H) cooperative;
        (next, logits)
    }

    func hidden(token, inout kc, inout vc) {
        let c = cos_t[model::ctx - 1..model::ctx];
        let s = sin_t[model::ctx - 1..model::ctx];
        let first = alloc(bf16[1, H]);
        launch row(token, embed, first, H) grid(1) block(256);
        let all = alloc(bf16[LAYERS, 1, H]);
        let mut h = first;
        for i in 0..LAYERS {
            h = layers[i](h, c, s, inout kc[i], inout vc[i]);
            launch copy(h, all[i], H) grid(1) block(256);
        }
        all
    }
}
