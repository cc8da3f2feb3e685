//! A small builder of graphs, and ops enough for the engine's tests.

use super::super::{Options, Outcome, evaluate};
use crate::base::{FileId, Span};
use crate::diag::Diagnostic;
use crate::graph::verify::{node_exprs, verify};
use crate::graph::{Def, Graph, Node, NodeKind, Output, ParamKind, RegionId, ScopeId, ValueId};
use crate::ops::facts::{Domain, Work};
use crate::ops::{Attr, Attrs, Call, Doc, EvalCx, EvalError, Op, OpError, Param, Role, Sub};
use crate::types::dim::{Env, Expr, VarId, VarInfo, VarKind};
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};
use crate::types::placement::{AxisId, Mesh, MeshAxis, MeshId};
use crate::types::ty::TensorTy;
use crate::types::value::Tensor;

type Eval = fn(&EvalCx) -> Result<Vec<Tensor>, EvalError>;

/// An op of the tests.
pub struct TestOp {
    name: &'static str,
    role: Role,
    operands: &'static [Param],
    eval: Eval,
}

impl Op for TestOp {
    fn name(&self) -> &'static str {
        self.name
    }
    fn group(&self) -> &'static str {
        "tests"
    }
    fn doc(&self) -> Doc {
        Doc { summary: "", details: "", examples: &[] }
    }
    fn params(&self) -> &'static [Param] {
        self.operands
    }
    fn role(&self) -> Role {
        self.role
    }
    fn contraction(&self) -> bool {
        self.name == "matmul"
    }
    fn infer(&self, _: &Call) -> Result<Vec<TensorTy>, OpError> {
        Ok(vec![])
    }
    fn domain(&self, _: &Call, _: &[TensorTy]) -> Domain {
        Domain { dims: vec![], reads: vec![], writes: vec![], exact: true }
    }
    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }
    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        (self.eval)(cx)
    }
}

const X: &[Param] = &[Param::tensor("x")];
const XY: &[Param] = &[Param::tensor("x"), Param::tensor("y")];

fn none(_: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    Err(EvalError::new("the engine does this itself"))
}

fn zip(cx: &EvalCx, f: impl Fn(f64, f64) -> f64) -> Result<Vec<Tensor>, EvalError> {
    let (a, b) = (cx.input(0)?.to_f64s(), cx.input(1)?.to_f64s());
    let o = cx.out(0)?;
    let n = o.shape.iter().product::<usize>();
    let at = |v: &[f64], i: usize| v[i % v.len()];
    let out = (0..n).map(|i| f(at(&a, i), at(&b, i)));
    Ok(vec![Tensor::from_f64_iter(o.dtype, o.shape.clone(), out)])
}

fn matmul(cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    let (a, b, o) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let (x, y) = (a.to_f64s(), b.to_f64s());
    let dot = |i: usize| (0..k).map(|l| x[i / n * k + l] * y[l * n + i % n]).sum();
    Ok(vec![Tensor::from_f64_iter(o.dtype, o.shape.clone(), (0..m * n).map(dot))])
}

fn sum0(cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    let (x, o) = (cx.input(0)?, cx.out(0)?);
    let n: usize = o.shape.iter().product();
    let v = x.to_f64s();
    let out = (0..n).map(|i| v.iter().skip(i).step_by(n).sum());
    Ok(vec![Tensor::from_f64_iter(o.dtype, o.shape.clone(), out)])
}

fn reshape(cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    Ok(vec![cx.input(0)?.reshape(cx.out(0)?.shape.clone())])
}

fn zeros(cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    let o = cx.out(0)?;
    Ok(vec![Tensor::zeros(o.dtype, o.shape.clone())])
}

fn fails(_: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
    Err(EvalError::new("division by zero"))
}

macro_rules! ops {
    ($($id:ident = $name:literal, $role:ident, $params:expr, $eval:expr;)*) => {
        $(pub static $id: TestOp =
            TestOp { name: $name, role: Role::$role, operands: $params, eval: $eval };)*
    };
}

ops! {
    ADD = "add", Compute, XY, |cx| zip(cx, |a, b| a + b);
    MUL = "mul", Compute, XY, |cx| zip(cx, |a, b| a * b);
    MATMUL = "matmul", Compute, XY, matmul;
    SUM0 = "sum0", Compute, X, sum0;
    RESHAPE = "reshape", View, X, reshape;
    ZEROS = "zeros", Create, &[], zeros;
    EMPTY = "empty", Empty, &[], none;
    SLICE = "slice", Read, X, none;
    WRITE = "window_write", Write, XY, none;
    RESHARD = "reshard", Reshard, X, none;
    LOCAL = "local", Local, X, none;
    COLLECT = "collect", Collect, X, none;
    FAILS = "fails", Compute, X, fails;
}

pub fn f32s(shape: &[i64]) -> TensorTy {
    TensorTy::new(DType::F32, shape.iter().map(|n| Expr::int(*n)).collect())
}

