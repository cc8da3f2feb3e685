//! Recurrences over tokens with a state of fixed size: the selective state space of Mamba-2, the
//! gated delta rule of Qwen3-Next, and Kimi Delta Attention, each as it is defined, token by token,
//! and in chunks, which give the same with matrix products; with the convolution before them and
//! the norm after them.
//!
//! Tokens stand before heads: `[.., S, heads, features]`. A state is `inout`: it holds what the
//! tokens before left and, after the call, what these leave; it begins as zeros. So a prompt is one
//! call, or several that follow each other, and a token after it is a `_step`. Everything is
//! computed in f32 (f64 for f64) from the operands as they are, results are rounded once to the
//! dtype of `x` or `v`, and the state once, at the end of a call, to its own.
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
    bias: T[C] = none,
    silu: bool = false,
) -> T[..B, S, C] {
    let seq = transpose(flatten(unsqueeze(x, dim = 0), start = 0, end = -3), [0, 2, 1]);
    let v =
        conv1d(seq, unsqueeze(w, dim = 1), bias = bias, groups = C, causal = true, out = widen(T));
    activated(unflatten(transpose(v, [0, 2, 1]), B, dim = 0), x, silu = silu)
}

/// `causal_conv1d` after other tokens: the state has the last inputs of each channel, L of them, at
/// least K - 1, the newest last.
func causal_conv1d_update<T: float, ..B, S, C, L, K>(
    x: T[..B, S, C],
    inout state: T[..B, C, L],
    w: T[C, K],
    bias: T[C] = none,
    silu: bool = false,
) -> T[..B, S, C] {
    let seq = concat([state, einsum("...sc->...cs", x)], dim = -1);
    let read = flatten(unsqueeze(seq[..B, .., L + 1 - K..], dim = 0), start = 0, end = -3);
    let v = conv1d(read, unsqueeze(w, dim = 1), bias = bias, groups = C, out = widen(T));
    state = seq[..B, .., S..];
    activated(unflatten(transpose(v, [0, 2, 1]), B, dim = 0), x, silu = silu)
}

/// `causal_conv1d_update` of one token.
func causal_conv1d_step<T: float, ..B, C, L, K>(
    x: T[..B, C],
    inout state: T[..B, C, L],
    w: T[C, K],
    bias: T[C] = none,
    silu: bool = false,
) -> T[..B, C] {
    let seq = concat([state, unsqueeze(x, dim = -1)], dim = -1);
    let v = sum(widen(seq[..B, .., L + 1 - K..]) * widen(w), dim = -1);
    state = seq[..B, .., 1..];
    match bias {
        none => activated(v, x, silu = silu),
        _ => activated(v + widen(bias), x, silu = silu),
    }
}

