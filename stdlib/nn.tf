//! Layers of neural networks, composed of ops.
//!
//! Each function rounds where eager PyTorch code rounds: what is in between is f32 (f64 for f64), and the
//! result takes the dtype of the input. Reductions are completed, so an axis that is split over a mesh
//! may be reduced; `complete` does nothing where it is whole.

/// exp(x) over its sum along `dim`. The largest element is subtracted first, so nothing overflows; a row
/// of -inf alone gives NaN, as in PyTorch.
func softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let m = complete(max(f, dim = dim, keepdim = true));
    let e = exp(f - m);
    let s = complete(sum(e, dim = dim, keepdim = true));
    cast(e / s, T)
}

/// The logarithm of `softmax`, without the loss of small probabilities.
func log_softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let m = complete(max(f, dim = dim, keepdim = true));
    let d = f - m;
    let s = complete(sum(exp(d), dim = dim, keepdim = true));
    cast(d - log(s), T)
}

/// x over the root of the mean of its squares, along the last axis. Rounded to the dtype of x before
/// the weight multiplies, as the Hugging Face classes do.
func rms_norm<T: float, ..B, N>(x: T[..B, N], w: T[N], eps: f32 = 1e-6) -> T[..B, N] {
    let f = widen(x);
    let ms = complete(mean(square(f), dim = -1, keepdim = true));
    cast(f * rsqrt(ms + eps), T) * w
}

/// x without its mean, over its standard deviation, along the last axis; scaled by `w` and shifted by
/// `b` before the one rounding, as in PyTorch.
func layer_norm<T: float, ..B, N>(x: T[..B, N], w: T[N], b: T[N], eps: f32 = 1e-5) -> T[..B, N] {
    let f = widen(x);
    let d = f - complete(mean(f, dim = -1, keepdim = true));
    let var = complete(mean(square(d), dim = -1, keepdim = true));
    cast(d * rsqrt(var + eps) * widen(w) + widen(b), T)
}

/// Rotary positions, the half style: features i and i + D / 2 turn together. The tables hold the cosine and
/// sine of each position, for D / 2 features or, as the Hugging Face classes keep them, twice over for D;
/// every head has the same. Computed in the dtype of the tables and rounded once.
func rope<T: float, A: float, ..B, S, H, D, C>(
    x: T[..B, S, H, D],
    cos: A[S, C],
    sin: A[S, C],
) -> T[..B, S, H, D] {
    let (x1, x2) = split(cast(x, A), [D / 2, D / 2], dim = -1);
    let c1 = unsqueeze(cos[.., ..D / 2], dim = 1);
    let s1 = unsqueeze(sin[.., ..D / 2], dim = 1);
    // the last D / 2 columns: the same ones where the tables are D / 2 wide
    let c2 = unsqueeze(cos[.., C - D / 2..], dim = 1);
    let s2 = unsqueeze(sin[.., C - D / 2..], dim = 1);
    cast(concat([x1 * c1 - x2 * s1, x2 * c2 + x1 * s2], dim = -1), T)
}

/// Softmax over the keys of the scaled scores, times the values. Query head h reads KV head
/// h / (H / KV). `causal` aligns the last query with the last key. Scores and weights are f32, the weights
/// round to the dtype of the values before they multiply them. A query that sees no key gives 0.
func attention<T: float, ..B, S, N, H, KV, D, E>(
    q: T[..B, S, H, D],
    k: T[..B, N, KV, D],
    v: T[..B, N, KV, E],
    scale: f32 = 1.0 / sqrt(D),
    causal: bool = false,
) -> T[..B, S, H, E] {
    let qg = unflatten(q, [KV, H / KV], dim = -2);
    let raw = einsum("...qhgd,...khd->...hgqk", qg, k, out = f32) * scale;
    let s = match causal {
        true => where(causal_mask([S, N]), raw, -inf),
        false => raw,
    };
    let m = complete(max(s, dim = -1, keepdim = true));
    let e = exp(s - where(m == -inf, 0.0, m));
    let l = complete(sum(e, dim = -1, keepdim = true));
    let p = cast(e / where(l == 0.0, 1.0, l), T);
    flatten(complete(einsum("...hgqk,...khe->...qhge", p, v)), start = -3, end = -2)
}
