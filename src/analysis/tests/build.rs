//! Test ops and a builder of graphs.

use crate::base::{FileId, Span};
use crate::graph::{
    Graph, Hint, HintArg, Node, NodeId, NodeKind, ParamKind, RegionId, ScopeId, ValueId,
};
use crate::ops::facts::{Access, AxisAccess, DomDim, Domain, Resource, Work};
use crate::ops::*;
use crate::target::Target;
use crate::types::dim::{Env, Expr, VarId, VarInfo, VarKind};
use crate::types::dtype::DType;
use crate::types::placement::*;
use crate::types::ty::TensorTy;
use crate::types::value::Tensor;

pub enum Kind {
    /// Elementwise with right-aligned broadcast, one `fma` or `sfu` a point.
    Arith,
    Sfu,
    Cast,
    /// `[M, K] x [K, N]`.
    Matmul,
    /// Sums the last axis and keeps it at extent 1.
    SumLast,
    Move(Role),
}

pub struct TestOp(pub &'static str, pub Kind);

pub static ADD: TestOp = TestOp("add", Kind::Arith);
pub static MUL: TestOp = TestOp("mul", Kind::Arith);
pub static RSQRT: TestOp = TestOp("rsqrt", Kind::Sfu);
pub static CAST: TestOp = TestOp("cast", Kind::Cast);
pub static MATMUL: TestOp = TestOp("matmul", Kind::Matmul);
pub static SUM: TestOp = TestOp("sum", Kind::SumLast);
pub static RESHARD: TestOp = TestOp("reshard", Kind::Move(Role::Reshard));
pub static COMPLETE: TestOp = TestOp("complete", Kind::Move(Role::Complete));
pub static ZEROS: TestOp = TestOp("zeros", Kind::Move(Role::Create));
pub static EMPTY: TestOp = TestOp("empty", Kind::Move(Role::Empty));
pub static READ: TestOp = TestOp("slice", Kind::Move(Role::Read));
pub static VIEW: TestOp = TestOp("view", Kind::Move(Role::View));
pub static WRITE: TestOp = TestOp("write", Kind::Move(Role::Write));

impl Op for TestOp {
    fn name(&self) -> &'static str {
        self.0
    }
    fn group(&self) -> &'static str {
        "test"
    }
    fn doc(&self) -> Doc {
        Doc { summary: "", details: "", examples: &[] }
    }
    fn params(&self) -> &'static [Param] {
        &[]
    }
    fn role(&self) -> Role {
        match self.1 {
            Kind::Move(r) => r,
            _ => Role::Compute,
        }
    }
    fn partial_rule(&self) -> PartialRule {
        if self.0 == "add" { PartialRule::Linear } else { PartialRule::None }
    }
    fn infer(&self, _: &Call) -> Result<Vec<TensorTy>, OpError> {
        Ok(vec![])
    }
    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let out = &outs[0].shape;
        let n = out.len();
        let mut dims: Vec<DomDim> = out.iter().cloned().map(DomDim::parallel).collect();
        let (mut reads, mut writes) = (vec![], vec![Access::direct(0..n)]);
        match self.1 {
            Kind::Matmul => {
                dims.push(DomDim::reduce(call.inputs[0].shape[1].clone(), Reduction::Sum));
                reads = vec![Access::direct([0, 2]), Access::direct([2, 1])];
            }
            Kind::SumLast => {
                dims.pop();
                let last = call.inputs[0].shape[n - 1].clone();
                dims.push(DomDim::reduce(last, Reduction::Sum));
                reads = vec![Access::direct(0..n)];
                writes[0].axes[n - 1] = AxisAccess::Dims(vec![]);
            }
            _ => {
                for t in call.inputs {
                    let skip = n - t.rank();
                    let axis = |(i, e): (usize, &Expr)| match e.is_one() {
                        true => AxisAccess::Dims(vec![]),
                        false => AxisAccess::Dims(vec![skip + i]),
                    };
                    reads.push(Access { axes: t.shape.iter().enumerate().map(axis).collect() });
                }
            }
        }
        Domain { dims, reads, writes, exact: true }
    }
    fn work(&self, call: &Call, outs: &[TensorTy]) -> Vec<Work> {
        match self.1 {
            Kind::Arith | Kind::SumLast => vec![Work::point(Resource::arith(outs[0].dtype), 1)],
            Kind::Sfu => vec![Work::point(Resource::Sfu, 1)],
            Kind::Cast => vec![Work::point(Resource::Cvt, 1)],
            Kind::Matmul => vec![Work::point(Resource::Tensor(call.inputs[0].dtype), 2)],
            Kind::Move(_) => vec![],
        }
    }
    fn eval(&self, _: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![])
    }
    fn in_place(&self) -> bool {
        matches!(self.1, Kind::Arith | Kind::Sfu | Kind::Cast)
    }
    fn contraction(&self) -> bool {
        matches!(self.1, Kind::Matmul)
    }
}

