//! What every family of the analysis looks at: the graph at stated sizes, with its walk.

use std::sync::Arc;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::footprint::Roots;
use super::machine::Machine;
use super::record::Certainty;
use super::trips::{self, Trips};
use super::walk::{self, Frame, Walk};
use crate::base::{HashMap, HashSet, Span};
use crate::diag::{Code, Diagnostic};
use crate::graph::{Def, Graph, Node, NodeKind, ValueId};
use crate::ops::{Attrs, Op, PartialRule, Role};
use crate::types::dim::{Env, Expr, VarKind, VarTable};
use crate::types::placement::{AxisId, AxisSplit, MeshId};
use crate::types::ty::TensorTy;

/// Loops, outermost first, and the axes that run them.
type Nest = (Vec<usize>, Vec<AxisId>);

pub(super) struct Cx<'a> {
    pub graph: &'a Graph,
    pub env: &'a Env,
    /// Variables with what is stated at its value.
    pub vars: VarTable,
    pub machine: Machine<'a>,
    pub walk: Walk,
    extents: Vec<u128>,
    fused: HashMap<ValueId, ValueId>,
    /// Values that are used as numbers.
    numbers: HashSet<ValueId>,
    updates: Updates,
    /// Which values are one buffer, once it was asked for.
    roots: OnceLock<Roots>,
    trips: Mutex<HashMap<Nest, Arc<Trips>>>,
}

impl<'a> Cx<'a> {
    pub fn new(graph: &'a Graph, env: &'a Env, machine: Machine<'a>) -> Result<Cx<'a>, Diagnostic> {
        let vars = trips::narrowed(&graph.vars, env);
        let walk = walk::walk(graph, env, &machine)?;
        let span = graph.scope(crate::graph::ScopeId(0)).span;
        let mut cx = Cx {
            graph,
            env,
            vars,
            machine,
            walk,
            extents: vec![],
            fused: fused(graph),
            numbers: numbers(graph),
            updates: Updates::default(),
            roots: OnceLock::new(),
            trips: Mutex::new(HashMap::default()),
        };
        let extents: Result<Vec<u128>, Diagnostic> =
            graph.meshes.axes().map(|(_, a)| cx.size(&a.extent, span)).collect();
        cx.extents = extents?;
        cx.updates = Updates::of(&cx);
        Ok(cx)
    }

    /// The value of an extent.
    pub fn size(&self, e: &Expr, span: Span) -> Result<u128, Diagnostic> {
        let n = e.eval(self.env).ok_or_else(|| {
            let show = self.graph.vars.show(e);
            Diagnostic::new(Code::UnboundDim, span, format!("the extent `{show}` has no value"))
                .help("give every dim a value: `--dim NAME=VALUE`")
        })?;
        Ok(u128::try_from(n).unwrap_or(0))
    }

    /// Counts stay so small that sums of them cannot overflow.
    pub fn checked(&self, n: u128, span: Span) -> Result<u128, Diagnostic> {
        if n <= 1 << 100 {
            return Ok(n);
        }
        Err(Diagnostic::new(Code::CountOverflow, span, "this runs or stores more than 2^100")
            .help("check the extents and trips at the sizes given"))
    }

    pub fn extent(&self, a: AxisId) -> u128 {
        self.extents.get(a.0 as usize).copied().unwrap_or(1).max(1)
    }

    /// Rank of a mesh's level.
    pub fn mesh_rank(&self, m: MeshId) -> Option<usize> {
        self.graph.meshes.mesh(m).map(|m| self.machine.rank(m))
    }

    pub fn rank(&self, a: AxisId) -> usize {
        self.graph.meshes.axis(a).and_then(|x| self.mesh_rank(x.mesh)).unwrap_or(0)
    }

    pub fn extent_of<'b>(&self, axes: impl IntoIterator<Item = &'b AxisId>) -> u128 {
        axes.into_iter().map(|a| self.extent(*a)).fold(1, u128::saturating_mul)
    }

