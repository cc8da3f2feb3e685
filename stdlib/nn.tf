//! Functions of neural networks, composed of ops. They are generic in dtype and leading axes,
//! compute in f32 (in f64 for f64), and round once at the end unless they say otherwise.

use std::attention::{attention};

/// `exp(x)` along an axis, divided by its sum: `softmax(x: T[..])` keeps the shape.
///
/// The largest element is subtracted first, so that no exponential overflows. A row of `-inf` alone
/// gives NaN, as in PyTorch.
func softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let e = exp(f - complete(max(f, dim = dim, keepdim = true)));
    cast(e / complete(sum(e, dim = dim, keepdim = true)), T)
}

/// The logarithm of `softmax(x)` along an axis.
///
/// From differences to the largest element, so that no exponential overflows. A row of `-inf` alone
/// gives NaN, as in PyTorch.
func log_softmax<T: float, ..B>(x: T[..B], dim: index = -1) -> T[..B] {
    let f = widen(x);
    let d = f - complete(max(f, dim = dim, keepdim = true));
    cast(d - log(complete(sum(exp(d), dim = dim, keepdim = true))), T)
}

/// `x` less its mean, over the root of the mean of the squares of that, times a weight, plus a
/// bias, along the last axis (Ba, Kiros and Hinton 2016).
///
/// `eps` keeps the root from 0. Weight and bias join before the rounding, as in PyTorch.
func layer_norm<T: float, ..B, N>(x: T[..B, N], w: T[N], b: T[N], eps: f32 = 1e-5) -> T[..B, N] {
    let f = widen(x);
    let d = f - complete(mean(f, dim = -1, keepdim = true));
    let variance = complete(mean(square(d), dim = -1, keepdim = true));
    cast(d * rsqrt(variance + eps) * widen(w) + widen(b), T)
}

/// `layer_norm` of each of `groups` groups of neighbouring channels, over all positions of the
/// group; weight and bias are of a channel (Wu and He 2018).
///
/// x is [batch, channels, positions..]; the channels divide into the groups. Rounded once, after
/// weight and bias, as in PyTorch.
func group_norm<T: float, B, C, ..S>(
    x: T[B, C, ..S],
    groups: index,
    w: T[C],
    b: T[C],
    eps: f32 = 1e-5,
) -> T[B, C, ..S] {
    let rows = flatten(unsqueeze(widen(x), dim = -1), start = 2);
    let f = unflatten(rows, [groups, C / groups], dim = 1);
    let d = f - complete(mean(f, dim = [2, 3], keepdim = true));
    let variance = complete(mean(square(d), dim = [2, 3], keepdim = true));
    let normed = flatten(d * rsqrt(variance + eps), start = 1, end = 2);
    let y = normed * unsqueeze(widen(w), dim = 1) + unsqueeze(widen(b), dim = 1);
    cast(reshape(y, [B, C, ..S]), T)
}

/// `x` over the root of the mean of its squares, times a weight, along the last axis (Zhang and
/// Sennrich 2019).
///
/// With `round = "before"` the normalized row lands in the dtype of x before the weight multiplies
/// it, as in the Llama, Qwen and DeepSeek classes of Hugging Face; with `"after"` it is rounded
/// once, after the weight. `add_unit_offset` multiplies by `1 + w`: with `round = "after"` it is
/// the norm of Gemma, whose weights are stored less 1.
func rms_norm<T: float, ..B, N>(
    x: T[..B, N],
    w: T[N],
    eps: f32 = 1e-6,
    round: str = "before",
    add_unit_offset: bool = false,
) -> T[..B, N] {
    let f = widen(x);
    let ms = complete(mean(square(f), dim = -1, keepdim = true));
    let normed = f * rsqrt(ms + eps);
    match round {
        "before" => match add_unit_offset {
            true => cast(normed, T) * (w + 1.0),
            false => cast(normed, T) * w,
        },
        "after" => match add_unit_offset {
            true => cast(normed * (widen(w) + 1.0), T),
            false => cast(normed * widen(w), T),
        },
    }
}