pub fn span() -> Span {
    Span::new(FileId(0), 0, 0)
}

pub fn h200() -> Target {
    Target::builtin("nvidia.h200_sxm").unwrap()
}

pub struct Build {
    pub g: Graph,
    pub at: RegionId,
    pub hints: Vec<Hint>,
}

pub fn ints(shape: &[i64]) -> Vec<Expr> {
    shape.iter().map(|n| Expr::int(*n)).collect()
}

pub fn ty(d: DType, shape: &[i64]) -> TensorTy {
    TensorTy::new(d, ints(shape))
}

/// Placed: for each axis the factors, `(extent, mesh axis)`.
pub fn placed(d: DType, shape: &[i64], s: Storage, split: &[&[(i64, Option<AxisId>)]]) -> TensorTy {
    let mut t = ty(d, shape);
    t.place.storage = s;
    for (i, f) in split.iter().enumerate() {
        let factor = |(e, a): &(i64, Option<AxisId>)| Factor { extent: Expr::int(*e), axis: *a };
        let product: i64 = f.iter().map(|(e, _)| e).product();
        let padded = !f.is_empty() && product != shape[i];
        t.place.axes[i] = AxisSplit { factors: f.iter().map(factor).collect(), padded };
    }
    t
}

pub fn hint(name: &str, args: &[HintArg]) -> Hint {
    Hint { name: name.into(), args: args.iter().map(|a| (None, a.clone())).collect(), span: span() }
}

impl Build {
    pub fn new() -> Build {
        let g = Graph::new("main", span());
        let at = g.root;
        Build { g, at, hints: vec![] }
    }

    pub fn dim(&mut self, name: &str, lo: i64, hi: i64) -> VarId {
        let v = self.var(name, VarKind::Dim, Expr::int(lo), Expr::int(hi));
        self.g.dims.push(v);
        v
    }

    pub fn var(&mut self, name: &str, kind: VarKind, lo: Expr, hi: Expr) -> VarId {
        self.g.vars.add(VarInfo { name: name.into(), kind, lo, hi, span: span() })
    }

    /// A mesh over a level with its axes.
    pub fn mesh(
        &mut self,
        level: &str,
        rank: usize,
        axes: &[(&str, i64)],
    ) -> (MeshId, Vec<AxisId>) {
        self.part(level, rank, axes, None, 0)
    }

    pub fn part(
        &mut self,
        level: &str,
        rank: usize,
        axes: &[(&str, i64)],
        parent: Option<MeshId>,
        offset: i64,
    ) -> (MeshId, Vec<AxisId>) {
        let size: i64 = axes.iter().map(|(_, e)| e).product();
        let id = self.g.meshes.add_mesh(Mesh {
            name: level.into(),
            level: level.into(),
            rank,
            axes: vec![],
            parent,
            offset: Expr::int(offset),
            size: Expr::int(size),
            span: span(),
        });
        let mut ids = vec![];
        for (name, e) in axes {
            let next = self.g.meshes.next_axis();
            let var = self.var(name, VarKind::Coord(next.0), Expr::int(0), Expr::int(e - 1));
            ids.push(self.g.meshes.add_axis(MeshAxis {
                name: (*name).into(),
                mesh: id,
                extent: Expr::int(*e),
                var,
                stride: Expr::one(),
            }));
        }
        self.g.meshes.mesh_mut(id).unwrap().axes = ids.clone();
        (id, ids)
    }

    pub fn coord(&self, a: AxisId) -> Expr {
        Expr::var(self.g.meshes.axis(a).unwrap().var)
    }

