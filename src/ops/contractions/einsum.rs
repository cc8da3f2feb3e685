//! The op `einsum`.

use std::borrow::Cow;

use super::spec::{Label, Product, Spec, Step, distinct};
use crate::ops::support::contract::{Batch, batched, batched_bf16};
use crate::ops::support::data::{permuted, strided};
use crate::ops::support::order::{Monoid, block, monoid};
use crate::ops::support::prelude::*;
use crate::ops::support::walk::strides;

struct Einsum;

pub static OP: &dyn Op = &Einsum;

fn parse(call: &Call) -> Result<Spec, OpError> {
    let text = call.attrs.str("spec").ok_or_else(|| check::missing("einsum", "spec"))?;
    let ranks: Vec<usize> = call.inputs.iter().map(TensorTy::rank).collect();
    Spec::parse(text, &ranks).map_err(|why| {
        let mut e = OpError::new(Code::BadAttr, format!("`einsum` cannot use \"{text}\": {why}"))
            .at("spec", "this text")
            .help("write one letter for each axis: `einsum(\"mk,kn->mn\", a, b)`");
        for i in 0..call.inputs.len() {
            e = e.at("operands", format!("operand {i} is {}", check::show(call, i)));
        }
        e
    })
}

/// The extent of each label, which all operands must agree on.
fn extents(call: &Call, spec: &Spec) -> Result<Vec<(Label, Expr)>, OpError> {
    let mut out: Vec<(Label, Expr, usize)> = vec![];
    for (i, (labels, t)) in spec.inputs.iter().zip(call.inputs).enumerate() {
        for (l, e) in labels.iter().zip(&t.shape) {
            let Some((_, have, who)) = out.iter().find(|(o, ..)| o == l) else {
                out.push((*l, e.clone(), i));
                continue;
            };
            let name = |i: usize| format!("axis `{}` of operand {i}", l.show());
            let help = format!(
                "operand {who} is {}, operand {i} is {}",
                check::show(call, *who),
                check::show(call, i)
            );
            check::equal("einsum", call, (&name(*who), have), (&name(i), e), &help)
                .map_err(|e| e.at("operands", "these do not agree"))?;
        }
    }
    Ok(out.into_iter().map(|(l, e, _)| (l, e)).collect())
}

fn extent(extents: &[(Label, Expr)], l: Label) -> Expr {
    extents.iter().find(|(o, _)| *o == l).map_or_else(Expr::one, |(_, e)| e.clone())
}

