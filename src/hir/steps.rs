//! What a twin's function does at stated sizes.
//!
//! In: a twin's function and a size for each dim. Out: its launches and fills in order, over the
//! values of a graph that holds nothing but views; and what is computed once before, from weights.
//! Sizes are numbers here: a `match` takes its arm, a `for` runs trip by trip, calls are pasted.

use super::elab::{Cx, Elab, Frame};
use super::kernels::ParamType;
use super::value::{Binding, Instance, Tile, Val, Window};
use super::{ItemRef, Program, item_name};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, Level};
use crate::graph::{Graph, NodeId, NodeKind, Output, ParamKind, ValueId, verify};
use crate::ops::Role;
use crate::syntax::ast::{self, ItemKind, Mode};
use crate::types::dim::{Env, Expr, VarId};
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::placement::{Placement, Storage};
use crate::types::ty::TensorTy;

/// A twin's function at stated sizes.
pub struct Steps {
    /// Parameters, weights and views. Buffers that the twin allocates are parameters of the root.
    pub graph: Graph,
    pub steps: Vec<Step>,
    /// The results, then the parameters that are updated, as the module's graph lists them.
    pub outputs: Vec<Output>,
    pub prepared: Vec<Prepared>,
    /// The arms of `match` that were taken: `ctx in 1..=64`.
    pub arms: Vec<String>,
}

/// One thing that happens on the device.
pub enum Step {
    /// A creation of the graph fills its buffer.
    Fill(NodeId),
    Launch(Launch),
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: ItemRef,
    /// One for each parameter of the kernel.
    pub args: Vec<Arg>,
    /// `grid`, `block`, `cluster`, `smem`, as far as they are given.
    pub options: Vec<LaunchOption>,
    pub cooperative: bool,
    pub span: Span,
    /// The calls it stands in: `step/layer`.
    pub path: String,
}

/// An option of a launch, with its numbers.
#[derive(Clone, Debug)]
pub struct LaunchOption {
    pub name: String,
    pub of: Vec<(Expr, Span)>,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Arg {
    Tensor { value: ValueId, mode: Mode, map: Option<TensorMap> },
    Scalar { dtype: DType, value: Num },
}

/// The part of a tensor map that its type says, in logical order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    pub tile: Vec<u64>,
    /// Bytes; 0 for none.
    pub swizzle: u64,
}

/// A value that is computed once from weights, before the first launch.
pub struct Prepared {
    /// The parameter that stands for it in the graph of the steps.
    pub value: ValueId,
    /// Its only output is the value.
    pub graph: Graph,
}

/// A prepared value that was met, as an item of an instance.
pub struct Wanted {
    value: ValueId,
    item: ItemRef,
    instance: Instance,
    twin: Option<ItemRef>,
}

/// What elaboration keeps while it follows a twin's function at stated sizes.
#[derive(Default)]
pub struct Recorder {
    launches: Vec<(usize, Launch)>,
    prepared: Vec<(String, Wanted)>,
    arms: Vec<String>,
    /// Trips of all loops so far.
    trips: usize,
}

/// Steps that one function may take.
const MAX_STEPS: usize = 1 << 16;

/// Follows a twin's function.
///
/// # Errors
/// What is wrong with it at these sizes; what is wrong at any is in [`super::twins::check`].
pub fn steps(p: &Program, func: ItemRef, sizes: &Env) -> Result<Steps, Vec<Diagnostic>> {
    follow(p, func, sizes, None)
}

/// The same for all sizes of a dim from the first to the last: its numbers are left open.
///
/// # Errors
/// As [`steps`]; also where the steps are not the same ones at all these sizes.
pub fn steps_over(
    p: &Program,
    func: ItemRef,
    sizes: &Env,
    (dim, first, last): (VarId, i64, i64),
) -> Result<Steps, Vec<Diagnostic>> {
    follow(p, func, sizes, Some((dim, first, last)))
}

