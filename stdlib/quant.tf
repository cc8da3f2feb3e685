//! Quantizers: a tensor in a narrow float, and the scales that bring it back. The value is the
//! narrow element times its scale.
//!
//! Targets are f8e4m3 (largest value 448), f8e5m2 (57344) and f4e2m1 (6). Elements are taken in
//! f32, divided by their scale, held within the largest value of the target, since a cast to
//! f8e4m3 gives NaN above 464, and rounded once to nearest, ties to even. A NaN makes its scale
//! NaN, and with it all that shares the scale.
//!
//! f32 scales are `max(abs(x)) / largest`, so the largest magnitude lands on the largest value. A
//! magnitude below `eps` counts as `eps`, so that zeros have a scale, too: they give zeros.

// The largest value of a target.
func largest(to: dtype) -> index {
    match to {
        f8e4m3 => 448,
        f8e5m2 => 57344,
        f4e2m1 => 6,
    }
}

// What is left to do once elements are divided by their scale.
func saturate<..B>(x: f32[..B], to: dtype) -> to[..B] {
    cast(clamp(x, min = -largest(to), max = largest(to)), to)
}

/// One f32 scale for the whole tensor.
func quantize<T: float, ..B>(x: T[..B], to: dtype = f8e4m3, eps: f32 = 1e-12) -> (to[..B], f32) {
    let f = cast(x, f32);
    let scale = maximum(complete(abs_max(f)), eps) / largest(to);
    (saturate(f / scale, to), scale)
}

/// One f32 scale for each row, that is for each token of activations `[tokens, features]`. The
/// scales keep the last axis, with extent 1.
func quantize_rows<T: float, ..B, N>(
    x: T[..B, N],
    to: dtype = f8e4m3,
    eps: f32 = 1e-12,
) -> (to[..B, N], f32[..B, 1]) {
    let f = cast(x, f32);
    let scale = maximum(complete(abs_max(f, dim = -1, keepdim = true)), eps) / largest(to);
    (saturate(f / scale, to), scale)
}

/// One f32 scale for each `group` elements of a row, as DeepSeek-V3 quantizes activations. The
/// last axis must be a multiple of `group`.
func quantize_groups<T: float, ..B, N>(
    x: T[..B, N],
    to: dtype = f8e4m3,
    group: index = 128,
    eps: f32 = 1e-12,
) -> (to[..B, N], f32[..B, N / group]) {
    let f = unflatten(cast(x, f32), [N / group, group], dim = -1);
    let scale = maximum(complete(abs_max(f, dim = -1, keepdim = true)), eps) / largest(to);
    (flatten(saturate(f / scale, to), start = -2), squeeze(scale, dim = -1))
}

/// One f32 scale for each square of `block` by `block` elements of the last two axes, as
/// DeepSeek-V3 quantizes weights. The squares at the ends of rows and columns may be cut off;
/// whether they are must be known at compile time.
func quantize_blocks<T: float, ..B, R, C>(
    x: T[..B, R, C],
    to: dtype = f8e4m3,
    block: index = 128,
    eps: f32 = 1e-12,
) -> (to[..B, R, C], f32[..B, ceil_div(R, block), ceil_div(C, block)]) {
    let f = into_blocks(cast(x, f32), block = block);
    let top = complete(abs_max(f, dim = [-3, -1], keepdim = true));
    let scale = maximum(top, eps) / largest(to);
    let q = flatten(flatten(saturate(f / scale, to), start = -2), start = -3, end = -2);
    (q[..B, 0..R, 0..C], squeeze(scale, dim = [-3, -1]))
}

