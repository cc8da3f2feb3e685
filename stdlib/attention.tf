//! Attention: whole, over latents, and in blocks of keys. Queries are `[.., tokens, heads,
//! features]`. Scores are sums in f32 (in f64 for f64) and stay there; the weights of a row land in
//! the dtype of the values before they multiply them.

/// Scaled dot-product attention (Vaswani et al. 2017), grouped over heads (Ainslie et al. 2023).
///
/// `q` has H heads, `k` and `v` have K, each for H / K heads of `q`: K = H is multi-head, K = 1 is
/// multi-query attention. A score is `scale * (q . k)`; what follows is optional, in this order:
///
/// - `softcap`: the score becomes `softcap * tanh(score / softcap)`, as in Gemma 2.
/// - `bias` is added. It broadcasts to `[.., heads, queries, keys]`.
/// - `causal` lets a query see the keys up to its own place, the last query aligned with the last
///   key. `window`, at least 1, lets it see the keys less than `window` places away, its own
///   included. `mask` is true where a query sees a key; it broadcasts as `bias` does.
/// - `sink` has a score for each head that joins the sum below the weights and has no value, as in
///   GPT-OSS.
///
/// A query that sees no key gives zeros.
func attention<T: float, F: float, A: float, ..B, S, H, N, K, D, E, ..P, ..Q>(
    q: T[..B, S, H, D],
    k: T[..B, N, K, D],
    v: T[..B, N, K, E],
    scale: f32 = 1.0 / sqrt(D),
    causal: bool = false,
    window: index = none,
    softcap: f32 = none,
    mask: bool[..P] = none,
    bias: F[..Q] = none,
    sink: A[H] = none,
) -> T[..B, S, H, E] {
    let groups = unflatten(q, [K, H / K], dim = -2);
    let raw = complete(einsum("...skgd,...nkd->...kgsn", groups, k, out = widen(T))) * scale;
    let capped = match softcap {
        none => raw,
        _ => tanh(raw / softcap) * softcap,
    };
    // [.., K, G, S, N] is [.., H, S, N] to what broadcasts over heads
    let biased = match bias {
        none => capped,
        _ => {
            let heads = flatten(capped, start = -4, end = -3) + cast(bias, widen(T));
            unflatten(heads, [K, H / K], dim = -3)
        },
    };
    let past = match causal {
        true => where(causal_mask([S, N]), biased, -inf),
        false => biased,
    };
    let near = match window {
        none => past,
        _ => match window >= 1 {
            true => {
                let query = unsqueeze(arange(S, start = N - S, dtype = i32), dim = 1);
                let key = unsqueeze(arange(N, dtype = i32), dim = 0);
                where(abs(query - key) < window, past, -inf)
            },
        },
    };
    let seen = match mask {
        none => near,
        _ => {
            let heads = where(mask, flatten(near, start = -4, end = -3), -inf);
            unflatten(heads, [K, H / K], dim = -3)
        },
    };
    let top = complete(max(seen, dim = -1, keepdim = true));
    let p = match sink {
        none => {
            let e = exp(seen - where(top == -inf, 0.0, top));
            let l = complete(sum(e, dim = -1, keepdim = true));
            e / where(l == 0.0, 1.0, l)
        },
        _ => {
            let heads = cast(unflatten(sink, [K, H / K], dim = 0), widen(T));
            let own = unsqueeze(unsqueeze(heads, dim = -1), dim = -1);
            let m = maximum(top, own);
            let e = exp(seen - m);
            e / (complete(sum(e, dim = -1, keepdim = true)) + exp(own - m))
        },
    };
    let o = complete(einsum("...kgsn,...nke->...skge", cast(p, T), v));
    flatten(o, start = -3, end = -2)
}

