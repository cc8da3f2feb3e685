//! The op `conv1d`.

use rayon::prelude::*;

use crate::ops::support::prelude::*;

struct Conv1d;

pub static OP: &dyn Op = &Conv1d;

/// Below this many multiply-adds a convolution is not worth sharing.
const SMALL: usize = 1 << 17;

/// How windows lie over the positions of `x`.
struct Windows {
    stride: i64,
    dilation: i64,
    padding: Expr,
    causal: bool,
    /// Positions from the first to the last that one window covers.
    span: Expr,
    /// The number of windows.
    count: Expr,
}

/// How channels of `x` and of the result belong together.
struct Groups {
    count: Expr,
    /// Channels of the result in each group.
    outs: Expr,
}

fn extent(call: &Call, operand: usize, axis: usize) -> Result<Expr, OpError> {
    let e = call.input(operand)?.shape.get(axis);
    e.cloned().ok_or_else(|| OpError::new(Code::Internal, "`conv1d` lost an axis"))
}

/// A plain integer attribute of at least 1.
fn plain(call: &Call, name: &'static str) -> Result<i64, OpError> {
    let v = check::plain_int("conv1d", call, name)?;
    if (1..=i64::from(i32::MAX)).contains(&v) {
        return Ok(v);
    }
    Err(OpError::new(Code::BadAttr, format!("`conv1d` takes a positive `{name}`, found {v}"))
        .at(name, format!("{v} here"))
        .help(format!("`{name} = 1` is the default")))
}

impl Windows {
    fn of(call: &Call) -> Result<Windows, OpError> {
        let (stride, dilation) = (plain(call, "stride")?, plain(call, "dilation")?);
        let padding = call
            .attrs
            .int("padding")
            .cloned()
            .ok_or_else(|| check::missing("conv1d", "padding"))?;
        let causal = call.attrs.flag("causal");
        let (len, taps) = (extent(call, 0, 2)?, extent(call, 1, 2)?);
        let shown = call.vars.show(&padding);
        if call.vars.ge(&padding, &Expr::zero()) == Decision::No {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`conv1d` takes a `padding` of at least 0, found {shown}"),
            )
            .at("padding", format!("{shown} here"))
            .help("a window of `x` drops positions: `x[.., .., 1..]`"));
        }
        if causal && !padding.is_zero() {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`conv1d` takes no `padding` where it is causal, found {shown}"),
            )
            .at("padding", format!("{shown} here"))
            .help("`causal = true` itself pads before the first position; leave `padding` off"));
        }
        match call.vars.ge(&taps, &Expr::one()) {
            Decision::Yes => {}
            d => return Err(few_taps(call, &taps, d)),
        }
        let span = taps.sub(&Expr::one()).scale(dilation).add(&Expr::one());
        let room = match causal {
            true => len.add(&span).sub(&Expr::one()),
            false => len.add(&padding.scale(2)),
        };
        match call.vars.ge(&room, &span) {
            Decision::Yes => {}
            // a causal one keeps even an axis without positions
            _ if causal => {}
            d => return Err(too_short(call, (&len, &padding), (&room, &span), d)),
        }
        let count = match causal {
            true => len.ceil_div(&Expr::int(stride)),
            false => room.sub(&span).floor_div(&Expr::int(stride)).add(&Expr::one()),
        };
        Ok(Windows { stride, dilation, padding, causal, span, count })
    }

    /// How the positions of `x` are read, where `dim` is the domain's dimension of windows, and
    /// whether that is exact.
    fn access(&self, call: &Call, taps: &Expr, len: &Expr, dim: usize) -> (AxisAccess, bool) {
        if taps.is_one() && self.stride == 1 && self.padding.is_zero() {
            return (AxisAccess::Dims(vec![dim]), true);
        }
        if self.stride == 1 && (self.dilation == 1 || self.causal) {
            return (AxisAccess::Any { touched: len.clone() }, true);
        }
        // all windows together reach no farther than this, and read no more than this
        let last = self.count.sub(&Expr::one()).scale(self.stride);
        let mut touched = len.clone();
        for most in [last.add(&self.span), self.count.mul(taps)] {
            if call.vars.ge(&most, &touched) != Decision::Yes {
                touched = touched.min_of(&most);
            }
        }
        let exact =
            self.padding.is_zero() && !self.causal && (self.dilation == 1 || self.stride == 1);
        (AxisAccess::Any { touched }, exact)
    }
}