// The last two axes in squares, filled up with zeros at their ends.
func into_blocks<T: float, ..B, R, C>(
    x: T[..B, R, C],
    block: index,
) -> T[..B, ceil_div(R, block), block, ceil_div(C, block), block] {
    let rows = ceil_div(R, block);
    let cols = ceil_div(C, block);
    let tall = match R % block == 0 {
        true => x,
        false => concat([x, zeros(T[..B, rows * block - R, C])], dim = -2),
    };
    let whole = match C % block == 0 {
        true => tall,
        false => concat([tall, zeros(T[..B, rows * block, cols * block - C])], dim = -1),
    };
    unflatten(unflatten(whole, [cols, block], dim = -1), [rows, block], dim = -3)
}

/// The format MX of the OCP Microscaling specification: one f8e8m0 scale, a power of two, for each
/// 32 elements of a row. The exponent is that of the largest magnitude, `floor(log2(max(abs(x))))`,
/// less that of the largest value of the target; the least scale is 2^-127, which zeros get. Larger
/// elements than `largest * scale` saturate, and an infinity counts as the largest f32. The last
/// axis must be a multiple of `group`.
func quantize_mx<T: float, ..B, N>(
    x: T[..B, N],
    to: dtype = f8e4m3,
    group: index = 32,
) -> (to[..B, N], f8e8m0[..B, N / group]) {
    let f = unflatten(cast(x, f32), [N / group, group], dim = -1);
    let top = complete(abs_max(f, dim = -1, keepdim = true));
    let emax = match to {
        f8e4m3 => 8,
        f8e5m2 => 15,
        f4e2m1 => 2,
    };
    let scale = exp2(clamp(floor_log2(top) - emax, min = -127.0, max = 127.0));
    let q = flatten(saturate(f / scale, to), start = -2);
    (q, cast(squeeze(scale, dim = -1), f8e8m0))
}

// The exponent of the largest power of two not above x, from -127 to 127.
func floor_log2<..B>(x: f32[..B]) -> f32[..B] {
    let m = clamp(x, min = exp2(-127.0), max = (2.0 - exp2(-23.0)) * exp2(127.0));
    let e = floor(log2(m));
    // the logarithm of what is just below a power of two rounds up to the power
    e - cast(exp2(e) > m, f32)
}

/// The format NVFP4: f4e2m1 with one f8e4m3 scale for each `group` elements of a row, and one f32
/// scale of the whole tensor that brings the scales into the range of f8e4m3. The value is the
/// element times its scale times the tensor's. The least scale is 2^-9, the least value of f8e4m3.
/// The last axis must be a multiple of `group`.
func quantize_nvfp4<T: float, ..B, N>(
    x: T[..B, N],
    group: index = 16,
    eps: f32 = 1e-12,
) -> (f4e2m1[..B, N], f8e4m3[..B, N / group], f32) {
    let f = unflatten(cast(x, f32), [N / group, group], dim = -1);
    let top = complete(abs_max(f, dim = -1, keepdim = true));
    let whole = maximum(complete(max(top)), eps) / (largest(f8e4m3) * largest(f4e2m1));
    let scale = cast(clamp(top / largest(f4e2m1) / whole, min = exp2(-9.0), max = 448.0), f8e4m3);
    let q = saturate(f / (cast(scale, f32) * whole), f4e2m1);
    (flatten(q, start = -2), squeeze(scale, dim = -1), whole)
}

/// The values of `quantize` and `quantize_rows`: element times scale, in f32, rounded once to `to`.
/// The scale has extent 1 or nothing where elements share it.
func dequantize<Q: float, S: float, ..B, ..C>(
    q: Q[..B],
    scale: S[..C],
    to: dtype = f32,
) -> to[..B] {
    cast(cast(q, f32) * cast(scale, f32), to)
}

/// The values of `quantize_groups`: element times the scale of its group, in f32, rounded once to
/// `to`.
func dequantize_groups<Q: float, S: float, ..B, N>(
    q: Q[..B, N],
    scale: S[..B, N / group],
    group: index = 128,
    to: dtype = f32,
) -> to[..B, N] {
    let f = unflatten(cast(q, f32), [N / group, group], dim = -1);
    flatten(cast(f * unsqueeze(cast(scale, f32), dim = -1), to), start = -2)
}