fn follow(
    p: &Program,
    func: ItemRef,
    sizes: &Env,
    over: Option<(VarId, i64, i64)>,
) -> Result<Steps, Vec<Diagnostic>> {
    let Some(ItemKind::Func(f)) = p.item(func).map(|i| &i.kind) else { return Err(vec![]) };
    let Some((mr, m)) = super::twin_calls::boundary(p, func) else { return Err(vec![]) };
    let mut e = Elab::new(p, Cx::of(func), &f.name.text, f.header);
    start(&mut e, sizes);
    if let Some((dim, first, last)) = over {
        e.g.vars.set_bounds(dim, Expr::int(first), Expr::int(last));
        let mut known = Env::default();
        let others = p.dims.values().filter(|d| **d != dim);
        others.for_each(|d| sizes.get(*d).into_iter().for_each(|n| known.set(*d, n)));
        e.sizes = Some(known);
    }
    e.recorder = Some(Recorder::default());
    e.twin = super::twin_calls::around(p, func);
    e.cx.instance.module = e.twin;
    e.calls.push(func);
    let mut updated = vec![];
    for (q, t) in f.params.iter().zip(&m.params) {
        let mut w = None;
        e.in_item(mr, |e| {
            w = t.ty.as_ref().and_then(|t| e.written_type(t));
            Val::Unit
        });
        let val = match w {
            Some(w) => {
                let place = Placement::whole(Storage::Gmem, w.shape.len());
                let ty = TensorTy { dtype: w.dtype, shape: w.shape, place, range: w.range };
                let kind = if q.inout { ParamKind::Inout } else { ParamKind::Arg };
                Val::Tensor(e.g.add_param(q.name.text.clone(), kind, ty, q.span))
            }
            None => Val::Error,
        };
        if q.inout {
            updated.push(q.name.text.clone());
        }
        let (name, span) = (q.name.text.clone(), q.name.span);
        e.declare(Binding { name, val, mutable: q.inout, place: None, span });
    }
    let v = e.twin_result(func, &f.body);
    let mut leaves = vec![];
    v.leaves(&mut leaves);
    let many = leaves.len() > 1;
    let named = leaves.into_iter().enumerate().map(|(i, value)| {
        let name = if many { format!("output[{i}]") } else { "output".to_string() };
        Output { name, value }
    });
    let mut outputs: Vec<Output> = named.collect();
    for name in updated {
        let val = e.find(&name).and_then(|at| e.binding(at)).map(|b| b.val.clone());
        if let Some(Val::Tensor(value)) = val {
            outputs.push(Output { name, value });
        }
    }
    let (rec, wrong) = (e.recorder.take(), errors(&e.diags));
    let Some(rec) = rec.filter(|_| !wrong && !v.has_error()) else { return Err(e.diags) };
    let mut prepared = vec![];
    for (_, w) in rec.prepared {
        let graph = prepare(p, &w, sizes)?;
        prepared.push(Prepared { value: w.value, graph });
    }
    let graph = e.g;
    let steps = in_order(&graph, rec.launches);
    Ok(Steps { graph, steps, outputs, prepared, arms: rec.arms })
}

fn errors(d: &[Diagnostic]) -> bool {
    d.iter().any(|d| d.level == Level::Error)
}

/// Dims become their sizes.
fn start(e: &mut Elab, sizes: &Env) {
    let dims: Vec<VarId> = e.p.dims.values().copied().collect();
    for d in dims {
        if let Some(n) = sizes.get(d) {
            e.g.vars.set_bounds(d, Expr::int(n), Expr::int(n));
        }
    }
    e.sizes = Some(sizes.clone());
}

/// Launches with the fills that stand before them. A creation is a node, a launch is none: it
/// follows the nodes that were made before it.
fn in_order(g: &Graph, launches: Vec<(usize, Launch)>) -> Vec<Step> {
    let mut fills = g
        .nodes()
        .filter(|(_, n)| matches!(&n.kind, NodeKind::Op { op, .. } if op.role() == Role::Create))
        .map(|(id, _)| id)
        .peekable();
    let mut out = vec![];
    for (nodes, l) in launches {
        while let Some(id) = fills.next_if(|id| (id.0 as usize) < nodes) {
            out.push(Step::Fill(id));
        }
        out.push(Step::Launch(l));
    }
    out.extend(fills.map(Step::Fill));
    out
}