// `v` or its `silu`, rounded to the dtype of `like`.
func activated<F: float, T: float, ..B>(v: F[..B], like: T[..B], silu: bool = false) -> T[..B] {
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
/// `h = exp(dt a) h + dt x b`, then `y = h c + skip x`. `a` is negative, dt is `ssd_dt`. Heads
/// share b and c in G groups: head i is in group i / (H / G), and H is a multiple of G.
func ssd_scan<T: float, D: float, A: float, W: float, ..B, S, H, P, G, N>(
    x: T[..B, S, H, P],
    dt: D[..B, S, H],
    a: A[H],
    b: T[..B, S, G, N],
    c: T[..B, S, G, N],
    inout h: W[..B, H, P, N],
    skip: A[H] = none,
) -> T[..B, S, H, P] {
    let mut y = empty(T[..B, S, H, P]);
    let mut st = cast(h, widen(T));
    for t in 0..S {
        let xt = widen(x[..B, t]);
        let o = ssd_token(
            xt,
            cast(dt[..B, t], widen(T)),
            cast(a, widen(T)),
            widen(b[..B, t]),
            widen(c[..B, t]),
            inout st,
        );
        y[..B, t] = cast(skipped(o, xt, skip = skip), T);
    }
    h = cast(st, W);
    y
}

/// `ssd_scan` of one token. H is a multiple of G.
func ssd_step<T: float, D: float, A: float, W: float, ..B, H, P, G, N>(
    x: T[..B, H, P],
    dt: D[..B, H],
    a: A[H],
    b: T[..B, G, N],
    c: T[..B, G, N],
    inout h: W[..B, H, P, N],
    skip: A[H] = none,
) -> T[..B, H, P] {
    let mut st = cast(h, widen(T));
    let y =
        ssd_token(widen(x), cast(dt, widen(T)), cast(a, widen(T)), widen(b), widen(c), inout st);
    h = cast(st, W);
    cast(skipped(y, widen(x), skip = skip), T)
}

// One token of `ssd_scan`, nothing rounded.
func ssd_token<F: float, ..B, H, P, G, N>(
    x: F[..B, H, P],
    dt: F[..B, H],
    a: F[H],
    b: F[..B, G, N],
    c: F[..B, G, N],
    inout h: F[..B, H, P, N],
) -> F[..B, H, P] {
    let xg = unflatten(x * unsqueeze(dt, dim = -1), [G, H / G], dim = -2);
    let fresh = einsum("...grp,...gn->...grpn", xg, b);
    let decay = unsqueeze(unsqueeze(exp(dt * a), dim = -1), dim = -1);
    h = h * decay + flatten(fresh, start = -4, end = -3);
    let y = complete(einsum("...grpn,...gn->...grp", unflatten(h, [G, H / G], dim = -3), c));
    flatten(y, start = -3, end = -2)
}

// `y + skip x`, a skip for each head.
func skipped<F: float, A: float, ..B, H, P>(
    y: F[..B, H, P],
    x: F[..B, H, P],
    skip: A[H] = none,
) -> F[..B, H, P] {
    match skip {
        none => y,
        _ => y + unsqueeze(cast(skip, F), dim = -1) * x,
    }
}

/// `ssd_scan` in chunks of tokens, with the same operands. Inside a chunk a token reads those
/// before it by a matrix of scores, as attention does; the state carries the rest from chunk to
/// chunk. H is a multiple of G.
func ssd_chunks<T: float, D: float, A: float, W: float, ..B, S, H, P, G, N>(
    x: T[..B, S, H, P],
    dt: D[..B, S, H],
    a: A[H],
    b: T[..B, S, G, N],
    c: T[..B, S, G, N],
    inout h: W[..B, H, P, N],
    skip: A[H] = none,
    chunk: index = 64,
) -> T[..B, S, H, P] {
    let mut y = empty(T[..B, S, H, P]);
    let mut st = unflatten(cast(h, widen(T)), [G, H / G], dim = -3);
    for w in tile(S, chunk, pad = 0.0) {
        let xc = unflatten(widen(x[..B, w]), [G, H / G], dim = -2);
        let bc = widen(b[..B, w]);
        let cc = widen(c[..B, w]);
        let dtc = unflatten(cast(dt[..B, w], widen(T)), [G, H / G], dim = -1);
        // the logarithm of the decay since the chunk's start
        let steps = dtc * unflatten(cast(a, widen(T)), [G, H / G], dim = 0);
        let la = cumsum(steps, dim = -3);
        let end = la[..B, chunk - 1..chunk];
        let fresh = xc * unsqueeze(dtc, dim = -1);

        // what the chunk's own tokens give each other
        let decay = exp(pairs(einsum("...lgr->...grl", la)));
        let scores = complete(einsum("...lgn,...sgn->...gls", cc, bc));
        let inner = einsum("...grls,...sgrp->...lgrp", unsqueeze(scores, dim = -3) * decay, fresh);

        // what the state from before the chunk gives them
        let carried = complete(einsum("...lgn,...grpn->...lgrp", cc, st));
        let all = inner + carried * unsqueeze(exp(la), dim = -1);
        let o = flatten(all, start = -3, end = -2);
        y[..B, w] = cast(skipped(o, widen(x[..B, w]), skip = skip), T);

        let kept = fresh * unsqueeze(exp(end - la), dim = -1);
        let whole = unsqueeze(unsqueeze(squeeze(exp(end), dim = -3), dim = -1), dim = -1);
        st = st * whole + einsum("...lgrp,...lgn->...grpn", kept, bc);
    }
    h = cast(flatten(st, start = -4, end = -3), W);
    y
}

// `la[i] - la[j]` where token i sees token j, that is from j on; `-inf` elsewhere.
func pairs<F: float, ..B, L>(la: F[..B, L]) -> F[..B, L, L] {
    where(tril_mask([L, L]), unsqueeze(la, dim = -1) - unsqueeze(la, dim = -2), -inf)
}

/// The RMS norm at the end of a layer with a gate, in `groups` equal parts of the last axis. With
/// `norm_before_gate`, as in Qwen3-Next: `rms_norm(x, w) * silu(gate)`, where the normalized row
/// lands in the dtype of `x` before the weight multiplies it. Without, as in Mamba-2: the norm is
/// of `x * silu(gate)`, in f32. N is a multiple of `groups`.
func rms_norm_gated<T: float, ..B, N>(
    x: T[..B, N],
    gate: T[..B, N],
    w: T[N],
    eps: f32 = 1e-6,
    groups: index = 1,
    norm_before_gate: bool = true,
) -> T[..B, N] {
    let g = silu(widen(gate));
    match norm_before_gate {
        true => cast(widen(cast(normalized(widen(x), eps = eps, groups = groups), T) * w) * g, T),
        false => cast(normalized(widen(x) * g, eps = eps, groups = groups), T) * w,
    }
}

// Parts of the last axis, each over the root of the mean of its squares. The defaults make constants
// of `eps` and `groups`, which take the dtype they meet.
func normalized<F: float, ..B, N>(x: F[..B, N], eps: f32 = 1e-6, groups: index = 1) -> F[..B, N] {
    let parts = unflatten(x, [groups, N / groups], dim = -1);
    let ms = complete(mean(square(parts), dim = -1, keepdim = true));
    flatten(parts * rsqrt(ms + eps), start = -2)
}

/// The logarithm of a decay, `-exp(a_log) * softplus(x + bias)`: of a head for the gated delta
/// rule, of a channel for Kimi Delta Attention. `a_log` and `bias` are broadcast against `x`.
func decay_gate<T: float, A: float, C: float, ..B, ..L, ..M>(
    x: T[..B],
    a_log: A[..L],
    bias: C[..M],
) {
    -exp(cast(a_log, widen(T))) * softplus(widen(x) + cast(bias, widen(T)))
}

/// The gated delta rule, token by token. A head has a state s of `[K, V]`, which a token first
/// makes smaller, `s = exp(g) s`, then corrects, `s = s + k (beta (v - k s))`, and reads, `q s`. q
/// is divided by `sqrt(K)`, after both q and k are divided by their norms where `l2_norm` is true.
/// `g` is not positive. q and k have J heads, each for H / J heads of v; H is a multiple of J.
func gated_delta_rule<T: float, D: float, E: float, W: float, ..B, S, J, H, K, V>(
    q: T[..B, S, J, K],
    k: T[..B, S, J, K],
    v: T[..B, S, H, V],
    g: D[..B, S, H],
    beta: E[..B, S, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
) -> T[..B, S, H, V] {
    delta_scan(
        delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K)),
        delta_heads(k, heads = H, l2_norm = l2_norm),
        v,
        unsqueeze(cast(g, widen(T)), dim = -1),
        cast(beta, widen(T)),
        inout state,
    )
}