/// The values of `quantize_mx`: an f8 or f4 element times a power of two is exact in f32, but for
/// results below its least value; rounded once to `to`.
func dequantize_mx<Q: float, ..B, N>(
    q: Q[..B, N],
    scale: f8e8m0[..B, N / group],
    group: index = 32,
    to: dtype = f32,
) -> to[..B, N] {
    dequantize_groups(q, scale, group = group, to = to)
}

/// The values of `quantize_nvfp4`: element times (scale times the tensor's scale), in f32, rounded
/// once to `to`.
func dequantize_nvfp4<..B, N>(
    q: f4e2m1[..B, N],
    scale: f8e4m3[..B, N / group],
    whole: f32,
    group: index = 16,
    to: dtype = f32,
) -> to[..B, N] {
    dequantize_groups(q, cast(scale, f32) * whole, group = group, to = to)
}

/// The values of `quantize_blocks`: element times the scale of its square, in f32, rounded once to
/// `to`. Squares may be cut off at the ends.
func dequantize_blocks<Q: float, S: float, ..B, R, C>(
    q: Q[..B, R, C],
    scale: S[..B, ceil_div(R, block), ceil_div(C, block)],
    block: index = 128,
    to: dtype = f32,
) -> to[..B, R, C] {
    let rows = repeat_interleave(cast(scale, f32), block, dim = -2)[..B, 0..R];
    let all = repeat_interleave(rows, block, dim = -1)[..B, 0..R, 0..C];
    cast(cast(q, f32) * all, to)
}

/// `a @ transpose(w)` as DeepSeek-V3 multiplies: activations with a scale for each `block` elements
/// of a row (`quantize_groups`), weights `[N, K]` with a scale for each square (`quantize_blocks`).
/// The product of each `block` of K is kept in f32, multiplied by the product of its two scales,
/// and added in f32; the sum is rounded once to `to`. K must be a multiple of `block`.
func matmul_blocks<A: float, W: float, ..B, M, K, N>(
    a: A[..B, M, K],
    a_scale: f32[..B, M, K / block],
    w: W[N, K],
    w_scale: f32[ceil_div(N, block), K / block],
    block: index = 128,
    to: dtype = bf16,
) -> to[..B, M, N] {
    let by_row = repeat_interleave(w_scale, block, dim = 0)[0..N];
    let mut acc = zeros(f32[..B, M, N]);
    for k in tile(K, block) {
        let part = matmul(a[..B, .., k], w[.., k], transpose_b = true, out = f32);
        let scale = unsqueeze(a_scale[..B, .., k.index], dim = -1) * by_row[.., k.index];
        acc = acc + part * scale;
    }
    cast(acc, to)
}

/// `a @ transpose(w)` of two operands in MX (`quantize_mx`), weights `[N, K]`. The product of each
/// `group` of K is kept in f32, multiplied by its two scales, and added in f32; the sum is rounded
/// once to `to`. K must be a multiple of `group`.
func matmul_mx<A: float, W: float, ..B, M, K, N>(
    a: A[..B, M, K],
    a_scale: f8e8m0[..B, M, K / group],
    w: W[N, K],
    w_scale: f8e8m0[N, K / group],
    group: index = 32,
    to: dtype = bf16,
) -> to[..B, M, N] {
    let rows = cast(a_scale, f32);
    let cols = cast(w_scale, f32);
    let mut acc = zeros(f32[..B, M, N]);
    for k in tile(K, group) {
        let part = matmul(a[..B, .., k], w[.., k], transpose_b = true, out = f32);
        // one scale after the other: their product may leave the range of f32
        acc = acc + part * unsqueeze(rows[..B, .., k.index], dim = -1) * cols[.., k.index];
    }
    cast(acc, to)
}