    pub fn trips(&self, frame: &Frame, active: &[AxisId]) -> Result<Arc<Trips>, Diagnostic> {
        let key = (frame.loops.clone(), active.to_vec());
        if let Some(t) = self.trips.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(t.clone());
        }
        let t = trips::count(self.graph, &self.walk, frame, active, self.env, &self.vars)?;
        let root = self.graph.scope(crate::graph::ScopeId(0)).span;
        self.checked(t.sum(), root)?;
        let t = Arc::new(t);
        self.trips.lock().unwrap_or_else(PoisonError::into_inner).insert(key, t.clone());
        Ok(t)
    }

    /// Elements of one axis where only the mesh axes divide for which `keep` holds, padding
    /// counted.
    pub fn axis_local(
        &self,
        split: &AxisSplit,
        extent: u128,
        keep: &dyn Fn(AxisId) -> bool,
    ) -> u128 {
        if split.is_whole() && !split.padded {
            return extent;
        }
        let all = self.padded(split, extent);
        let over = split.mesh_axes().filter(|a| keep(*a)).map(|a| self.extent(a));
        all.div_ceil(over.fold(1, u128::saturating_mul))
    }

    /// The axis with its padding.
    pub fn padded(&self, split: &AxisSplit, extent: u128) -> u128 {
        if !split.padded {
            return extent;
        }
        let factors = split.factors.iter().map(|f| f.extent.eval(self.env).unwrap_or(1).max(1));
        factors.map(|n| n as u128).fold(1, u128::saturating_mul).max(extent)
    }

    pub fn shape(&self, ty: &TensorTy, span: Span) -> Result<Vec<u128>, Diagnostic> {
        ty.shape.iter().map(|e| self.size(e, span)).collect()
    }

    /// Elements of a value in one position, where only the axes with `keep` divide.
    pub fn elements(
        &self,
        ty: &TensorTy,
        span: Span,
        keep: &dyn Fn(AxisId) -> bool,
    ) -> Result<u128, Diagnostic> {
        let mut n = 1u128;
        for (i, e) in self.shape(ty, span)?.into_iter().enumerate() {
            let local = ty.place.axes.get(i).map_or(e, |s| self.axis_local(s, e, keep));
            n = n.saturating_mul(local);
        }
        Ok(n)
    }

    pub fn roots(&self) -> &Roots {
        self.roots.get_or_init(|| Roots::of(self))
    }

    /// The op that defines a value, through a region's result.
    pub fn op_of(&self, v: ValueId) -> Option<OpNode<'a>> {
        match self.graph.value(self.walk.resolve(v)).def {
            Def::Node(n, _) => OpNode::of(self.graph.node(n)),
            _ => None,
        }
    }

    /// Whether a value is a number that takes no storage.
    pub fn is_const(&self, v: ValueId) -> bool {
        match self.graph.value(self.walk.resolve(v)).def {
            Def::Node(n, _) => matches!(self.graph.node(n).kind, NodeKind::Const(_)),
            _ => false,
        }
    }

    /// Whether a value is used as a number: in a subscript, or as the bound of a loop.
    pub fn is_number(&self, v: ValueId) -> bool {
        self.numbers.contains(&v)
    }

    /// Whether a node does nothing physical: its result is its operand under another address.
    pub fn is_free(&self, op: &OpNode) -> bool {
        let ty = |v: Option<&ValueId>| v.map(|v| self.graph.ty(*v));
        let (from, to) = (ty(op.node.inputs.first()), ty(op.node.outputs.first()));
        match op.op.role() {
            Role::View | Role::Local | Role::Collect => true,
            Role::Read => from.zip(to).is_some_and(|(f, t)| f.place.storage == t.place.storage),
            Role::Reshard => from.zip(to).is_some_and(|(f, t)| self.stays(f, t)),
            // what it would write is in its place already
            Role::Write => op.node.outputs.first().is_some_and(|o| self.updates.back.contains(o)),
            Role::Complete => from.is_some_and(|f| f.place.partial.is_empty()),
            _ => false,
        }
    }

    /// Whether two placements of one value are the same bytes in the same owners: same storage
    /// and layout, and split alike over all axes whose positions have parts of their own.
    fn stays(&self, from: &TensorTy, to: &TensorTy) -> bool {
        let (f, t) = (&from.place, &to.place);
        let apart = |a: &AxisId| self.machine.apart(f.storage, self.rank(*a));
        let key = |s: &AxisSplit| -> Vec<(Option<AxisId>, Expr)> {
            let split = s.factors.iter().any(|x| x.axis.is_some_and(|a| apart(&a)));
            let factor =
                |x: &crate::types::placement::Factor| (x.axis.filter(&apart), x.extent.clone());
            if split { s.factors.iter().map(factor).collect() } else { vec![] }
        };
        f.storage == t.storage
            && f.swizzle == t.swizzle
            && f.layout == t.layout
            && f.partial == t.partial
            && f.axes.len() == t.axes.len()
            && f.axes.iter().zip(&t.axes).all(|(x, y)| key(x) == key(y))
    }

    /// The operand that `op` adds to an accumulator in place, under an atom: the contraction's
    /// result is then never stored, and the addition is free.
    pub fn accumulates(&self, op: &OpNode) -> Option<ValueId> {
        let out = op.node.outputs.first()?;
        op.node.inputs.iter().copied().find(|v| self.fused.get(v) == Some(out))
    }

    /// The value whose place an update of a window takes, where the window is put back afterwards.
    pub fn updates(&self, v: ValueId) -> Option<ValueId> {
        self.updates.takes.get(&v).copied()
    }

    /// Whether a value is a contraction's result that an atom adds to its accumulator.
    pub fn is_fused(&self, v: ValueId) -> bool {
        self.fused.contains_key(&v)
    }
}

/// Windows that are read, updated in place and put back where they were (`inout kc[i]`): one
/// buffer, so putting back moves nothing.
#[derive(Default)]
struct Updates {
    /// Results of the window writes that put back.
    back: HashSet<ValueId>,
    /// By result of an elementwise update, the operand whose place it takes.
    takes: HashMap<ValueId, ValueId>,
}

