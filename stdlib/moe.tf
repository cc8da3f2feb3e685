//! Mixtures of experts: which experts a token goes to, their grouped products, and the way back.
//! Routing computes in f32 (in f64 for f64) and rounds its weights once.

use std::nn::{swiglu};

/// Softmax routing: each token's k likeliest experts, and their weights, the largest first.
///
/// `logits` is `[.., experts]`. Probabilities are a softmax over all experts; with `renormalize` the
/// k chosen add up to 1, which is the same as a softmax over the k largest logits alone. The weights
/// are multiplied by `scale`. With `groups` only the experts of the `topk_groups` groups whose best
/// expert is likeliest can be chosen (DeepSeek V2), and they must have k experts. Gives weights in
/// the dtype of the logits, and ids.
func softmax_topk<T: float, ..B, E>(
    logits: T[..B, E],
    k: index,
    renormalize: bool = true,
    scale: f32 = 1.0,
    groups: index = 1,
    topk_groups: index = 1,
) -> (T[..B, k], i32[..B, k]) {
    let f = widen(logits);
    let e = exp(f - complete(max(f, dim = -1, keepdim = true)));
    let probs = e / complete(sum(e, dim = -1, keepdim = true));
    let choice = match groups == topk_groups {
        true => probs,
        // of experts that cannot be chosen there is no weight
        false => match k <= topk_groups * (E / groups) {
            true => keep_top_groups(probs, groups, topk_groups, 1),
        },
    };
    let (top, ids) = topk(choice, k = k, dim = -1, dtype = i32);
    let share = match renormalize {
        true => top / sum(top, dim = -1, keepdim = true),
        false => top,
    };
    (cast(share * scale, T), ids)
}

/// Sigmoid routing without an auxiliary loss, as in DeepSeek V3 (`noaux_tc`).
///
/// `logits` is `[.., experts]`. The k experts with the largest `sigmoid(logit) + bias` are chosen,
/// the largest first; the bias balances their load and is in no weight. With `groups` only the
/// experts of `topk_groups` groups can be chosen, those whose two best experts have the largest sum,
/// and they must have k experts. The weights are the sigmoids of the chosen, with `renormalize` over their sum (and 1e-20, which
/// keeps it from 0), times `scale`. Gives weights in the dtype of the logits, and ids.
func sigmoid_topk<T: float, F: float, ..B, E>(
    logits: T[..B, E],
    bias: F[E],
    k: index,
    renormalize: bool = true,
    scale: f32 = 1.0,
    groups: index = 1,
    topk_groups: index = 1,
) -> (T[..B, k], i32[..B, k]) {
    let scores = sigmoid(widen(logits));
    let biased = scores + cast(bias, widen(T));
    let choice = match groups == topk_groups {
        true => biased,
        // of experts that cannot be chosen there is no weight
        false => match k <= topk_groups * (E / groups) {
            true => keep_top_groups(biased, groups, topk_groups, 2),
        },
    };
    let (_, ids) = topk(choice, k = k, dim = -1, dtype = i32);
    let top = gather(scores, ids, dim = -1);
    let share = match renormalize {
        true => top / (sum(top, dim = -1, keepdim = true) + 1e-20),
        false => top,
    };
    (cast(share * scale, T), ids)
}

/// The scores of the experts in each token's best groups, `-inf` for all others.
///
/// `scores` is `[.., experts]`, in `groups` groups of neighbours. A group is as good as the sum of
/// its `best` largest scores; the `keep` best groups stay.
func keep_top_groups<T: float, ..B, E>(
    scores: T[..B, E],
    groups: index,
    keep: index,
    best: index,
) -> T[..B, E] {
    let parts = unflatten(scores, [groups, E / groups], dim = -1);
    let (top, _) = topk(parts, k = best, dim = -1);
    let (_, ids) = topk(sum(top, dim = -1), k = keep, dim = -1, dtype = i32);
    let kept = sum(one_hot(ids, groups, dtype = i32), dim = -2) > 0;
    flatten(where(unsqueeze(kept, dim = -1), parts, -inf), start = -2)
}

/// The (token, expert) pairs in the order of the experts, so that one expert's are neighbours.
///
/// `ids` is `[tokens, k]`; pair p is choice p % k of token p / k. Gives the pairs in their new
/// order, the token of each, and for each of the `experts` the end of its pairs, as
/// `grouped_matmul` takes them. The order within an expert is that of the tokens.
func dispatch<I: int, P, K>(
    ids: I[P, K],
    experts: index,
) -> (i32[P * K], i32[P * K], i32[experts]) {
    let expert = flatten(ids);
    let (_, pair) = sort(expert, dim = 0, dtype = i32);
    let ends = cumsum(bincount(expert, experts, out = i32), dim = 0);
    (pair, floor_div(pair, K), ends)
}

/// The results of pairs, in the order of `dispatch`, weighted and added up for each token.
///
/// `y` is `[tokens * k, features]`, `weights` `[tokens, k]`. Sums in the order of the experts, in the
/// dtype of y.
func combine<A: float, W: float, R, H, P, K>(
    y: A[R, H],
    weights: W[P, K],
    pair: i32[R],
    token: i32[R],
) -> A[P, H] {
    let share = index_select(flatten(weights), pair, dim = 0);
    index_add(zeros(A[P, H]), token, y * unsqueeze(cast(share, A), dim = -1), dim = 0)
}

/// The experts of each token, swiglu layers, and their weighted sum: `w_down (silu(w_gate x) * w_up x)`.
///
/// `x` is `[tokens, features]`, `weights` and `ids` what a routing gives, `[tokens, k]`. `w_gate` and
/// `w_up` are `[experts, width, features]`, `w_down` `[experts, features, width]`. Every product
/// before the last is rounded as eager PyTorch does; the last stays in f32 (f64 for f64) until the
/// experts of a token are added up.
func experts<T: float, W: float, I: int, P, H, K, E, F>(
    x: T[P, H],
    weights: W[P, K],
    ids: I[P, K],
    w_gate: T[E, F, H],
    w_up: T[E, F, H],
    w_down: T[E, H, F],
) -> T[P, H] {
    let (pair, token, ends) = dispatch(ids, E);
    let xs = index_select(x, token, dim = 0);
    let gate = complete(grouped_matmul(xs, w_gate, ends, transpose_b = true));
    let up = complete(grouped_matmul(xs, w_up, ends, transpose_b = true));
    let y = complete(
        grouped_matmul(swiglu(gate, up), w_down, ends, transpose_b = true, out = widen(T)),
    );
    cast(combine(y, weights, pair, token), T)
}

/// The expert that every token goes to: `w_down (silu(w_gate x) * w_up x)`.
///
/// `w_gate` and `w_up` are `[width, features]`, `w_down` `[features, width]`. With `gate`, `[1,
/// features]`, the result is multiplied by `sigmoid(gate x)`, as in Qwen2-MoE. Every step is rounded,
/// as in eager PyTorch. The sum with the routed experts is the caller's.
func shared_expert<T: float, ..B, H, F>(
    x: T[..B, H],
    w_gate: T[F, H],
    w_up: T[F, H],
    w_down: T[H, F],
    gate: T[1, H] = none,
) -> T[..B, H] {
    let g = complete(einsum("...h,fh->...f", x, w_gate));
    let up = complete(einsum("...h,fh->...f", x, w_up));
    let y = complete(einsum("...f,hf->...h", swiglu(g, up), w_down));
    match gate {
        none => y,
        _ => sigmoid(complete(einsum("...h,fh->...f", x, gate))) * y,
    }
}
