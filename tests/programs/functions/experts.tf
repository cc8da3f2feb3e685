//! The library's experts over a symbolic number of tokens, against every expert on every token.
// agrees: routed = dense
// agrees: bounded = unbounded

use std::moe::{experts, keep_top_groups, sigmoid_topk, softmax_topk};

dim tokens in 1..=64;

const E = 6;

func all_experts(
    x: f32[tokens, 8],
    share: f32[tokens, E],
    w_gate: f32[E, 4, 8],
    w_up: f32[E, 4, 8],
    w_down: f32[E, 8, 4],
) -> f32[tokens, 8] {
    let inner = silu(einsum("th,efh->tef", x, w_gate)) * einsum("th,efh->tef", x, w_up);
    einsum("tef,ehf,te->th", inner, w_down, share)
}

// reveal: routed.w: f32[tokens, 2] in gmem
// reveal: routed.ids: i32[tokens, 2] in gmem
func routed(
    x: f32[tokens, 8],
    router: f32[E, 8],
    w_gate: f32[E, 4, 8],
    w_up: f32[E, 4, 8],
    w_down: f32[E, 8, 4],
) -> f32[tokens, 8] {
    let (w, ids) = softmax_topk(matmul(x, router, transpose_b = true), 2);
    experts(x, w, ids, w_gate, w_up, w_down)
}

func dense(
    x: f32[tokens, 8],
    router: f32[E, 8],
    w_gate: f32[E, 4, 8],
    w_up: f32[E, 4, 8],
    w_down: f32[E, 8, 4],
) -> f32[tokens, 8] {
    let (w, ids) = softmax_topk(matmul(x, router, transpose_b = true), 2);
    let share = sum(one_hot(ids, E, dtype = f32) * unsqueeze(w, dim = -1), dim = 1);
    all_experts(x, share, w_gate, w_up, w_down)
}

/// All groups kept are no bound.
func bounded(logits: f32[tokens, E], bias: f32[E]) -> (f32[tokens, E], f32[tokens, 2]) {
    let (w, _) = sigmoid_topk(logits, bias, 2, groups = 3, topk_groups = 3);
    (keep_top_groups(logits, 3, 3, 2), w)
}

func unbounded(logits: f32[tokens, E], bias: f32[E]) -> (f32[tokens, E], f32[tokens, 2]) {
    let (w, _) = sigmoid_topk(logits, bias, 2);
    (logits, w)
}