impl Updates {
    fn of(cx: &Cx) -> Updates {
        let mut out = Updates::default();
        for s in &cx.walk.steps {
            let Some(op) = OpNode::of(cx.graph.node(s.node)) else { continue };
            if let ([base, tile], [result], Role::Write) =
                (op.node.inputs.as_slice(), op.node.outputs.as_slice(), op.op.role())
                && let Some(path) = path(cx, &op, *base, *tile)
            {
                out.back.insert(*result);
                out.takes.extend(path);
            }
        }
        out
    }
}

/// The updates between a window's read and the write that puts it back.
fn path(cx: &Cx, write: &OpNode, base: ValueId, tile: ValueId) -> Option<Vec<(ValueId, ValueId)>> {
    let mut at = cx.walk.resolve(tile);
    let mut found = vec![];
    // each step goes to an earlier op
    for _ in 0..cx.walk.steps.len() {
        let op = cx.op_of(at)?;
        let first = *op.node.inputs.first()?;
        match op.op.role() {
            Role::Read => {
                let same = op.attrs.subs("subs") == write.attrs.subs("subs");
                let from = cx.walk.resolve(first) == cx.walk.resolve(base);
                return (same && from && cx.is_free(&op)).then_some(found);
            }
            Role::Write => at = cx.walk.resolve(first),
            Role::Compute if op.op.in_place() => {
                let (a, b) = (cx.graph.ty(first), cx.graph.ty(at));
                if a.dtype != b.dtype || a.shape != b.shape || a.place.storage != b.place.storage {
                    return None;
                }
                found.push((at, first));
                at = cx.walk.resolve(first);
            }
            _ => return None,
        }
    }
    None
}

fn numbers(graph: &Graph) -> HashSet<ValueId> {
    let all = graph.vars.iter().filter_map(|(_, i)| match i.kind {
        VarKind::Data(v) => Some(ValueId(v)),
        _ => None,
    });
    all.collect()
}

/// Results of contractions that an atom accumulates: used once, by a linear elementwise op of two
/// operands of one type. By result of the contraction, the result of that op.
fn fused(graph: &Graph) -> HashMap<ValueId, ValueId> {
    let mut uses: HashMap<ValueId, usize> = HashMap::default();
    let inputs = graph.nodes().flat_map(|(_, n)| n.inputs.iter().chain(&n.uses));
    let results = graph.regions().flat_map(|(_, r)| &r.results);
    for v in inputs.chain(results).chain(graph.outputs.iter().map(|o| &o.value)) {
        *uses.entry(*v).or_default() += 1;
    }
    let mut out = HashMap::default();
    for (_, n) in graph.nodes() {
        let Some(op) = OpNode::of(n) else { continue };
        let linear = op.op.partial_rule() == PartialRule::Linear && op.op.in_place();
        let ([a, b], [sum]) = (n.inputs.as_slice(), n.outputs.as_slice()) else { continue };
        if !linear || graph.ty(*a).dtype != graph.ty(*b).dtype {
            continue;
        }
        let product = [*a, *b].into_iter().find(|v| {
            let Def::Node(made, _) = graph.value(*v).def else { return false };
            let made = graph.node(made);
            OpNode::of(made).is_some_and(|m| m.op.contraction())
                && (made.hint("atom").is_some() || n.hint("atom").is_some())
                && uses.get(v) == Some(&1)
                && graph.ty(*v).shape == graph.ty(*sum).shape
        });
        if let Some(v) = product {
            out.insert(v, *sum);
        }
    }
    out
}

/// A node that is an op.
#[derive(Clone, Copy)]
pub(super) struct OpNode<'a> {
    pub node: &'a Node,
    pub op: &'static dyn Op,
    pub attrs: &'a Attrs,
}

impl<'a> OpNode<'a> {
    pub fn of(node: &'a Node) -> Option<OpNode<'a>> {
        match &node.kind {
            NodeKind::Op { op, attrs } => Some(OpNode { node, op: *op, attrs }),
            _ => None,
        }
    }

    /// The word of `#[via(..)]`.
    pub fn via(&self) -> Option<&'a str> {
        use crate::graph::HintArg;
        self.node.hint("via")?.args.iter().find_map(|(_, a)| match a {
            HintArg::Word(w) => Some(w.as_str()),
            HintArg::Int(_) => None,
        })
    }

    /// The depth of `#[buffers(n)]`; 1 without.
    pub fn buffers(&self) -> u64 {
        int_hint(self.node, "buffers").unwrap_or(1).max(1)
    }
}

/// The first integer of a hint.
pub(super) fn int_hint(node: &Node, name: &str) -> Option<u64> {
    use crate::graph::HintArg;
    node.hint(name)?.args.iter().find_map(|(_, a)| match a {
        HintArg::Int(n) => u64::try_from(*n).ok(),
        HintArg::Word(_) => None,
    })
}

/// The certainty of a count that is a bound where `exact` does not hold.
pub(super) fn certainty(exact: bool) -> Certainty {
    if exact { Certainty::Exact } else { Certainty::UpperBound }
}
