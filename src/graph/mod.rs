//! The dataflow graph of one function, with all calls pasted.
//!
//! A *value* is a whole logical tensor, or one per position where its placement says `varying`.
//! It is defined once: by a node, as a parameter of the graph, or as a parameter of a region (a
//! loop's carried value). A *node* computes values from values. Loops, meshes, roles and matches
//! are nodes that own *regions*; a region lists its nodes in program order and may use values of
//! the regions around it. Edges are uses. Regions make order explicit, so the graph of uses is
//! acyclic; `verify` holds every graph against these rules, and a verified graph
//! cannot make analysis or evaluation panic.
//!
//! Extents, bounds and window starts are symbolic ([`Expr`]); a rank-0 integer tensor used as a
//! number is a variable of kind `Data`, and the nodes that use it list its value in
//! [`Node::uses`].

pub mod dot;
pub mod json;
pub mod print;
pub mod verify;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::base::Span;
use crate::diag::Diagnostic;
use crate::ops::{Attrs, Op};
use crate::types::dim::{Expr, VarId, VarTable};
use crate::types::num::Num;
use crate::types::placement::{MeshId, MeshTable};
use crate::types::ty::TensorTy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    Node(NodeId, usize),
    Param(usize),
    RegionParam(RegionId, usize),
}

#[derive(Clone, Debug)]
pub struct Value {
    /// The name it was bound to first.
    pub name: Option<String>,
    pub ty: TensorTy,
    pub def: Def,
    pub span: Span,
}

/// An argument of a hint.
#[derive(Clone, Debug, PartialEq)]
pub enum HintArg {
    Word(String),
    Int(i64),
}

/// `#[atom(wgmma, n = 256)]`, checked against the target, ignored by the evaluator.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub name: String,
    pub args: Vec<(Option<String>, HintArg)>,
    pub span: Span,
}

/// One alternative of a match on a compile-time integer, inclusive bounds.
#[derive(Clone, Debug)]
pub struct Arm {
    pub lo: Expr,
    pub hi: Expr,
    pub region: RegionId,
}

#[derive(Clone)]
pub enum NodeKind {
    /// An op of the registry.
    Op { op: &'static dyn Op, attrs: Attrs },
    /// A rank-0 number, possibly symbolic. Takes no storage.
    Const(Num),
    /// `var` runs from `start` below `stop` by `step`. Inputs are the carried values' starts,
    /// region parameters the values of a trip, region results those of the next, outputs the last.
    Loop { var: VarId, start: Expr, stop: Expr, step: Expr, body: RegionId },
    /// Runs its region on the positions of the meshes. No inputs; outputs are the region's results.
    Mesh { meshes: Vec<MeshId>, body: RegionId },
    /// Runs its region on one part of a mesh.
    On { part: MeshId, body: RegionId },
    /// Chooses one region by a compile-time integer.
    Match { value: Expr, arms: Vec<Arm> },
}

#[derive(Clone)]
pub struct Node {
    pub kind: NodeKind,
    pub inputs: Vec<ValueId>,
    /// Values read as numbers by the node's expressions.
    pub uses: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub span: Span,
    /// The call it stands in.
    pub scope: ScopeId,
    pub hints: Vec<Hint>,
    pub region: RegionId,
}

#[derive(Clone, Debug, Default)]
pub struct Region {
    pub params: Vec<ValueId>,
    pub nodes: Vec<NodeId>,
    pub results: Vec<ValueId>,
    /// The node that owns it; the root has none.
    pub owner: Option<NodeId>,
}

/// A call that was pasted.
#[derive(Clone, Debug)]
pub struct Scope {
    pub name: String,
    pub parent: Option<ScopeId>,
    /// The call's place.
    pub span: Span,
    /// Inside a library function: where the user calls the library.
    pub call: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    /// A parameter of the function.
    Arg,
    /// A buffer that the function updates; its new value is a result.
    Inout,
    /// Read from a checkpoint. Each `{}` of the key runs over one leading axis.
    Weight { key: Option<String> },
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
    pub value: ValueId,
}

#[derive(Clone, Debug)]
pub struct Output {
    /// `output`, `output[1]`, or the name of an inout parameter.
    pub name: String,
    pub value: ValueId,
}

/// The graph of one function.
#[derive(Clone)]
pub struct Graph {
    pub name: String,
    pub module: Option<String>,
    /// Id of the target document.
    pub target: Option<String>,
    pub vars: VarTable,
    pub meshes: MeshTable,
    /// The dims it depends on.
    pub dims: Vec<VarId>,
    /// Extents of the module's topology, by level name; `None` is open.
    pub topology: Vec<(String, Option<Expr>)>,
    pub params: Vec<Param>,
    pub outputs: Vec<Output>,
    pub root: RegionId,
    pub hints: Vec<Hint>,
    /// Values of the root that are computed once per load.
    pub prepared: Vec<ValueId>,
    /// Statements that could not be proved and hold at the sizes they are checked at.
    pub assumed: Vec<(Span, String)>,
    flow: DiGraph<Node, ValueId>,
    values: Vec<Value>,
    regions: Vec<Region>,
    scopes: Vec<Scope>,
}

impl Graph {
    pub fn new(name: impl Into<String>, span: Span) -> Graph {
        let name = name.into();
        Graph {
            scopes: vec![Scope { name: name.clone(), parent: None, span, call: None }],
            name,
            module: None,
            target: None,
            vars: VarTable::default(),
            meshes: MeshTable::default(),
            dims: vec![],
            topology: vec![],
            params: vec![],
            outputs: vec![],
            root: RegionId(0),
            hints: vec![],
            prepared: vec![],
            assumed: vec![],
            flow: DiGraph::new(),
            values: vec![],
            regions: vec![Region::default()],
        }
    }