/// `gated_delta_rule` of one token.
func gated_delta_step<T: float, D: float, E: float, W: float, ..B, J, H, K, V>(
    q: T[..B, J, K],
    k: T[..B, J, K],
    v: T[..B, H, V],
    g: D[..B, H],
    beta: E[..B, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
) -> T[..B, H, V] {
    let mut s = cast(state, widen(T));
    let o = delta_token(
        delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K)),
        delta_heads(k, heads = H, l2_norm = l2_norm),
        widen(v),
        unsqueeze(cast(g, widen(T)), dim = -1),
        cast(beta, widen(T)),
        inout s,
    );
    state = cast(s, W);
    cast(o, T)
}

/// `gated_delta_rule` in chunks of tokens: what the tokens of a chunk correct in each other is a
/// triangular system of the chunk's size, solved row by row.
func gated_delta_chunks<T: float, D: float, E: float, W: float, ..B, S, J, H, K, V>(
    q: T[..B, S, J, K],
    k: T[..B, S, J, K],
    v: T[..B, S, H, V],
    g: D[..B, S, H],
    beta: E[..B, S, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
    chunk: index = 64,
) -> T[..B, S, H, V] {
    let qs = delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K));
    let ks = delta_heads(k, heads = H, l2_norm = l2_norm);
    let mut y = empty(T[..B, S, H, V]);
    let mut s = cast(state, widen(T));
    for w in tile(S, chunk, pad = 0.0) {
        let qc = qs[..B, w];
        let kc = ks[..B, w];
        let la = cumsum(cast(g[..B, w], widen(T)), dim = -2);
        let decay = exp(pairs(einsum("...ih->...hi", la)));
        let o = delta_chunk(
            qc,
            kc,
            widen(v[..B, w]),
            cast(beta[..B, w], widen(T)),
            complete(einsum("...ihk,...jhk->...hij", qc, kc)) * decay,
            complete(einsum("...ihk,...jhk->...hij", kc, kc)) * decay,
            unsqueeze(la, dim = -1),
            inout s,
        );
        y[..B, w] = cast(o, T);
    }
    state = cast(s, W);
    y
}