/// `x` over the root of the sum of its squares along the last axis; `eps` is added to the sum.
///
/// The norm of queries and keys in gated delta nets. Rounded once.
func l2_norm<T: float, ..B, N>(x: T[..B, N], eps: f32 = 1e-6) -> T[..B, N] {
    let f = widen(x);
    cast(f * rsqrt(complete(sum(square(f), dim = -1, keepdim = true)) + eps), T)
}

/// `cap * tanh(x / cap)`: holds logits between `-cap` and `cap` without a corner.
///
/// Gemma 2 caps its last logits at 30. Rounded once.
func softcap<T: float, ..B>(x: T[..B], cap: f32 = 30.0) -> T[..B] {
    cast(tanh(widen(x) / cap) * cap, T)
}

/// Rotary position embedding: turns pairs of features of each head by the angle of the token's
/// position (Su et al. 2021).
///
/// x is [.., tokens, heads, features]. Features i and i + R / 2 are a pair, as in Llama; with
/// `interleaved` it is features 2i and 2i + 1, as in GPT-J and DeepSeek. R is `rotary_dim`: the
/// first R features turn, the others pass. The tables have one row for each token, of R / 2 angles,
/// or of R where both halves repeat them. Rounded once.
func rope<T: float, C: float, ..B, S, H, D, A>(
    x: T[..B, S, H, D],
    cos: C[S, A],
    sin: C[S, A],
    interleaved: bool = false,
    rotary_dim: index = D,
) -> T[..B, S, H, D] {
    let half = rotary_dim / 2;
    let x1 = match rotary_dim == D {
        true => widen(x),
        false => {
            let (first, _) = split(widen(x), [rotary_dim, D - rotary_dim], dim = -1);
            first
        },
    };
    // one row of angles serves all heads of its token
    let c = unsqueeze(widen(cos), dim = -2);
    let s = unsqueeze(widen(sin), dim = -2);
    let y = match interleaved {
        true => {
            let (a, b) = split(unflatten(x1, [half, 2], dim = -1), [1, 1], dim = -1);
            let turned = flatten(concat([-b, a], dim = -1), start = -2);
            let (cp, sp) = match A == rotary_dim {
                true => (c[.., .., ..half], s[.., .., ..half]),
                false => (c, s),
            };
            x1 * repeat_interleave(cp, 2, dim = -1) + turned * repeat_interleave(sp, 2, dim = -1)
        },
        false => {
            let (a, b) = split(x1, [half, rotary_dim - half], dim = -1);
            let turned = concat([-b, a], dim = -1);
            match A == rotary_dim {
                true => x1 * c + turned * s,
                false => x1 * concat([c, c], dim = -1) + turned * concat([s, s], dim = -1),
            }
        },
    };
    match rotary_dim == D {
        true => cast(y, T),
        false => {
            let (_, rest) = split(x, [rotary_dim, D - rotary_dim], dim = -1);
            concat([cast(y, T), rest], dim = -1)
        },
    }
}

/// `silu(gate) * up`, the gated unit of Llama's feed-forward layers (Shazeer 2020).
///
/// `silu(gate)` is rounded before `up` multiplies it, as in eager PyTorch.
func swiglu<T: float, ..B>(gate: T[..B], up: T[..B]) -> T[..B] {
    silu(gate) * up
}

/// `gelu(gate) * up`, the gated unit of Gemma's feed-forward layers (Shazeer 2020).
///
/// `approximate` is that of `gelu`: `"none"` is the exact one, `"tanh"` the one of Gemma.
/// `gelu(gate)` is rounded before `up` multiplies it, as in eager PyTorch.
func geglu<T: float, ..B>(gate: T[..B], up: T[..B], approximate: str = "none") -> T[..B] {
    gelu(gate, approximate = approximate) * up
}