    pub fn param(&mut self, name: &str, t: TensorTy) -> ValueId {
        self.g.add_param(name, ParamKind::Arg, t, span())
    }

    pub fn node(&mut self, kind: NodeKind, inputs: &[ValueId], outs: Vec<TensorTy>) -> NodeId {
        let node = Node {
            kind,
            inputs: inputs.to_vec(),
            uses: vec![],
            outputs: vec![],
            span: span(),
            scope: ScopeId(0),
            hints: self.hints.clone(),
            region: self.at,
        };
        self.g.add_node(node, outs)
    }

    pub fn op(&mut self, op: &'static TestOp, inputs: &[ValueId], out: TensorTy) -> ValueId {
        self.with(op, Attrs::default(), inputs, out)
    }

    pub fn with(
        &mut self,
        op: &'static TestOp,
        attrs: Attrs,
        inputs: &[ValueId],
        out: TensorTy,
    ) -> ValueId {
        let n = self.node(NodeKind::Op { op, attrs }, inputs, vec![out]);
        self.g.node(n).outputs[0]
    }

    /// A window that keeps every axis.
    pub fn read(&mut self, x: ValueId, at: &[(Expr, i64)], out: TensorTy) -> ValueId {
        self.with(&READ, subs(at), &[x], out)
    }

    pub fn write(&mut self, x: ValueId, tile: ValueId, at: &[(Expr, i64)]) -> ValueId {
        let out = self.g.ty(x).clone();
        self.with(&WRITE, subs(at), &[x, tile], out)
    }

    /// A region that runs in a mesh; its result.
    pub fn in_mesh(&mut self, meshes: &[MeshId], f: impl FnOnce(&mut Build) -> ValueId) -> ValueId {
        let body = self.g.add_region();
        let kind = NodeKind::Mesh { meshes: meshes.to_vec(), body };
        self.region(kind, body, f)
    }

    pub fn on(&mut self, part: MeshId, f: impl FnOnce(&mut Build) -> ValueId) -> ValueId {
        let body = self.g.add_region();
        self.region(NodeKind::On { part, body }, body, f)
    }

    fn region(
        &mut self,
        kind: NodeKind,
        body: RegionId,
        f: impl FnOnce(&mut Build) -> ValueId,
    ) -> ValueId {
        let outer = std::mem::replace(&mut self.at, body);
        let r = f(self);
        self.g.region_mut(body).results.push(r);
        self.at = outer;
        let t = self.g.ty(r).clone();
        let n = self.node(kind, &[], vec![t]);
        self.g.node(n).outputs[0]
    }

    /// A loop with carried values; gives their last values.
    pub fn repeat(
        &mut self,
        (start, stop, step): (Expr, Expr, i64),
        carried: &[ValueId],
        f: impl FnOnce(&mut Build, Expr, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let body = self.g.add_region();
        let var = self.var("k", VarKind::Loop, start.clone(), stop.clone());
        let params: Vec<ValueId> = carried
            .iter()
            .map(|c| {
                let t = self.g.ty(*c).clone();
                self.g.add_region_param(body, t, span())
            })
            .collect();
        let outer = std::mem::replace(&mut self.at, body);
        let results = f(self, Expr::var(var), &params);
        self.at = outer;
        let tys = results.iter().map(|r| self.g.ty(*r).clone()).collect();
        self.g.region_mut(body).results = results;
        let kind = NodeKind::Loop { var, start, stop, step: Expr::int(step), body };
        let n = self.node(kind, carried, tys);
        self.g.node(n).outputs.clone()
    }

    pub fn finish(mut self, out: ValueId) -> Graph {
        self.g.outputs.push(crate::graph::Output { name: "output".into(), value: out });
        self.g
    }
}

fn subs(at: &[(Expr, i64)]) -> Attrs {
    let sub = |(start, len): &(Expr, i64)| Sub::Window {
        start: start.clone(),
        len: Expr::int(*len),
        end: None,
        pad: None,
    };
    Attrs(vec![("subs", Attr::Subs(at.iter().map(sub).collect()))])
}

pub fn at(env: &[(VarId, i64)]) -> Env {
    let mut e = Env::default();
    env.iter().for_each(|(v, n)| e.set(*v, *n));
    e
}