/// Kimi Delta Attention, token by token: the gated delta rule with a decay of its own for each
/// channel of k, so `g` has its shape. q, k and v have H heads.
func kda<T: float, D: float, E: float, W: float, ..B, S, H, K, V>(
    q: T[..B, S, H, K],
    k: T[..B, S, H, K],
    v: T[..B, S, H, V],
    g: D[..B, S, H, K],
    beta: E[..B, S, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
) -> T[..B, S, H, V] {
    delta_scan(
        delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K)),
        delta_heads(k, heads = H, l2_norm = l2_norm),
        v,
        cast(g, widen(T)),
        cast(beta, widen(T)),
        inout state,
    )
}

/// `kda` of one token.
func kda_step<T: float, D: float, E: float, W: float, ..B, H, K, V>(
    q: T[..B, H, K],
    k: T[..B, H, K],
    v: T[..B, H, V],
    g: D[..B, H, K],
    beta: E[..B, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
) -> T[..B, H, V] {
    let mut s = cast(state, widen(T));
    let o = delta_token(
        delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K)),
        delta_heads(k, heads = H, l2_norm = l2_norm),
        widen(v),
        cast(g, widen(T)),
        cast(beta, widen(T)),
        inout s,
    );
    state = cast(s, W);
    cast(o, T)
}

/// `kda` in chunks of tokens. The decay between two tokens is made for each channel, which is what
/// keeps it from overflowing, and takes `chunk * chunk * K` elements a head: chunks are small.
func kda_chunks<T: float, D: float, E: float, W: float, ..B, S, H, K, V>(
    q: T[..B, S, H, K],
    k: T[..B, S, H, K],
    v: T[..B, S, H, V],
    g: D[..B, S, H, K],
    beta: E[..B, S, H],
    inout state: W[..B, H, K, V],
    l2_norm: bool = true,
    chunk: index = 16,
) -> T[..B, S, H, V] {
    let qs = delta_heads(q, heads = H, l2_norm = l2_norm) * (1.0 / sqrt(K));
    let ks = delta_heads(k, heads = H, l2_norm = l2_norm);
    let mut y = empty(T[..B, S, H, V]);
    let mut s = cast(state, widen(T));
    for w in tile(S, chunk, pad = 0.0) {
        let qc = qs[..B, w];
        let kc = ks[..B, w];
        let la = cumsum(cast(g[..B, w], widen(T)), dim = -3);
        let decay = exp(pairs(einsum("...ihk->...hki", la)));
        let o = delta_chunk(
            qc,
            kc,
            widen(v[..B, w]),
            cast(beta[..B, w], widen(T)),
            complete(einsum("...ihk,...hkij,...jhk->...hij", qc, decay, kc)),
            complete(einsum("...ihk,...hkij,...jhk->...hij", kc, decay, kc)),
            la,
            inout s,
        );
        y[..B, w] = cast(o, T);
    }
    state = cast(s, W);
    y
}