fn few_taps(call: &Call, taps: &Expr, d: Decision) -> OpError {
    let (shown, w) = (call.vars.show(taps), check::show(call, 1));
    match d {
        Decision::Unknown => OpError::new(
            Code::Undecided,
            format!(
                "`conv1d` needs a window of at least 1, and whether `{shown}` is, is undecided"
            ),
        ),
        _ => OpError::new(
            Code::ShapeMismatch,
            format!("`conv1d` needs a window of at least 1, found `w` {w}"),
        ),
    }
    .at("w", format!("{w} here"))
    .help("the last axis of `w` is the length of a window")
}

fn too_short(
    call: &Call,
    (len, padding): (&Expr, &Expr),
    (room, span): (&Expr, &Expr),
    d: Decision,
) -> OpError {
    let [len, room, span] = [len, room, span].map(|e| call.vars.show(e));
    let padded = match padding.is_zero() {
        true => String::new(),
        false => format!(", padded {room}"),
    };
    let err = match d {
        Decision::Unknown => OpError::new(
            Code::Undecided,
            format!(
                "`conv1d` takes windows over {span} positions, and whether `x` with {len}{padded} \
                 has as many is undecided"
            ),
        )
        .help("the bounds of a `dim` decide it: `dim L in 4..=1024;`"),
        _ => OpError::new(
            Code::ShapeMismatch,
            format!("`conv1d` takes windows over {span} positions, and `x` has {len}{padded}"),
        )
        .help("`padding = n` adds n positions at both ends, `causal = true` at the start"),
    };
    check::with_types(err, call, &[(0, "x"), (1, "w")])
}

impl Groups {
    fn of(call: &Call) -> Result<Groups, OpError> {
        let count =
            call.attrs.int("groups").cloned().ok_or_else(|| check::missing("conv1d", "groups"))?;
        let shown = call.vars.show(&count);
        match call.vars.ge(&count, &Expr::one()) {
            Decision::Yes => {}
            d => {
                return Err(OpError::new(
                    if d == Decision::No { Code::BadAttr } else { Code::Undecided },
                    format!("`conv1d` takes a positive `groups`, found {shown}"),
                )
                .at("groups", format!("{shown} here"))
                .help("`groups = 1` lets each result see every channel"));
            }
        }
        let (channels, part, all) = (extent(call, 0, 1)?, extent(call, 1, 1)?, extent(call, 1, 0)?);
        let help = format!(
            "`x` is {} and `w` is {}: `w` is [out channels, channels / groups, window], with \
             `groups = {shown}`",
            check::show(call, 0),
            check::show(call, 1)
        );
        let product = match count.is_one() {
            true => "axis 1 of `w`".to_string(),
            false => format!("`groups` times axis 1 of `w`, {},", call.vars.show(&part)),
        };
        check::equal(
            "conv1d",
            call,
            ("the channels of `x`", &channels),
            (&product, &part.mul(&count)),
            &help,
        )
        .map_err(|e| check::with_types(e, call, &[(0, "x"), (1, "w")]))?;
        let outs = all.exact_div(&count).ok_or_else(|| {
            let n = call.vars.show(&all);
            let known = all.as_int().is_some() && count.as_int().is_some();
            OpError::new(
                if known { Code::ShapeMismatch } else { Code::Undecided },
                match known {
                    true => {
                        format!("`conv1d` cannot divide {n} channels of `w` into {shown} groups")
                    }
                    false => format!(
                        "`conv1d` divides the channels of `w` into groups, and whether `{n}` is a \
                         multiple of `{shown}` is undecided"
                    ),
                },
            )
            .at("w", format!("{} here", check::show(call, 1)))
            .at("groups", format!("{shown} here"))
            .help("each group gives as many channels of the result as every other")
        })?;
        Ok(Groups { count, outs })
    }
}