    /// Adds a value; its definition is set by whoever makes it.
    pub fn add_value(&mut self, ty: TensorTy, def: Def, span: Span) -> ValueId {
        self.values.push(Value { name: None, ty, def, span });
        ValueId(self.values.len() as u32 - 1)
    }

    pub fn add_param(
        &mut self,
        name: impl Into<String>,
        kind: ParamKind,
        ty: TensorTy,
        span: Span,
    ) -> ValueId {
        let name = name.into();
        let value = self.add_value(ty, Def::Param(self.params.len()), span);
        self.values[value.0 as usize].name = Some(name.clone());
        self.params.push(Param { name, kind, value });
        value
    }

    pub fn add_region(&mut self) -> RegionId {
        self.regions.push(Region::default());
        RegionId(self.regions.len() as u32 - 1)
    }

    pub fn add_region_param(&mut self, region: RegionId, ty: TensorTy, span: Span) -> ValueId {
        let index = self.region(region).params.len();
        let v = self.add_value(ty, Def::RegionParam(region, index), span);
        self.region_mut(region).params.push(v);
        v
    }

    pub fn add_scope(&mut self, name: impl Into<String>, parent: ScopeId, span: Span) -> ScopeId {
        self.scopes.push(Scope { name: name.into(), parent: Some(parent), span, call: None });
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// Says that a scope is a part of the library that is called at `call`.
    pub fn set_call(&mut self, scope: ScopeId, call: Option<Span>) {
        if let Some(s) = self.scopes.get_mut(scope.0 as usize) {
            s.call = call;
        }
    }

    /// What goes wrong at a node, shown at the call of the library that it stands in.
    pub fn at_call(&self, node: &Node, d: Diagnostic) -> Diagnostic {
        let scope = self.scope(node.scope);
        match scope.call {
            Some(call) => d.at_call(call, &scope.name),
            None => d,
        }
    }

    /// Appends a node to its region and makes its outputs, one for each type.
    pub fn add_node(&mut self, node: Node, out_tys: Vec<TensorTy>) -> NodeId {
        let (span, region) = (node.span, node.region);
        let inputs: Vec<ValueId> = node.inputs.iter().chain(&node.uses).copied().collect();
        let regions = node_regions(&node.kind);
        let id = NodeId(self.flow.add_node(node).index() as u32);
        let outputs: Vec<ValueId> = out_tys
            .into_iter()
            .enumerate()
            .map(|(i, ty)| self.add_value(ty, Def::Node(id, i), span))
            .collect();
        self.node_mut(id).outputs = outputs;
        for v in inputs {
            self.add_edge(v, id);
        }
        for r in regions {
            self.region_mut(r).owner = Some(id);
        }
        self.region_mut(region).nodes.push(id);
        id
    }

    /// Appends an input to a node that exists (a loop learns what it carries at its end).
    pub fn add_input(&mut self, node: NodeId, v: ValueId) {
        self.node_mut(node).inputs.push(v);
        self.add_edge(v, node);
    }

    fn add_edge(&mut self, v: ValueId, to: NodeId) {
        if let Def::Node(from, _) = self.value(v).def {
            self.flow.add_edge(NodeIndex::new(from.0 as usize), NodeIndex::new(to.0 as usize), v);
        }
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.flow[NodeIndex::new(id.0 as usize)]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.flow[NodeIndex::new(id.0 as usize)]
    }

    pub fn node_count(&self) -> usize {
        self.flow.node_count()
    }

    /// All nodes, in the order they were made.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.flow.node_indices().map(|i| (NodeId(i.index() as u32), &self.flow[i]))
    }

    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    pub fn value_mut(&mut self, id: ValueId) -> &mut Value {
        &mut self.values[id.0 as usize]
    }