pub fn i32s(shape: &[i64]) -> TensorTy {
    TensorTy::new(DType::I32, shape.iter().map(|n| Expr::int(*n)).collect())
}

pub fn iota(shape: &[usize], scale: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let vals = (0..n).map(|i| ((i * 7 + 3) % 13) as f64 * scale - 2.0);
    Tensor::from_f64_iter(DType::F32, shape.to_vec(), vals)
}

pub fn ints(v: &[i64]) -> Tensor {
    Tensor::from_i64s(DType::I32, vec![v.len()], v.to_vec())
}

pub fn at(e: impl Into<Expr>) -> Sub {
    Sub::At(e.into())
}

pub fn win(start: impl Into<Expr>, len: i64) -> Sub {
    Sub::Window { start: start.into(), len: len.into(), end: None, pad: None }
}

/// A window that may pass `end`, where reads give `pad`.
pub fn padded(start: impl Into<Expr>, len: i64, end: Option<Expr>, pad: f64) -> Sub {
    let pad = Some(Num::Float(Float::Const(pad)));
    Sub::Window { start: start.into(), len: len.into(), end, pad }
}

pub struct Build {
    pub g: Graph,
    region: RegionId,
    /// Spans count up, so that a message's place tells the node.
    at: usize,
}

impl Build {
    pub fn new() -> Build {
        let g = Graph::new("f", Span::new(FileId(0), 0, 1));
        let region = g.root;
        Build { g, region, at: 0 }
    }

    pub fn span(&mut self) -> Span {
        self.at += 10;
        Span::new(FileId(0), self.at, self.at + 5)
    }

    pub fn param(&mut self, name: &str, ty: TensorTy) -> ValueId {
        let span = self.span();
        self.g.add_param(name, ParamKind::Arg, ty, span)
    }

    pub fn output(&mut self, name: &str, value: ValueId) {
        self.g.outputs.push(Output { name: name.into(), value });
    }

    pub fn node(&mut self, kind: NodeKind, inputs: &[ValueId], tys: Vec<TensorTy>) -> Vec<ValueId> {
        let span = self.span();
        let mut node = Node {
            kind,
            inputs: inputs.to_vec(),
            uses: vec![],
            outputs: vec![],
            span,
            scope: ScopeId(0),
            hints: vec![],
            region: self.region,
        };
        for v in node_exprs(&node).iter().flat_map(Expr::vars) {
            if let Some(VarKind::Data(x)) = self.g.vars.get(v).map(|i| i.kind)
                && !node.uses.contains(&ValueId(x))
            {
                node.uses.push(ValueId(x));
            }
        }
        let id = self.g.add_node(node, tys);
        self.g.node(id).outputs.clone()
    }

    pub fn op(&mut self, op: &'static TestOp, inputs: &[ValueId], ty: TensorTy) -> ValueId {
        self.op_with(op, inputs, Attrs::default(), ty)
    }

    pub fn op_with(
        &mut self,
        op: &'static TestOp,
        inputs: &[ValueId],
        attrs: Attrs,
        ty: TensorTy,
    ) -> ValueId {
        self.node(NodeKind::Op { op, attrs }, inputs, vec![ty])[0]
    }

    pub fn slice(&mut self, x: ValueId, subs: Vec<Sub>, ty: TensorTy) -> ValueId {
        self.op_with(&SLICE, &[x], Attrs(vec![("subs", Attr::Subs(subs))]), ty)
    }

    pub fn write(&mut self, x: ValueId, subs: Vec<Sub>, tile: ValueId) -> ValueId {
        let ty = self.g.ty(x).clone();
        self.op_with(&WRITE, &[x, tile], Attrs(vec![("subs", Attr::Subs(subs))]), ty)
    }

    pub fn named(&mut self, v: ValueId, name: &str) -> ValueId {
        self.g.value_mut(v).name = Some(name.into());
        v
    }

    pub fn collect(&mut self, x: ValueId, axes: &[AxisId], ty: TensorTy) -> ValueId {
        self.op_with(&COLLECT, &[x], Attrs(vec![("axes", Attr::Axes(axes.to_vec()))]), ty)
    }

    pub fn number(&mut self, e: Expr) -> ValueId {
        self.node(NodeKind::Const(Num::Int(e)), &[], vec![f32s(&[])])[0]
    }

    fn var(&mut self, name: &str, kind: VarKind, lo: Expr, hi: Expr) -> VarId {
        let span = self.span();
        self.g.vars.add(VarInfo { name: name.into(), kind, lo, hi, span })
    }

    pub fn dim(&mut self, name: &str, hi: i64) -> Expr {
        let v = self.var(name, VarKind::Dim, 1.into(), hi.into());
        self.g.dims.push(v);
        Expr::var(v)
    }

    /// A rank-0 integer value as a number.
    pub fn data(&mut self, v: ValueId, name: &str) -> Expr {
        let (lo, hi) = self.g.ty(v).range.clone().unwrap_or((0.into(), 1000.into()));
        Expr::var(self.var(name, VarKind::Data(v.0), lo, hi))
    }