impl Op for Einsum {
    fn name(&self) -> &'static str {
        "einsum"
    }

    fn group(&self) -> &'static str {
        "contractions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A sum of products over named axes.",
                details: "The text names the axes of each operand and of the result; a letter \
                          that the result does not have is summed over, and one that \
                          stands twice in an operand takes its diagonal. `...` stands for \
                          leading axes. More than two operands are taken left to right, in \
                          between in f32 (f64 for f64); the result is rounded once to `out`, or \
                          to the operands' dtype. A step that contracts is two operations a \
                          point, one that only multiplies is one.",
                examples: &[
                    example(
                        "einsum(\"mk,nk->mn\", a, b)",
                        &[
                            ("a", "f32[1, 2]", &[1.0, 2.0]),
                            ("b", "f32[2, 2]", &[1.0, 1.0, 3.0, 4.0]),
                        ],
                        ("f32[1, 2]", &[3.0, 11.0]),
                    ),
                    example(
                        "einsum(\"...ii->...\", a)",
                        &[("a", "f32[2, 2, 2]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])],
                        ("f32[2]", &[5.0, 13.0]),
                    ),
                    example(
                        "einsum(\"i,j,j->ij\", a, b, c)",
                        &[
                            ("a", "f32[2]", &[1.0, 2.0]),
                            ("b", "f32[2]", &[1.0, 10.0]),
                            ("c", "f32[2]", &[2.0, 3.0]),
                        ],
                        ("f32[2, 2]", &[2.0, 30.0, 4.0, 60.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::attr("spec", ParamKind::Str),
                Param {
                    name: "operands",
                    kind: ParamKind::Tensors,
                    default: DefaultValue::Required,
                    positional: true,
                },
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Multilinear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("einsum", call, 0, "operands", Takes::Floats)?;
        for i in 1..call.inputs.len() {
            check::same_dtype("einsum", call, (0, "operands"), (i, "operands"))?;
        }
        let out = check::out_dtype("einsum", call, d, "operands")?;
        let spec = parse(call)?;
        let extents = extents(call, &spec)?;
        let shape = spec.output.iter().map(|l| extent(&extents, *l)).collect();
        Ok(vec![TensorTy::new(out, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Ok(spec) = parse(call) else { return access::create(outs) };
        let Ok(extents) = extents(call, &spec) else { return access::create(outs) };
        let all = spec.all();
        let dims = all
            .iter()
            .enumerate()
            .map(|(i, l)| match i < spec.output.len() {
                true => DomDim::parallel(extent(&extents, *l)),
                false => DomDim::reduce(extent(&extents, *l), Reduction::Sum),
            })
            .collect();
        let at = |labels: &[Label]| {
            Access::direct(labels.iter().map(|l| all.iter().position(|a| a == l).unwrap_or(0)))
        };
        Domain {
            dims,
            reads: spec.inputs.iter().map(|t| at(t)).collect(),
            writes: vec![at(&spec.output)],
            // of a diagonal the accesses say no more than the whole
            exact: !spec.diagonal(),
        }
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let (Ok(spec), Some(x)) = (parse(call), call.inputs.first()) else { return vec![] };
        let all = spec.all();
        let set = |labels: &[Label]| {
            let bits = labels.iter().filter_map(|l| all.iter().position(|a| a == l));
            Per::Dims(bits.fold(0, |s, i| s | 1 << i))
        };
        // after the first product the operand on the left is an accumulator
        let mut left = x.dtype;
        let mut work = vec![];
        for step in spec.steps() {
            let (resource, per, amount) = match &step {
                Step::Sum { from, right, .. } => {
                    let d = if *right { x.dtype } else { left };
                    (Resource::Fma(d), set(from), 1)
                }
                Step::Product(p) => {
                    let per = set(&[p.result().as_slice(), &p.k].concat());
                    let d = left;
                    left = if x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
                    match p.k.is_empty() {
                        true => (Resource::Fma(d), per, 1),
                        false => (Resource::Tensor(d), per, 2),
                    }
                }
            };
            work.push(Work { resource, per, amount });
        }
        work
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let ranks: Vec<usize> = cx.inputs.iter().map(Tensor::rank).collect();
        let spec =
            Spec::parse(cx.attrs.str("spec").unwrap_or(""), &ranks).map_err(EvalError::new)?;
        let axes = Axes::new(cx, &spec);
        if let Some(t) = axes.two(cx, &spec)? {
            return Ok(vec![t]);
        }
        let dtypes = cx.inputs.iter().map(Tensor::dtype).chain([out.dtype]);
        Ok(vec![match Class::of(dtypes) {
            Class::F64 => f64::store(
                out.dtype,
                out.shape.clone(),
                Run::<f64>::new(cx, &spec, axes, |x| block(x, 0.0, |a, b| a + b)).run()?,
            ),
            _ => f32::store(
                out.dtype,
                out.shape.clone(),
                Run::<f32>::new(cx, &spec, axes, |x| block(x, 0.0, |a, b| a + b)).run()?,
            ),
        }])
    }

    fn contraction(&self) -> bool {
        true
    }
}

/// The extents of the labels.
struct Axes(Vec<(Label, usize)>);

impl Axes {
    fn new(cx: &EvalCx, spec: &Spec) -> Axes {
        let axes = spec.inputs.iter().zip(cx.inputs);
        let extents = axes
            .flat_map(|(labels, t)| labels.iter().copied().zip(t.shape().iter().copied()))
            .collect();
        Axes(extents)
    }

    fn extent(&self, l: &Label) -> usize {
        self.0.iter().find(|(o, _)| o == l).map_or(1, |(_, n)| *n)
    }

    fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|l| self.extent(l)).collect()
    }

    fn count(&self, labels: &[Label]) -> usize {
        self.shape(labels).iter().product()
    }

    /// Labels of more than one index: the others do not matter to the order of the elements.
    fn long(&self, labels: &[Label]) -> Vec<Label> {
        labels.iter().copied().filter(|l| self.extent(l) != 1).collect()
    }

    /// The axes in another order.
    fn arrange<'v, E: Copy + Default + Send + Sync>(
        &self,
        v: Cow<'v, [E]>,
        from: &[Label],
        to: &[Label],
    ) -> Cow<'v, [E]> {
        let (from, to) = (self.long(from), self.long(to));
        if from == to {
            return v;
        }
        let perm: Vec<usize> = to.iter().filter_map(|l| from.iter().position(|f| f == l)).collect();
        let (shape, strides) = permuted(&self.shape(&from), &perm);
        Cow::Owned(strided(&v, &shape, &strides, 0))
    }

    /// A side of a product, as matrices of `rows` by `cols`, turned where that saves a copy.
    fn side<'v, E: Copy + Default + Send + Sync>(
        &self,
        v: Cow<'v, [E]>,
        from: &[Label],
        [batch, rows, cols]: [&[Label]; 3],
    ) -> (Cow<'v, [E]>, bool) {
        let (plain, turned) = ([batch, rows, cols].concat(), [batch, cols, rows].concat());
        let (is, a, b) = (self.long(from), self.long(&plain), self.long(&turned));
        let turn = is != a && (is == b || is.last() != a.last() && is.last() == b.last());
        (self.arrange(v, from, if turn { &turned } else { &plain }), turn)
    }

    /// Gives the two sides of a product, and which matrices of them meet, to `f`.
    fn sides<E: Copy + Default + Send + Sync, R>(
        &self,
        a: Cow<[E]>,
        b: Cow<[E]>,
        p: &Product,
        f: impl FnOnce(&Batch<E>, &Batch<E>, &[(usize, usize)]) -> R,
    ) -> R {
        let (a, turned_a) = self.side(a, &p.a, [&p.batch, &p.m, &p.k]);
        let (b, turned_b) = self.side(b, &p.b, [&p.batch, &p.k, &p.n]);
        let [m, n, k] = [&p.m, &p.n, &p.k].map(|l| self.count(l));
        let ma = Batch { data: &a, rows: m, cols: k, transposed: turned_a };
        let mb = Batch { data: &b, rows: k, cols: n, transposed: turned_b };
        let pairs: Vec<(usize, usize)> = (0..self.count(&p.batch)).map(|i| (i, i)).collect();
        f(&ma, &mb, &pairs)
    }

    /// One product of two bf16 operands, which need no wider copy.
    fn two(&self, cx: &EvalCx, spec: &Spec) -> Result<Option<Tensor>, EvalError> {
        let [x, y] = cx.inputs else { return Ok(None) };
        let (Slice::Bf16(a), Slice::Bf16(b)) = (x.data(), y.data()) else { return Ok(None) };
        let steps = spec.steps();
        let [Step::Product(p)] = &steps[..] else { return Ok(None) };
        let size = data::count(&self.shape(&p.result()))?;
        if spec.diagonal() || p.k.is_empty() || size == 0 {
            return Ok(None);
        }
        let (a, b, out) = (Cow::Borrowed(a), Cow::Borrowed(b), cx.out(0)?);
        let (made, to) = (p.result(), &spec.output);
        if out.dtype == DType::Bf16 {
            let v = self.sides(a, b, p, |a, b, at| batched_bf16(a, b, at, cx.exact_order));
            let v = self.arrange(Cow::Owned(v), &made, to).into_owned();
            return Ok(Some(data::tensor(out.dtype, out.shape.clone(), Data::Bf16(v))?));
        }
        let v = self.sides(a, b, p, |a, b, at| batched(a, b, at, cx.exact_order));
        let v = self.arrange(Cow::Owned(v), &made, to).into_owned();
        Ok(Some(f32::store(out.dtype, out.shape.clone(), v)))
    }
}

/// An evaluation in one float type.
struct Run<'a, T> {
    cx: &'a EvalCx<'a>,
    spec: &'a Spec,
    axes: Axes,
    sum: Monoid<T>,
}

impl<'a, T: Real> Run<'a, T> {
    fn new(cx: &'a EvalCx<'a>, spec: &'a Spec, axes: Axes, block: fn(&[T]) -> T) -> Run<'a, T> {
        Run { cx, spec, axes, sum: Monoid { block, ..monoid!(T::ZERO, |a: T, b: T| a + b) } }
    }

    /// The elements of an operand where its axes of one label have one index.
    fn diagonal<'v>(&self, v: Cow<'v, [T]>, labels: &[Label]) -> Cow<'v, [T]> {
        let kept = distinct(labels);
        if kept.len() == labels.len() {
            return v;
        }
        let steps = strides(&self.axes.shape(labels));
        let of = |l: &Label| {
            let axes = labels.iter().zip(&steps).filter(|(m, _)| *m == l);
            axes.map(|(_, s)| s).sum()
        };
        let steps: Vec<isize> = kept.iter().map(of).collect();
        Cow::Owned(strided(&v, &self.axes.shape(&kept), &steps, 0))
    }

    fn sum(&self, v: Cow<[T]>, from: &[Label], keep: &[Label]) -> Vec<T> {
        let gone: Vec<Label> = from.iter().copied().filter(|l| !keep.contains(l)).collect();
        let v = self.axes.arrange(v, from, &[keep, &gone].concat());
        self.sum.rows(&v.into_owned().into(), self.axes.count(keep), self.axes.count(&gone))
    }

    fn run(&self) -> Result<Vec<T>, EvalError> {
        let mut rest = self.cx.inputs.iter().zip(&self.spec.inputs);
        let mut load = || rest.next().map(|(t, l)| self.diagonal(T::load(t), l));
        let short = || EvalError::new("`einsum` lacks an operand");
        let mut acc = load().ok_or_else(short)?;
        let mut labels = self.spec.inputs.first().map_or(vec![], |t| distinct(t));
        let mut right: Option<Cow<[T]>> = None;
        for step in self.spec.steps() {
            match step {
                Step::Sum { right: true, from, keep } => {
                    let b = load().ok_or_else(short)?;
                    right = Some(Cow::Owned(self.sum(b, &from, &keep)));
                }
                Step::Sum { right: false, from, keep } => {
                    acc = Cow::Owned(self.sum(acc, &from, &keep));
                    labels = keep;
                }
                Step::Product(p) => {
                    let b = match right.take() {
                        Some(b) => b,
                        None => load().ok_or_else(short)?,
                    };
                    data::count(&self.axes.shape(&p.result()))?;
                    let exact = self.cx.exact_order;
                    acc = Cow::Owned(
                        self.axes.sides(acc, b, &p, |a, b, at| batched(a, b, at, exact)),
                    );
                    labels = p.result();
                }
            }
        }
        Ok(self.axes.arrange(acc, &labels, &self.spec.output).into_owned())
    }
}