/// The graph of a prepared value.
fn prepare(p: &Program, w: &Wanted, sizes: &Env) -> Result<Graph, Vec<Diagnostic>> {
    let Some(item) = p.item(w.item) else { return Err(vec![]) };
    let Some(name) = item_name(&item.kind) else { return Err(vec![]) };
    let mut e = Elab::new(p, Cx::of(w.item), &name.text, name.span);
    start(&mut e, sizes);
    e.twin = w.twin;
    e.cx.instance = w.instance.clone();
    let v = e.prepared(w.item);
    let Val::Tensor(value) = v else { return Err(e.diags) };
    e.g.outputs.push(Output { name: "output".into(), value });
    let root = e.g.root;
    e.g.region_mut(root).results = vec![value];
    let more = super::place::run(&mut e.g, &e.annotated);
    e.diags.extend(more);
    if errors(&e.diags) {
        return Err(e.diags);
    }
    if let Err(broken) = verify::verify(&e.g) {
        let mut d = Diagnostic::new(
            Code::Internal,
            name.span,
            format!("the graph of `{}` breaks rules that the compiler relies on", name.text),
        );
        d.notes = broken.into_iter().take(5).collect();
        return Err(vec![d]);
    }
    Ok(e.g)
}

impl Elab<'_> {
    /// The size of a dim, where a twin's function is followed at stated sizes.
    pub fn stated(&self, v: VarId) -> Option<Expr> {
        self.sizes.as_ref()?.get(v).map(Expr::int)
    }

    /// An integer at the stated sizes.
    fn at_sizes(&self, e: &Expr) -> Option<i64> {
        e.as_int().or_else(|| e.eval(self.sizes.as_ref()?))
    }

    /// The body of a twin's function, held against the module's result.
    pub fn twin_result(&mut self, func: ItemRef, body: &ast::Block) -> Val {
        let v = self.function_block(body);
        let Some((mr, m)) = super::twin_calls::boundary(self.p, func) else { return v };
        let Some(t) = &m.ret else { return v };
        let span = body.tail.as_ref().map_or(body.span, |x| x.span);
        if matches!(v, Val::Unit) {
            let d = Diagnostic::new(Code::BadTwin, span, "the function gives no result")
                .label(t.span, "the boundary has one");
            return self.push(d);
        }
        self.in_item(mr, |e| e.fits(t, &v, span, "the result", t.span).map_or(Val::Error, |x| x.0))
    }

    /// A loop runs trip by trip. Gives `None` where its bounds are no numbers.
    pub fn trips(
        &mut self,
        (var, start, stop, step): (VarId, &Expr, &Expr, &Expr),
        name: &ast::Name,
        val: &Val,
        body: &ast::Block,
        span: Span,
    ) -> Option<Val> {
        let (a, b, s) = (self.at_sizes(start)?, self.at_sizes(stop)?, self.at_sizes(step)?);
        let mut i = a;
        while i < b && s > 0 {
            let n = self.recorder.as_mut().map_or(0, |r| {
                r.trips += 1;
                r.trips
            });
            if n > MAX_STEPS {
                let msg = format!("the loops of this function have more than {MAX_STEPS} trips");
                return Some(self.error(Code::TooDeep, span, msg));
            }
            let v = self.trip(var, i, val)?;
            self.frames.push(Frame::default());
            let (text, at) = (name.text.clone(), name.span);
            self.declare(Binding { name: text, val: v, mutable: false, place: None, span: at });
            self.block(body);
            self.frames.pop();
            if errors(&self.diags) {
                return Some(Val::Error);
            }
            i = i.saturating_add(s);
        }
        Some(Val::Unit)
    }

    /// What the loop's name stands for in one trip.
    fn trip(&self, var: VarId, i: i64, val: &Val) -> Option<Val> {
        let mut env = self.sizes.clone()?;
        env.set(var, i);
        let at = |e: &Expr| e.eval(&env).map(Expr::int);
        Some(match val {
            Val::Window(w) => Val::Window(Box::new(Window {
                start: at(&w.start)?,
                stop: at(&w.stop)?,
                tile: match &w.tile {
                    Some(t) => {
                        let (index, end) = (at(&t.index)?, at(&t.end)?);
                        Some(Tile { index, end, pad: t.pad.clone() })
                    }
                    None => None,
                },
            })),
            _ => Val::int(Expr::int(i)),
        })
    }

    /// A prepared value of a twin or its module is a parameter of its steps.
    pub fn prepared_param(&mut self, r: ItemRef) -> Option<Val> {
        self.recorder.as_ref()?;
        let p = self.p;
        let ItemKind::Prepare { name, ty, .. } = &p.item(r)?.kind else { return None };
        let path = &self.cx.instance.path;
        let at = |s: &super::value::Step| {
            let i = s.index.as_ref().and_then(|i| self.at_sizes(i));
            i.map_or(s.name.clone(), |i| format!("{}[{i}]", s.name))
        };
        let names: Vec<String> = path.iter().map(at).chain([name.text.clone()]).collect();
        let shown = names.join(".");
        let id = format!("{}:{:?}:{shown}", r.file, r.module);
        if let Some((_, w)) = self.recorder.as_ref()?.prepared.iter().find(|(k, _)| *k == id) {
            return Some(Val::Tensor(w.value));
        }
        let mut written = None;
        self.in_item(r, |e| {
            written = e.written_type(ty);
            Val::Unit
        });
        let Some(w) = written else { return Some(Val::Error) };
        let place = Placement::whole(Storage::Gmem, w.shape.len());
        let ty = TensorTy { dtype: w.dtype, shape: w.shape, place, range: w.range };
        let value = self.g.add_param(shown, ParamKind::Arg, ty, name.span);
        let wanted = Wanted { value, item: r, instance: self.cx.instance.clone(), twin: self.twin };
        if let Some(rec) = &mut self.recorder {
            rec.prepared.push((id, wanted));
        }
        Some(Val::Tensor(value))
    }

    /// Keeps the arm of a `match` that was taken.
    pub fn record_arm(&mut self, text: String) {
        if let Some(rec) = self.recorder.as_mut().filter(|r| !r.arms.contains(&text)) {
            rec.arms.push(text);
        }
    }

    /// Keeps a launch that was checked.
    pub fn record_launch(
        &mut self,
        kernel: ItemRef,
        params: &[ast::KernelParam],
        vals: &[(ParamType, Val)],
        l: &ast::Launch,
        span: Span,
    ) {
        if self.recorder.is_none() || errors(&self.diags) {
            return;
        }
        let mut args = vec![];
        for (q, (ty, v)) in params.iter().zip(vals) {
            let Some(a) = launch_value(q, ty, v) else { return };
            args.push(a);
        }
        let Some(mut options) = self.open_options(l) else { return };
        let nodes = self.g.node_count();
        let path = self.g.scope_path(self.scope);
        let cooperative = options.iter().any(|o| o.name == "cooperative");
        options.retain(|o| o.name != "cooperative");
        let launch = Launch { kernel, args, options, cooperative, span, path };
        let Some(rec) = &mut self.recorder else { return };
        if rec.launches.len() >= MAX_STEPS {
            let msg = format!("this function starts more than {MAX_STEPS} kernels");
            self.error(Code::TooDeep, span, msg);
            return;
        }
        rec.launches.push((nodes, launch));
    }

    fn open_options(&mut self, l: &ast::Launch) -> Option<Vec<LaunchOption>> {
        let mut out = vec![];
        for o in &l.options {
            let mut of = vec![];
            for a in &o.args {
                of.push((self.int_expr(&a.value)?, a.span));
            }
            out.push(LaunchOption { name: o.name.text.clone(), of });
        }
        Some(out)
    }
}

fn launch_value(q: &ast::KernelParam, ty: &ParamType, v: &Val) -> Option<Arg> {
    match v {
        Val::Tensor(value) => {
            let map = match ty {
                ParamType::Map { tile, swizzle, .. } => {
                    Some(TensorMap { tile: tile.clone(), swizzle: *swizzle })
                }
                _ => None,
            };
            Some(Arg::Tensor { value: *value, mode: q.mode?, map })
        }
        Val::Num(n) => Some(Arg::Scalar { dtype: ty.written().dtype, value: n.clone() }),
        _ => None,
    }
}
