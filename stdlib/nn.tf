//! Functions of neural networks, composed of ops. They are generic in dtype and leading axes,
//! compute in f32 (in f64 for f64), and round once at the end unless they say otherwise.

/// `exp(x)` along an axis, divided by its sum. A row of `-inf` alone gives NaN, as in PyTorch.
func softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let e = exp(f - complete(max(f, dim = dim, keepdim = true)));
    cast(e / complete(sum(e, dim = dim, keepdim = true)), T)
}

/// The logarithm of `softmax(x)` along an axis, from differences to the largest element, so that
/// no exponential overflows. A row of `-inf` alone gives NaN, as in PyTorch.
func log_softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let d = f - complete(max(f, dim = dim, keepdim = true));
    cast(d - log(complete(sum(exp(d), dim = dim, keepdim = true))), T)
}

/// `x` less its mean, over the root of the mean of the squares of that, times a weight, plus a
/// bias. `eps` keeps the root from 0. Weight and bias join before the rounding, as in PyTorch.
func layer_norm<T: float, ..B, N>(x: T[..B, N], w: T[N], b: T[N], eps: f32 = 1e-5) -> T[..B, N] {
    let f = widen(x);
    let d = f - complete(mean(f, dim = -1, keepdim = true));
    let variance = complete(mean(square(d), dim = -1, keepdim = true));
    cast(d * rsqrt(variance + eps) * widen(w) + widen(b), T)
}

/// `x` over the root of the mean of its squares, times a weight. The normalized row lands in the
/// dtype of `x` before the weight multiplies it, as in the classes of Hugging Face.
func rms_norm<T: float, ..B, N>(x: T[..B, N], w: T[N], eps: f32 = 1e-6) -> T[..B, N] {
    let f = widen(x);
    let ms = complete(mean(square(f), dim = -1, keepdim = true));
    cast(f * rsqrt(ms + eps), T) * w
}

/// Rotates features i and i + D / 2 of each head by the angle of the token's position. The tables
/// have one row for each token, of D / 2 angles, or of D where both halves repeat them.
func rope<T: float, C: float, ..B, S, H, D, A>(
    x: T[..B, S, H, D],
    cos: C[S, A],
    sin: C[S, A],
) -> T[..B, S, H, D] {
    let (a, b) = split(widen(x), [D / 2, D - D / 2], dim = -1);
    let turned = concat([-b, a], dim = -1);
    // one row of angles serves all heads of its token
    let c = unsqueeze(widen(cos), dim = -2);
    let s = unsqueeze(widen(sin), dim = -2);
    match A == D {
        true => cast(widen(x) * c + turned * s, T),
        false => cast(widen(x) * concat([c, c], dim = -1) + turned * concat([s, s], dim = -1), T),
    }
}

/// Scaled dot-product attention. `q` has H heads, `k` and `v` have K, each for H / K heads of `q`.
/// The weights land in the dtype of the values before they multiply them. `causal` lets a query see
/// the keys up to its own place, the last query aligned with the last key; a query that sees no
/// key gives zeros.
func attention<T: float, ..B, S, H, N, K, D, E>(
    q: T[..B, S, H, D],
    k: T[..B, N, K, D],
    v: T[..B, N, K, E],
    scale: f32 = 1.0 / sqrt(D),
    causal: bool = false,
) -> T[..B, S, H, E] {
    let groups = unflatten(q, [K, H / K], dim = -2);
    let raw = complete(einsum("...skgd,...nkd->...kgsn", groups, k, out = widen(T))) * scale;
    let seen = match causal {
        true => where(causal_mask([S, N]), raw, -inf),
        false => raw,
    };
    let m = complete(max(seen, dim = -1, keepdim = true));
    let e = exp(seen - where(m == -inf, 0.0, m));
    let l = complete(sum(e, dim = -1, keepdim = true));
    let p = cast(e / where(l == 0.0, 1.0, l), T);
    let o = complete(einsum("...kgsn,...nke->...skge", p, v));
    flatten(o, start = -3, end = -2)
}
