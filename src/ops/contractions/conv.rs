//! What convolutions over any number of axes share.
//!
//! `x` is [batch, channels, ..positions], `w` is [out channels, channels / groups, ..window].

use super::unroll::{Sizes, convolve};
use crate::ops::support::prelude::*;

/// A convolution.
pub struct Conv {
    pub name: &'static str,
    pub doc: Doc,
    pub params: &'static [Param],
    /// How many axes its windows move along.
    pub axes: usize,
    /// The axes of `x` and of `w`, for messages.
    pub layout: [&'static str; 2],
}

/// How windows lie over the positions of one axis of `x`.
struct Windows {
    stride: i64,
    dilation: i64,
    padding: Expr,
    causal: bool,
    /// Positions of `x`.
    len: Expr,
    /// Positions that one window reads.
    taps: Expr,
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

/// The operand that `bias` is, with its index.
fn bias<'a>(call: &Call<'a>) -> Option<(usize, &'a TensorTy)> {
    match call.attrs.get("bias") {
        Some(Attr::Operand(i)) => call.inputs.get(*i).map(|t| (*i, t)),
        _ => None,
    }
}

impl Windows {
    /// How the positions of `x` are read, where `dim` is the domain's dimension of windows, and
    /// whether that is exact.
    fn access(&self, call: &Call, dim: usize) -> (AxisAccess, bool) {
        let (taps, len) = (&self.taps, &self.len);
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

impl Conv {
    fn extent(&self, call: &Call, operand: usize, axis: usize) -> Result<Expr, OpError> {
        let e = call.input(operand)?.shape.get(axis);
        e.cloned()
            .ok_or_else(|| OpError::new(Code::Internal, format!("`{}` lost an axis", self.name)))
    }

    /// Plain integers of at least 1, one for each axis.
    fn plain(&self, call: &Call, name: &'static str) -> Result<Vec<i64>, OpError> {
        let wrong = |shown: String, what: &str| {
            OpError::new(
                Code::BadAttr,
                format!("`{}` takes a {what} `{name}`, found {shown}", self.name),
            )
            .at(name, format!("{shown} here"))
            .help(format!("`{name} = 1` is the default"))
        };
        let one = |e: Expr| match e.as_int() {
            Some(v) if (1..=i64::from(i32::MAX)).contains(&v) => Ok(v),
            Some(v) => Err(wrong(v.to_string(), "positive")),
            None => Err(wrong(format!("`{}`", call.vars.show(&e)), "plain integer as")),
        };
        check::per_axis(self.name, call, name, self.axes)?.into_iter().map(one).collect()
    }

    /// ` along axis 2` of `x`, where there is more than one.
    fn along(&self, axis: usize) -> String {
        if self.axes == 1 { String::new() } else { format!(" along axis {}", axis + 2) }
    }

    /// The windows of each axis.
    fn windows(&self, call: &Call) -> Result<Vec<Windows>, OpError> {
        let (stride, dilation) = (self.plain(call, "stride")?, self.plain(call, "dilation")?);
        let padding = check::per_axis(self.name, call, "padding", self.axes)?;
        let each = stride.into_iter().zip(dilation).zip(padding).enumerate();
        each.map(|(axis, ((s, d), p))| self.windows_of(call, axis, s, d, p)).collect()
    }

    fn windows_of(
        &self,
        call: &Call,
        axis: usize,
        stride: i64,
        dilation: i64,
        padding: Expr,
    ) -> Result<Windows, OpError> {
        let name = self.name;
        let causal = call.attrs.flag("causal");
        let (len, taps) = (self.extent(call, 0, axis + 2)?, self.extent(call, 1, axis + 2)?);
        let shown = call.vars.show(&padding);
        if call.vars.ge(&padding, &Expr::zero()) == Decision::No {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`{name}` takes a `padding` of at least 0, found {shown}"),
            )
            .at("padding", format!("{shown} here"))
            .help("a window of `x` drops positions: `x[.., .., 1..]`"));
        }
        if causal && !padding.is_zero() {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`{name}` takes no `padding` where it is causal, found {shown}"),
            )
            .at("padding", format!("{shown} here"))
            .help("`causal = true` itself pads before the first position; leave `padding` off"));
        }
        match call.vars.ge(&taps, &Expr::one()) {
            Decision::Yes => {}
            d => return Err(self.few_taps(call, axis, &taps, d)),
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
            d => return Err(self.too_short(call, axis, (&len, &padding), (&room, &span), d)),
        }
        let count = match causal {
            true => len.ceil_div(&Expr::int(stride)),
            false => room.sub(&span).floor_div(&Expr::int(stride)).add(&Expr::one()),
        };
        Ok(Windows { stride, dilation, padding, causal, len, taps, span, count })
    }

    fn few_taps(&self, call: &Call, axis: usize, taps: &Expr, d: Decision) -> OpError {
        let (name, along) = (self.name, self.along(axis));
        let (shown, w) = (call.vars.show(taps), check::show(call, 1));
        match d {
            Decision::Unknown => OpError::new(
                Code::Undecided,
                format!(
                    "`{name}` needs a window of at least 1{along}, and whether `{shown}` is, is \
                     undecided"
                ),
            ),
            _ => OpError::new(
                Code::ShapeMismatch,
                format!("`{name}` needs a window of at least 1{along}, found `w` {w}"),
            ),
        }
        .at("w", format!("{w} here"))
        .help(format!("the axes of `w` are {}", self.layout[1]))
    }

    fn too_short(
        &self,
        call: &Call,
        axis: usize,
        (len, padding): (&Expr, &Expr),
        (room, span): (&Expr, &Expr),
        d: Decision,
    ) -> OpError {
        let (name, along) = (self.name, self.along(axis));
        let [len, room, span] = [len, room, span].map(|e| call.vars.show(e));
        let padded = match padding.is_zero() {
            true => String::new(),
            false => format!(", padded {room}"),
        };
        let err = match d {
            Decision::Unknown => OpError::new(
                Code::Undecided,
                format!(
                    "`{name}` takes windows over {span} positions{along}, and whether `x` with \
                     {len}{padded} has as many is undecided"
                ),
            )
            .help("the bounds of a `dim` decide it: `dim L in 4..=1024;`"),
            _ => {
                let causal = match self.axes {
                    1 => ", `causal = true` at the start",
                    _ => "",
                };
                OpError::new(
                    Code::ShapeMismatch,
                    format!(
                        "`{name}` takes windows over {span} positions{along}, and `x` has \
                         {len}{padded}"
                    ),
                )
                .help(format!("`padding = n` adds n positions at both ends{causal}"))
            }
        };
        check::with_types(err, call, &[(0, "x"), (1, "w")])
    }

    fn groups(&self, call: &Call) -> Result<Groups, OpError> {
        let name = self.name;
        let count =
            call.attrs.int("groups").cloned().ok_or_else(|| check::missing(name, "groups"))?;
        let shown = call.vars.show(&count);
        match call.vars.ge(&count, &Expr::one()) {
            Decision::Yes => {}
            d => {
                return Err(OpError::new(
                    if d == Decision::No { Code::BadAttr } else { Code::Undecided },
                    format!("`{name}` takes a positive `groups`, found {shown}"),
                )
                .at("groups", format!("{shown} here"))
                .help("`groups = 1` lets each result see every channel"));
            }
        }
        let extent = |operand, axis| self.extent(call, operand, axis);
        let (channels, part, all) = (extent(0, 1)?, extent(1, 1)?, extent(1, 0)?);
        let help = format!(
            "`x` is {} and `w` is {}: `w` is {}, with `groups = {shown}`",
            check::show(call, 0),
            check::show(call, 1),
            self.layout[1]
        );
        let product = match count.is_one() {
            true => "axis 1 of `w`".to_string(),
            false => format!("`groups` times axis 1 of `w`, {},", call.vars.show(&part)),
        };
        check::equal(
            name,
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
                        format!("`{name}` cannot divide {n} channels of `w` into {shown} groups")
                    }
                    false => format!(
                        "`{name}` divides the channels of `w` into groups, and whether `{n}` is a \
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

    fn check_bias(&self, call: &Call, d: DType, out: DType) -> Result<(), OpError> {
        let Some((i, b)) = bias(call) else { return Ok(()) };
        let name = self.name;
        let shown = check::show(call, i);
        if b.dtype != d && b.dtype != out {
            let or = if d == out { String::new() } else { format!(" or {out}") };
            return Err(OpError::new(
                Code::DTypeMismatch,
                format!("`{name}` of {d} takes a `bias` of {d}{or}, found {shown}"),
            )
            .at("bias", format!("{shown} here"))
            .help(format!("`cast(bias, {d})` converts it")));
        }
        check::rank(name, call, i, "bias", 1)?;
        let help = format!(
            "`bias` is {shown} and `w` is {}: each channel of the result has one",
            check::show(call, 1)
        );
        check::equal(
            name,
            call,
            ("the axis of `bias`", &b.shape.first().cloned().unwrap_or_default()),
            ("axis 0 of `w`", &self.extent(call, 1, 0)?),
            &help,
        )
        .map_err(|e| check::with_types(e, call, &[(i, "bias"), (1, "w")]))
    }

    /// Batch, group, channel of the result in its group, windows, channel of `x` in its group,
    /// places in the window. Channels have one dimension where there is one group, or one channel
    /// a group.
    fn points(&self, call: &Call) -> Result<Domain, OpError> {
        let (groups, windows) = (self.groups(call)?, self.windows(call)?);
        let part = self.extent(call, 1, 1)?;
        let mut dims = vec![DomDim::parallel(self.extent(call, 0, 0)?)];
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
        let first = dims.len();
        dims.extend(windows.iter().map(|w| DomDim::parallel(w.count.clone())));
        let c = dims.len();
        if groups.count.is_one() || !part.is_one() {
            ins.push(c);
        }
        for e in std::iter::once(part).chain(windows.iter().map(|w| w.taps.clone())) {
            let mut dim = DomDim::reduce(e, Reduction::Sum);
            // every piece of a partial sum would add the bias
            dim.splittable = bias(call).is_none();
            dims.push(dim);
        }
        let dim = |d: usize| AxisAccess::Dims(vec![d]);
        let outs = AxisAccess::Dims(outs);
        let mut x = vec![dim(0), AxisAccess::Dims(ins)];
        let mut exact = true;
        for (i, w) in windows.iter().enumerate() {
            let (positions, known) = w.access(call, first + i);
            x.push(positions);
            exact &= known;
        }
        let mut w = vec![outs.clone()];
        w.extend((c..=c + self.axes).map(dim));
        let mut reads = vec![Access { axes: x }, Access { axes: w }];
        if bias(call).is_some() {
            reads.push(Access { axes: vec![outs.clone()] });
        }
        let mut write = vec![dim(0), outs];
        write.extend((first..c).map(dim));
        Ok(Domain { dims, reads, writes: vec![Access { axes: write }], exact })
    }
}

impl Op for Conv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "contractions"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let name = self.name;
        check::takes(name, call, 0, "x", Takes::Floats)?;
        check::takes(name, call, 1, "w", Takes::Floats)?;
        let d = check::same_dtype(name, call, (0, "x"), (1, "w"))?;
        for ((i, operand), axes) in [(0, "x"), (1, "w")].into_iter().zip(self.layout) {
            check::rank(name, call, i, operand, self.axes + 2)
                .map_err(|e| e.help(format!("the axes of `{operand}` are {axes}")))?;
        }
        let out = check::out_dtype(name, call, d, "x")?;
        self.groups(call)?;
        self.check_bias(call, d, out)?;
        let mut shape = vec![self.extent(call, 0, 0)?, self.extent(call, 1, 0)?];
        shape.extend(self.windows(call)?.into_iter().map(|w| w.count));
        Ok(vec![TensorTy::new(out, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        self.points(call).unwrap_or_else(|_| access::create(outs))
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

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let dtypes = cx.inputs.iter().map(Tensor::dtype).chain([out.dtype]);
        let sizes = Sizes::of(self, cx)?;
        Ok(vec![match Class::of(dtypes) {
            Class::F64 => f64::store(out.dtype, out.shape.clone(), convolve::<f64>(cx, &sizes)?),
            _ => f32::store(out.dtype, out.shape.clone(), convolve::<f32>(cx, &sizes)?),
        }])
    }

    fn contraction(&self) -> bool {
        true
    }
}
