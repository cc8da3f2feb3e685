//! Recurrences over tokens with a state of fixed size: the selective state space of Mamba-2, the
//! gated delta rule of Qwen3-Next, and Kimi Delta Attention, each as it is defined, token by token,
//! and in chunks, which give the same with matrix products; with the convolution before them and
//! the norm after them.
//!
//! Tokens stand before heads: `[.., S, heads, features]`. A state is `inout`: it holds what the
//! tokens before left and, after the call, what these leave; it begins as zeros. So a prompt is one
//! call, or several that follow each other, and a token after it is a `_step`. Everything is computed
//! in f32 (f64 for f64) from the operands as they are, results are rounded once to the dtype of
//! `x` or `v`, and the state once, at the end of a call, to its own.
//!
//! In chunks, the decay between two tokens is the exponential of a difference of cumulated
//! logarithms, so its relative error grows with their size: some units in the last place times the
//! sum of the logarithms over a chunk. The last chunk may be cut off.

/// A depthwise causal convolution over tokens: result t of a channel is `bias` plus the sum of its
/// last K inputs, x[t - K + 1] to x[t], times `w`; inputs before the first are 0. The sum, the bias
/// and, where asked for, `silu` are rounded once.
func causal_conv1d<T: float, ..B, S, C, K>(
    x: T[..B, S, C],
    w: T[C, K],
    bias: T[C] = zeros(T[C]),
    silu: bool = false,
) -> T[..B, S, C] {
    let seq = transpose(flatten(unsqueeze(x, dim = 0), start = 0, end = -3), [0, 2, 1]);
    let v = conv1d(
        seq,
        unsqueeze(w, dim = 1),
        bias = bias,
        groups = C,
        causal = true,
        out = widen(T),
    );
    activated(reshape(transpose(v, [0, 2, 1]), [..B, S, C]), x, silu = silu)
}

/// `causal_conv1d` after other tokens: the state has the last inputs of each channel, L of them, at
/// least K - 1, the newest last.
func causal_conv1d_update<T: float, ..B, S, C, L, K>(
    x: T[..B, S, C],
    inout state: T[..B, C, L],
    w: T[C, K],
    bias: T[C] = zeros(T[C]),
    silu: bool = false,
) -> T[..B, S, C] {
    let seq = concat([state, einsum("...sc->...cs", x)], dim = -1);
    let read = flatten(unsqueeze(seq[..B, .., L + 1 - K..], dim = 0), start = 0, end = -3);
    let v = conv1d(read, unsqueeze(w, dim = 1), bias = bias, groups = C, out = widen(T));
    state = seq[..B, .., S..];
    activated(reshape(transpose(v, [0, 2, 1]), [..B, S, C]), x, silu = silu)
}

/// `causal_conv1d_update` of one token.
func causal_conv1d_step<T: float, ..B, C, L, K>(
    x: T[..B, C],
    inout state: T[..B, C, L],
    w: T[C, K],
    bias: T[C] = zeros(T[C]),
    silu: bool = false,
) -> T[..B, C] {
    let seq = concat([state, unsqueeze(x, dim = -1)], dim = -1);
    let v = sum(widen(seq[..B, .., L + 1 - K..]) * widen(w), dim = -1) + widen(bias);
    state = seq[..B, .., 1..];
    activated(v, x, silu = silu)
}

/// `v` or its `silu`, rounded to the dtype of `like`.
func activated<F: float, T: float, ..B>(v: F[..B], like: T[..B], silu: bool) -> T[..B] {
    match silu {
        true => cast(silu(v), T),
        false => cast(v, T),
    }
}

/// The step sizes of Mamba-2: `softplus(dt + bias)`, held within a range.
func ssd_dt<T: float, A: float, ..B, H>(
    dt: T[..B, H],
    bias: A[H],
    min: f32 = 0.0,
    max: f32 = inf,
) {
    clamp(softplus(widen(dt) + cast(bias, widen(T))), min = min, max = max)
}

/// The state space of Mamba-2 (SSD), token by token. A head has a state h of `[P, N]`:
/// `h = exp(dt a) h + dt x b`, then `y = h c + skip x`. `a` is negative, dt is `ssd_dt`. Heads share
/// b and c in G groups: head i is in group i / (H / G).
func ssd_scan<T: float, D: float, A: float, W: float, ..B, S, H, P, G, N>(
    x: T[..B, S, H, P],
    dt: D[..B, S, H],
    a: A[H],
    b: T[..B, S, G, N],
    c: T[..B, S, G, N],
    inout h: W[..B, H, P, N],
    skip: A[H] = zeros(A[H]),
) -> T[..B, S, H, P] {
    let mut y = empty(T[..B, S, H, P]);
    let mut st = cast(h, widen(T));
    for t in 0..S {
        y[..B, t] = cast(
            ssd_token(
                widen(x)[..B, t],
                cast(dt, widen(T))[..B, t],
                cast(a, widen(T)),
                widen(b)[..B, t],
                widen(c)[..B, t],
                cast(skip, widen(T)),
                inout st,
            ),
            T,
        );
    }
    h = cast(st, W);
    y
}

/// `ssd_scan` of one token.
func ssd_step<T: float, D: float, A: float, W: float, ..B, H, P, G, N>(
    x: T[..B, H, P],
    dt: D[..B, H],
    a: A[H],
    b: T[..B, G, N],
    c: T[..B, G, N],
    inout h: W[..B, H, P, N],
    skip: A[H] = zeros(A[H]),
) -> T[..B, H, P] {
    let mut st = cast(h, widen(T));
    let y = ssd_token(
        widen(x),
        cast(dt, widen(T)),
        cast(a, widen(T)),
        widen(b),
        widen(c),
        cast(skip, widen(T)),
        inout st,
    );
    h = cast(st, W);
    cast(y, T)
}

/// One token of `ssd_scan`, nothing rounded.
func ssd_token<F: float, ..B, H, P, G, N>(
    x: F[..B, H, P],
    dt: F[..B, H],
    a: F[H],
    b: F[..B, G, N],
    c: F[..B, G, N],
    skip: F[H],
    inout h: F[..B, H, P, N],
) -> F[..B, H, P] {
    let xg = unflatten(x * unsqueeze(dt, dim = -1), [G, H / G], dim = -2);
    let fresh = einsum("...grp,...gn->...grpn", xg, b);
    h = h * unsqueeze(exp(dt * a), dim = [-2, -1]) + flatten(fresh, start = -4, end = -3);
    let y = complete(einsum("...grpn,...gn->...grp", unflatten(h, [G, H / G], dim = -3), c));
    flatten(y, start = -3, end = -2) + unsqueeze(skip, dim = -1) * x
}