    pub fn each(
        &mut self,
        (start, stop, step): (Expr, Expr, i64),
        carried: &[ValueId],
        f: impl FnOnce(&mut Build, Expr, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let var = self.var("i", VarKind::Loop, start.clone(), stop.clone());
        let body = self.g.add_region();
        let outer = std::mem::replace(&mut self.region, body);
        let tys: Vec<TensorTy> = carried.iter().map(|v| self.g.ty(*v).clone()).collect();
        let mut params = vec![];
        for ty in &tys {
            let span = self.span();
            params.push(self.g.add_region_param(body, ty.clone(), span));
        }
        let results = f(self, Expr::var(var), &params);
        self.g.region_mut(body).results = results;
        self.region = outer;
        let kind = NodeKind::Loop { var, start, stop, step: step.into(), body };
        self.node(kind, carried, tys)
    }

    /// A mesh `g` with these axes; `f` gets their ids and coordinates.
    pub fn mesh(
        &mut self,
        axes: &[(&str, i64)],
        f: impl FnOnce(&mut Build, &[AxisId], &[Expr]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let first = self.g.meshes.next_axis().0;
        let span = self.span();
        let ids: Vec<AxisId> = (0..axes.len()).map(|i| AxisId(first + i as u32)).collect();
        let size: i64 = axes.iter().map(|a| a.1).product();
        let id = self.g.meshes.add_mesh(Mesh {
            name: "g".into(),
            level: "cta".into(),
            rank: 0,
            axes: ids.clone(),
            parent: None,
            offset: 0.into(),
            size: size.into(),
            span,
        });
        let mut coords = vec![];
        for (name, n) in axes {
            let axis = self.g.meshes.next_axis();
            let name = format!("g.{name}");
            let var = self.var(&name, VarKind::Coord(axis.0), 0.into(), (*n - 1).into());
            let (extent, stride) = (Expr::int(*n), Expr::one());
            self.g.meshes.add_axis(MeshAxis { name, mesh: id, extent, var, stride });
            coords.push(Expr::var(var));
        }
        let body = self.g.add_region();
        let results = self.inside(body, |b| f(b, &ids, &coords));
        let tys = results.iter().map(|v| self.g.ty(*v).clone()).collect();
        self.node(NodeKind::Mesh { meshes: vec![id], body }, &[], tys)
    }

    /// The positions `lo..lo + n` of a mesh with one axis, and their own coordinate.
    pub fn part(&mut self, whole: MeshId, lo: i64, n: i64) -> (MeshId, Expr) {
        let axis = self.g.meshes.next_axis();
        let span = self.span();
        let mesh = self.g.meshes.add_mesh(Mesh {
            name: "part".into(),
            level: "cta".into(),
            rank: 0,
            axes: vec![axis],
            parent: Some(whole),
            offset: lo.into(),
            size: n.into(),
            span,
        });
        let var = self.var("part.w", VarKind::Coord(axis.0), 0.into(), (n - 1).into());
        let name = "part.w".to_string();
        self.g.meshes.add_axis(MeshAxis { name, mesh, extent: n.into(), var, stride: Expr::one() });
        (mesh, Expr::var(var))
    }

    pub fn on(&mut self, part: MeshId, f: impl FnOnce(&mut Build) -> Vec<ValueId>) -> Vec<ValueId> {
        let body = self.g.add_region();
        let results = self.inside(body, f);
        let tys = results.iter().map(|v| self.g.ty(*v).clone()).collect();
        self.node(NodeKind::On { part, body }, &[], tys)
    }

    pub fn inside(
        &mut self,
        region: RegionId,
        f: impl FnOnce(&mut Build) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let outer = std::mem::replace(&mut self.region, region);
        let results = f(self);
        self.g.region_mut(region).results = results.clone();
        self.region = outer;
        results
    }

    pub fn run(&self, inputs: &[Tensor]) -> Result<Outcome, Box<Diagnostic>> {
        self.run_with(&Env::default(), inputs, &Options::default())
    }

    pub fn run_with(
        &self,
        env: &Env,
        inputs: &[Tensor],
        opts: &Options,
    ) -> Result<Outcome, Box<Diagnostic>> {
        assert_eq!(verify(&self.g), Ok(()), "{}", crate::graph::print::print(&self.g));
        for (id, v) in self.g.values() {
            assert!(
                matches!(v.def, Def::Node(..) | Def::Param(_) | Def::RegionParam(..)),
                "{id:?}"
            );
        }
        evaluate(&self.g, env, inputs, opts)
    }
}

/// The elements of the only output.
pub fn only(r: Result<Outcome, Box<Diagnostic>>) -> Vec<f64> {
    let out = r.unwrap_or_else(|d| panic!("{d:#?}"));
    assert_eq!(out.outputs.len(), 1);
    out.outputs[0].to_f64s().into_owned()
}