// Queries or keys as the delta rule takes them: in f32, divided by their norms, one for each head.
func delta_heads<T: float, ..B, J, K>(x: T[..B, J, K], heads: index, l2_norm: bool = true) {
    let f = widen(x);
    let unit = match l2_norm {
        true => f * rsqrt(complete(sum(square(f), dim = -1, keepdim = true)) + 1e-6),
        false => f,
    };
    match heads == J {
        true => unit,
        false => repeat_interleave(unit, heads / J, dim = -2),
    }
}

// The delta rule, token by token; the decay is of a head (D is 1) or of a channel (D is K).
func delta_scan<T: float, F: float, W: float, ..B, S, H, K, V, D>(
    q: F[..B, S, H, K],
    k: F[..B, S, H, K],
    v: T[..B, S, H, V],
    g: F[..B, S, H, D],
    beta: F[..B, S, H],
    inout state: W[..B, H, K, V],
) -> T[..B, S, H, V] {
    let mut y = empty(T[..B, S, H, V]);
    let mut s = cast(state, F);
    for t in 0..S {
        let o =
            delta_token(q[..B, t], k[..B, t], widen(v[..B, t]), g[..B, t], beta[..B, t], inout s);
        y[..B, t] = cast(o, T);
    }
    state = cast(s, W);
    y
}

// One token of the delta rule, nothing rounded.
func delta_token<F: float, ..B, H, K, V, D>(
    q: F[..B, H, K],
    k: F[..B, H, K],
    v: F[..B, H, V],
    g: F[..B, H, D],
    beta: F[..B, H],
    inout s: F[..B, H, K, V],
) -> F[..B, H, V] {
    let kept = s * unsqueeze(exp(g), dim = -1);
    let known = complete(einsum("...hk,...hkv->...hv", k, kept));
    let delta = (v - known) * unsqueeze(beta, dim = -1);
    s = kept + unsqueeze(k, dim = -1) * unsqueeze(delta, dim = -2);
    complete(einsum("...hk,...hkv->...hv", q, s))
}

// One chunk of the delta rule. `qk` and `kk` are the products of each query and key with the keys
// up to its own, decayed; `la` is the logarithm of the decay since the chunk's start.
func delta_chunk<F: float, ..B, L, H, K, V, D>(
    q: F[..B, L, H, K],
    k: F[..B, L, H, K],
    v: F[..B, L, H, V],
    beta: F[..B, L, H],
    qk: F[..B, H, L, L],
    kk: F[..B, H, L, L],
    la: F[..B, L, H, D],
    inout s: F[..B, H, K, V],
) -> F[..B, L, H, V] {
    let end = la[..B, L - 1..L];
    let from_start = exp(la);
    // row i of the solution: what it is to write, less what the rows before it write there
    let right = concat([v, k * from_start], dim = -1) * unsqueeze(beta, dim = -1);
    let rows = einsum("...lhx->...hlx", right);
    let lower = kk * unsqueeze(einsum("...lh->...hl", beta), dim = -1);
    let mut x = zeros(F[..B, H, L, V + K]);
    for i in 0..L {
        // rows from i on are still 0
        let before = einsum("...hj,...hjx->...hx", lower[..B, .., i], x);
        x[..B, .., i] = rows[..B, .., i] - before;
    }
    let (fresh, reads) = split(x, [V, K], dim = -1);
    let delta = fresh - complete(einsum("...hlk,...hkv->...hlv", reads, s));
    let inner = einsum("...hij,...hjv->...ihv", qk, delta);
    let carried = complete(einsum("...lhk,...hkv->...lhv", q * from_start, s));
    let whole = einsum("...lhd->...hld", exp(end));
    let decayed = s * unsqueeze(squeeze(whole, dim = -2), dim = -1);
    s = decayed + einsum("...lhk,...hlv->...hkv", k * exp(end - la), delta);
    inner + carried
}