/// The operand that `bias` is, with its index.
fn bias<'a>(call: &Call<'a>) -> Option<(usize, &'a TensorTy)> {
    match call.attrs.get("bias") {
        Some(Attr::Operand(i)) => call.inputs.get(*i).map(|t| (*i, t)),
        _ => None,
    }
}

fn check_bias(call: &Call, d: DType, out: DType) -> Result<(), OpError> {
    let Some((i, b)) = bias(call) else { return Ok(()) };
    let shown = check::show(call, i);
    if b.dtype != d && b.dtype != out {
        let or = if d == out { String::new() } else { format!(" or {out}") };
        return Err(OpError::new(
            Code::DTypeMismatch,
            format!("`conv1d` of {d} takes a `bias` of {d}{or}, found {shown}"),
        )
        .at("bias", format!("{shown} here"))
        .help(format!("`cast(bias, {d})` converts it")));
    }
    check::rank("conv1d", call, i, "bias", 1)?;
    let help = format!(
        "`bias` is {shown} and `w` is {}: each channel of the result has one",
        check::show(call, 1)
    );
    check::equal(
        "conv1d",
        call,
        ("the axis of `bias`", &b.shape.first().cloned().unwrap_or_default()),
        ("axis 0 of `w`", &extent(call, 1, 0)?),
        &help,
    )
    .map_err(|e| check::with_types(e, call, &[(i, "bias"), (1, "w")]))
}