/// Multi-head latent attention, as DeepSeek V2 and V3 train and prefill with it.
///
/// A token keeps one latent `c` of C features, normed, and one key `k_rope` of R features, turned
/// by its position, for all heads. `w` is `[heads, P + E, C]`, the up-projection `kv_b_proj` of the
/// checkpoint with its rows split by head: it makes of a latent each head's key of P features and
/// value of E. Queries come as `q_nope` and, turned, `q_rope`. Keys, values and results are rounded
/// as each matmul makes them. `causal` and `mask` are those of `attention`.
func mla<T: float, ..B, S, H, N, P, R, C, F, ..Q>(
    q_nope: T[..B, S, H, P],
    q_rope: T[..B, S, H, R],
    c: T[..B, N, C],
    k_rope: T[..B, N, R],
    w: T[H, F, C],
    scale: f32 = 1.0 / sqrt(P + R),
    causal: bool = false,
    mask: bool[..Q] = none,
) -> T[..B, S, H, F - P] {
    let kv = complete(einsum("...nc,hfc->...nhf", c, w));
    let (k_nope, v) = split(kv, [P, F - P], dim = -1);
    let shared = expand(unsqueeze(k_rope, dim = -2), [..B, N, H, R]);
    let q = concat([q_nope, q_rope], dim = -1);
    let k = concat([k_nope, shared], dim = -1);
    attention(q, k, v, scale = scale, causal = causal, mask = mask)
}

/// `mla` with the up-projection absorbed into queries and results, for decoding.
///
/// The queries go into the space of the latents, where attention has one head of keys for all
/// heads of queries, and the weighted latents go through the values' part of `w` at last: the cache
/// is read as it is, no key or value of a head is made. The same operands and, up to rounding, the
/// same result as `mla`.
func mla_absorbed<T: float, ..B, S, H, N, P, R, C, F, ..Q>(
    q_nope: T[..B, S, H, P],
    q_rope: T[..B, S, H, R],
    c: T[..B, N, C],
    k_rope: T[..B, N, R],
    w: T[H, F, C],
    scale: f32 = 1.0 / sqrt(P + R),
    causal: bool = false,
    mask: bool[..Q] = none,
) -> T[..B, S, H, F - P] {
    let (w_k, w_v) = split(w, [P, F - P], dim = 1);
    let q_c = complete(einsum("...shp,hpc->...shc", q_nope, w_k));
    let q = concat([q_c, q_rope], dim = -1);
    let k = unsqueeze(concat([c, k_rope], dim = -1), dim = -2);
    let v = unsqueeze(c, dim = -2);
    let o = attention(q, k, v, scale = scale, causal = causal, mask = mask);
    complete(einsum("...shc,hec->...she", o, w_v))
}

/// One block of keys of a softmax that walks them in blocks (Milakov and Gimelshein 2018; Dao et
/// al. 2022).
///
/// `s` are the scores of M queries for the N keys of the block, `-inf` where a query does not see a
/// key, `v` their values. The state of a query is the largest score so far, the sum of exponentials
/// of the differences to it, and the sum of values under these: it starts as `-inf`, 0 and 0, or as
/// its head's score, 1 and 0 where there is a sink. Exponentials land in the dtype of the values
/// before they multiply them; the state stays in A.
func online_softmax_step<T: float, A: float, ..B, M, N, E>(
    s: A[..B, M, N],
    v: T[..B, N, E],
    m: A[..B, M],
    l: A[..B, M],
    acc: A[..B, M, E],
) -> (A[..B, M], A[..B, M], A[..B, M, E]) {
    let top = maximum(m, complete(max(s, dim = -1)));
    // of a query that has seen no key yet, every difference is to 0
    let base = where(top == -inf, 0.0, top);
    let kept = exp(m - base);
    let p = exp(s - unsqueeze(base, dim = -1));
    let sums = l * kept + complete(sum(p, dim = -1));
    let block = complete(matmul(cast(p, T), v, out = A));
    (top, sums, acc * unsqueeze(kept, dim = -1) + block)
}

/// The state of `online_softmax_step` over the keys of two states.
func online_softmax_merge<A: float, ..B, M, E>(
    m0: A[..B, M],
    l0: A[..B, M],
    acc0: A[..B, M, E],
    m1: A[..B, M],
    l1: A[..B, M],
    acc1: A[..B, M, E],
) -> (A[..B, M], A[..B, M], A[..B, M, E]) {
    let top = maximum(m0, m1);
    let base = where(top == -inf, 0.0, top);
    let (c0, c1) = (exp(m0 - base), exp(m1 - base));
    let acc = acc0 * unsqueeze(c0, dim = -1) + acc1 * unsqueeze(c1, dim = -1);
    (top, l0 * c0 + l1 * c1, acc)
}

/// The result of a state of `online_softmax_step`: the weighted values over the sum of the weights,
/// zeros for a query that saw no key.
func online_softmax_finish<A: float, ..B, M, E>(l: A[..B, M], acc: A[..B, M, E]) -> A[..B, M, E] {
    acc / unsqueeze(where(l == 0.0, 1.0, l), dim = -1)
}