    pub fn ty(&self, id: ValueId) -> &TensorTy {
        &self.value(id).ty
    }

    pub fn values(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        self.values.iter().enumerate().map(|(i, v)| (ValueId(i as u32), v))
    }

    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.0 as usize]
    }

    pub fn region_mut(&mut self, id: RegionId) -> &mut Region {
        &mut self.regions[id.0 as usize]
    }

    pub fn regions(&self) -> impl Iterator<Item = (RegionId, &Region)> {
        self.regions.iter().enumerate().map(|(i, r)| (RegionId(i as u32), r))
    }

    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    /// The calls around a node, outermost first: `step/layer/attend`.
    pub fn scope_path(&self, id: ScopeId) -> String {
        let mut names = vec![];
        let mut at = Some(id);
        while let Some(s) = at {
            let scope = self.scope(s);
            names.push(scope.name.as_str());
            at = scope.parent;
        }
        names.reverse();
        names.join("/")
    }

    /// The name a message shows for a value: its own, or that of what made it.
    pub fn value_name(&self, id: ValueId) -> String {
        let v = self.value(id);
        match (&v.name, v.def) {
            (Some(n), _) => n.clone(),
            (None, Def::Node(n, _)) => format!("{}#{}", self.node(n).label(), id.0),
            (None, _) => format!("#{}", id.0),
        }
    }

    /// The uses as edges between nodes; `flow` is private so that indices stay here.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, NodeId, ValueId)> + '_ {
        self.flow.raw_edges().iter().map(|e| {
            (NodeId(e.source().index() as u32), NodeId(e.target().index() as u32), e.weight)
        })
    }

    /// Whether the uses form no cycle.
    pub fn is_acyclic(&self) -> bool {
        petgraph::algo::toposort(&self.flow, None).is_ok()
    }
}

/// The regions a node owns.
pub fn node_regions(kind: &NodeKind) -> Vec<RegionId> {
    match kind {
        NodeKind::Op { .. } | NodeKind::Const(_) => vec![],
        NodeKind::Loop { body, .. } | NodeKind::Mesh { body, .. } | NodeKind::On { body, .. } => {
            vec![*body]
        }
        NodeKind::Match { arms, .. } => arms.iter().map(|a| a.region).collect(),
    }
}

impl Node {
    /// What it is, in one word.
    pub fn label(&self) -> &'static str {
        match &self.kind {
            NodeKind::Op { op, .. } => op.name(),
            NodeKind::Const(_) => "const",
            NodeKind::Loop { .. } => "for",
            NodeKind::Mesh { .. } => "mesh",
            NodeKind::On { .. } => "on",
            NodeKind::Match { .. } => "match",
        }
    }

    pub fn hint(&self, name: &str) -> Option<&Hint> {
        self.hints.iter().find(|h| h.name == name)
    }
}