impl Op for Conv1d {
    fn name(&self) -> &'static str {
        "conv1d"
    }

    fn group(&self) -> &'static str {
        "contractions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A convolution along the last axis.",
                details: "As in PyTorch: x is [batch, channels, positions], w is [out channels, \
                          channels / groups, window], and `y[n, o, l]` is the sum of `w[o, c, k] \
                          x[n, c', l stride + k dilation - padding]`, plus `bias[o]`; positions \
                          outside x add nothing. c' is channel c of the group of o, so `groups` \
                          as large as the channels is a depthwise convolution. `causal` pads \
                          before the first position alone, as much as a window reaches back: \
                          result l sees positions up to l, and at stride 1 there are as many \
                          results as positions. Sums accumulate in f32 (f64 for f64), channel by \
                          channel in the order of the window, on every machine alike; then the \
                          bias is added, and the result is rounded once to `out`, or to the \
                          operands' dtype. Two operations for each point, padding included; one \
                          more for each result with a bias. Not linear in `x` where it has a \
                          bias, so partial operands are refused.",
                examples: &[
                    example(
                        "conv1d(x, w)",
                        &[
                            ("x", "f32[1, 1, 4]", &[1.0, 2.0, 3.0, 5.0]),
                            ("w", "f32[1, 1, 2]", &[10.0, 1.0]),
                        ],
                        ("f32[1, 1, 3]", &[12.0, 23.0, 35.0]),
                    ),
                    example(
                        "conv1d(x, w, bias = b, groups = 2, causal = true)",
                        &[
                            ("x", "f32[1, 2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                            ("w", "f32[2, 1, 2]", &[10.0, 1.0, 0.0, 2.0]),
                            ("b", "f32[2]", &[0.5, -1.0]),
                        ],
                        ("f32[1, 2, 3]", &[1.5, 12.5, 23.5, 7.0, 9.0, 11.0]),
                    ),
                    example(
                        "conv1d(x, w, stride = 2, padding = 1, out = f32)",
                        &[
                            ("x", "bf16[1, 2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                            ("w", "bf16[1, 2, 3]", &[1.0, 10.0, 100.0, 0.0, 1.0, 0.0]),
                        ],
                        ("f32[1, 1, 2]", &[214.0, 38.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::tensor("w"),
                Param::named("bias", ParamKind::OptTensor, DefaultValue::Absent),
                Param::named("stride", ParamKind::Int, DefaultValue::Int(1)),
                Param::named("padding", ParamKind::Int, DefaultValue::Int(0)),
                Param::named("dilation", ParamKind::Int, DefaultValue::Int(1)),
                Param::named("groups", ParamKind::Int, DefaultValue::Int(1)),
                Param::named("causal", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("conv1d", call, 0, "x", Takes::Floats)?;
        check::takes("conv1d", call, 1, "w", Takes::Floats)?;
        let d = check::same_dtype("conv1d", call, (0, "x"), (1, "w"))?;
        for (i, name, axes) in [
            (0, "x", "[batch, channels, positions]"),
            (1, "w", "[out channels, channels / groups, window]"),
        ] {
            check::rank("conv1d", call, i, name, 3)
                .map_err(|e| e.help(format!("the axes of `{name}` are {axes}")))?;
        }
        let out = check::out_dtype("conv1d", call, d, "x")?;
        Groups::of(call)?;
        check_bias(call, d, out)?;
        let windows = Windows::of(call)?;
        Ok(vec![TensorTy::new(out, vec![extent(call, 0, 0)?, extent(call, 1, 0)?, windows.count])])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        domain(call).unwrap_or_else(|_| access::create(outs))
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(x) = call.inputs.first() else { return vec![] };
        let mut work = vec![Work::point(Resource::Tensor(x.dtype), 2)];
        if bias(call).is_some() {
            let acc = if x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
            work.push(Work::output(Resource::Fma(acc), 1));
        }
        work
    }

    /// False: a padded edge is not that of a block.
    fn blockwise(&self) -> bool {
        false
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let dtypes = cx.inputs.iter().map(Tensor::dtype).chain([out.dtype]);
        Ok(vec![match Class::of(dtypes) {
            Class::F64 => f64::store(out.dtype, out.shape.clone(), convolve::<f64>(cx)?),
            _ => f32::store(out.dtype, out.shape.clone(), convolve::<f32>(cx)?),
        }])
    }

    fn contraction(&self) -> bool {
        true
    }
}

/// Batch, group, channel of the result in its group, window, channel of `x` in its group, place in
/// the window. Channels have one dimension where there is one group, or one channel a group.
fn domain(call: &Call) -> Result<Domain, OpError> {
    let (groups, windows) = (Groups::of(call)?, Windows::of(call)?);
    let (len, taps) = (extent(call, 0, 2)?, extent(call, 1, 2)?);
    let part = extent(call, 1, 1)?;
    let mut dims = vec![DomDim::parallel(extent(call, 0, 0)?)];
    let mut outs = vec![];
    if !groups.count.is_one() {
        outs.push(dims.len());
        dims.push(DomDim::parallel(groups.count.clone()));
    }
    let mut ins = outs.clone();
    if groups.count.is_one() || !groups.outs.is_one() {
        outs.push(dims.len());
        dims.push(DomDim::parallel(groups.outs));
    }
    let l = dims.len();
    let (c, k) = (l + 1, l + 2);
    dims.push(DomDim::parallel(windows.count.clone()));
    if groups.count.is_one() || !part.is_one() {
        ins.push(c);
    }
    for e in [part, taps.clone()] {
        let mut dim = DomDim::reduce(e, Reduction::Sum);
        // every piece of a partial sum would add the bias
        dim.splittable = bias(call).is_none();
        dims.push(dim);
    }
    let (positions, exact) = windows.access(call, &taps, &len, l);
    let outs = AxisAccess::Dims(outs);
    let mut reads = vec![
        Access { axes: vec![AxisAccess::Dims(vec![0]), AxisAccess::Dims(ins), positions] },
        Access { axes: vec![outs.clone(), AxisAccess::Dims(vec![c]), AxisAccess::Dims(vec![k])] },
    ];
    if bias(call).is_some() {
        reads.push(Access { axes: vec![outs.clone()] });
    }
    let writes =
        vec![Access { axes: vec![AxisAccess::Dims(vec![0]), outs, AxisAccess::Dims(vec![l])] }];
    Ok(Domain { dims, reads, writes, exact })
}

/// The windows `from..to` whose place `at` (stride and padding apart) lies inside `len` positions.
fn inside(at: i64, stride: i64, len: usize, count: usize) -> (usize, usize) {
    let stride = stride.max(1);
    let up = |n: i64| n.saturating_add(stride - 1).div_euclid(stride);
    let clip = |n: i64| usize::try_from(n).unwrap_or(0).min(count);
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let to = clip(up(len.saturating_sub(at)));
    (clip(up(at.saturating_neg())).min(to), to)
}

fn convolve<T: Real>(cx: &EvalCx) -> Result<Vec<T>, EvalError> {
    let int = |name: &str| -> Result<i64, EvalError> {
        cx.int(name)?.ok_or_else(|| EvalError::new(format!("`conv1d` needs `{name}`")))
    };
    let (stride, dilation, groups) = (int("stride")?, int("dilation")?, int("groups")?);
    let (x, w, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
    let size = data::count(&out.shape)?;
    let (&[_, channels, len], &[all, part, taps], &[_, _, count]) =
        (x.shape(), w.shape(), out.shape.as_slice())
    else {
        return Err(EvalError::new("`conv1d` takes tensors of rank 3"));
    };
    let left = match cx.attrs.flag("causal") {
        true => (taps as i64).saturating_sub(1).saturating_mul(dilation),
        false => int("padding")?,
    };
    let each = usize::try_from(groups).ok().and_then(|g| all.checked_div(g)).unwrap_or(0);
    let bias = match cx.attrs.get("bias") {
        Some(Attr::Operand(i)) => Some(T::load(cx.input(*i)?)),
        _ => None,
    };
    let (xs, ws) = (T::load(x), T::load(w));
    let mut result = vec![T::ZERO; size];
    if size == 0 {
        return Ok(result);
    }
    // row `r` of the result is channel `r % all` of batch `r / all`
    let row = |r: usize, sums: &mut [T]| {
        let (n, o) = (r / all.max(1), r % all.max(1));
        let first = n * channels + o / each.max(1) * part;
        for c in 0..part {
            let from = (first + c) * len;
            let line = xs.get(from..from + len).unwrap_or(&[]);
            for k in 0..taps {
                let Some(&weight) = ws.get((o * part + c) * taps + k) else { continue };
                let at = (k as i64).saturating_mul(dilation).saturating_sub(left);
                let (a, b) = inside(at, stride, len, count);
                let start = (a as i64).saturating_mul(stride).saturating_add(at);
                let read = usize::try_from(start).ok().and_then(|s| line.get(s..)).unwrap_or(&[]);
                let sums = sums.get_mut(a..b).unwrap_or(&mut []);
                match stride {
                    1 => sums.iter_mut().zip(read).for_each(|(s, v)| *s = *s + weight * *v),
                    _ => {
                        let read = read.iter().step_by(stride.max(1) as usize);
                        sums.iter_mut().zip(read).for_each(|(s, v)| *s = *s + weight * *v);
                    }
                }
            }
        }
        if let Some(&b) = bias.as_ref().and_then(|b| b.get(o)) {
            sums.iter_mut().for_each(|s| *s = *s + b);
        }
    };
    if size.saturating_mul(part).saturating_mul(taps) < SMALL {
        result.chunks_mut(count).enumerate().for_each(|(r, sums)| row(r, sums));
    } else {
        result.par_chunks_mut(count).enumerate().for_each(|(r, sums)| row(r, sums));
    }
    Ok(result)
}
