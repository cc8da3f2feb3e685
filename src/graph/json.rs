//! A graph as JSON, for tools. Ids are those of the graph; spans are file number and byte range.

use serde_json::{Map, Value as Json, json};

use super::print::{show_attr, show_hint};
use super::{Def, Graph, Node, NodeId, NodeKind, ParamKind, RegionId, ValueId};
use crate::base::Span;
use crate::types::dim::Expr;
use crate::types::placement::MeshId;

/// The whole graph.
pub fn json(graph: &Graph) -> Json {
    let dims: Vec<Json> = graph
        .dims
        .iter()
        .filter_map(|d| graph.vars.get(*d))
        .map(|i| json!({ "name": i.name, "lo": graph.vars.show(&i.lo), "hi": graph.vars.show(&i.hi) }))
        .collect();
    let outputs: Vec<Json> =
        graph.outputs.iter().map(|o| json!({ "name": o.name, "value": o.value.0 })).collect();
    json!({
        "name": graph.name,
        "module": graph.module,
        "target": graph.target,
        "dims": dims,
        "topology": topology(graph),
        "meshes": graph.meshes.meshes().map(|(id, _)| mesh(graph, id)).collect::<Vec<_>>(),
        "params": params(graph),
        "values": graph.values().map(|(id, _)| value(graph, id)).collect::<Vec<_>>(),
        "body": region(graph, graph.root),
        "outputs": outputs,
        "assumed": graph.assumed.iter()
            .map(|(s, t)| json!({ "span": span(*s), "text": t })).collect::<Vec<_>>(),
    })
}

fn span(s: Span) -> Json {
    json!([s.file.0, s.start, s.end])
}

fn topology(g: &Graph) -> Json {
    let levels: Map<String, Json> = g
        .topology
        .iter()
        .map(|(n, e)| (n.clone(), e.as_ref().map_or(Json::Null, |e| g.vars.show(e).into())))
        .collect();
    Json::Object(levels)
}

fn mesh(g: &Graph, id: MeshId) -> Json {
    let Some(m) = g.meshes.mesh(id) else { return Json::Null };
    let axes: Vec<Json> = m
        .axes
        .iter()
        .filter_map(|a| g.meshes.axis(*a))
        .map(|a| json!({ "name": a.name, "extent": g.vars.show(&a.extent) }))
        .collect();
    json!({
        "id": id.0,
        "name": m.name,
        "level": m.level,
        "parent": m.parent.map(|p| p.0),
        "offset": g.vars.show(&m.offset),
        "size": g.vars.show(&m.size),
        "axes": axes,
    })
}

fn params(g: &Graph) -> Vec<Json> {
    g.params
        .iter()
        .map(|p| {
            let (kind, key) = match &p.kind {
                ParamKind::Arg => ("arg", None),
                ParamKind::Inout => ("inout", None),
                ParamKind::Weight { key } => ("weight", key.clone()),
            };
            json!({ "name": p.name, "kind": kind, "key": key, "value": p.value.0 })
        })
        .collect()
}

fn value(g: &Graph, id: ValueId) -> Json {
    let v = g.value(id);
    let place = &v.ty.place;
    let names = |a: &[_]| a.iter().map(|x| g.meshes.axis_name(*x)).collect::<Vec<_>>();
    let def = match v.def {
        Def::Node(n, i) => json!({ "node": n.0, "result": i }),
        Def::Param(i) => json!({ "param": i }),
        Def::RegionParam(r, i) => json!({ "region": r.0, "param": i }),
    };
    json!({
        "id": id.0,
        "name": v.name,
        "dtype": v.ty.dtype.name(),
        "shape": exprs(g, &v.ty.shape),
        "placement": place.show(&v.ty.shape, &g.vars, &g.meshes),
        "storage": place.storage.name(),
        "varying": names(&place.varying),
        "range": v.ty.range.as_ref().map(|(l, h)| [g.vars.show(l), g.vars.show(h)]),
        "def": def,
        "span": span(v.span),
    })
}

/// Integers where they are, text where they are symbolic.
fn exprs(g: &Graph, e: &[Expr]) -> Vec<Json> {
    e.iter().map(|e| e.as_int().map_or_else(|| g.vars.show(e).into(), Json::from)).collect()
}

fn region(g: &Graph, id: RegionId) -> Json {
    let r = g.region(id);
    let ids = |v: &[ValueId]| v.iter().map(|v| v.0).collect::<Vec<_>>();
    json!({
        "id": id.0,
        "params": ids(&r.params),
        "nodes": r.nodes.iter().map(|n| node(g, *n)).collect::<Vec<_>>(),
        "results": ids(&r.results),
    })
}

fn node(g: &Graph, id: NodeId) -> Json {
    let n = g.node(id);
    let mut out = Map::new();
    out.insert("id".into(), id.0.into());
    out.insert("op".into(), n.label().into());
    kind(g, n, &mut out);
    let ids = |v: &[ValueId]| Json::from(v.iter().map(|v| v.0).collect::<Vec<_>>());
    out.insert("inputs".into(), ids(&n.inputs));
    if !n.uses.is_empty() {
        out.insert("uses".into(), ids(&n.uses));
    }
    out.insert("outputs".into(), ids(&n.outputs));
    if !n.hints.is_empty() {
        let hints: Vec<String> = n.hints.iter().map(show_hint).collect();
        out.insert("hints".into(), hints.into());
    }
    out.insert("scope".into(), g.scope_path(n.scope).into());
    out.insert("span".into(), span(n.span));
    Json::Object(out)
}

fn kind(g: &Graph, n: &Node, out: &mut Map<String, Json>) {
    let e = |e: &Expr| Json::from(g.vars.show(e));
    match &n.kind {
        NodeKind::Op { attrs, .. } => {
            let attrs: Map<String, Json> = attrs
                .0
                .iter()
                .filter_map(|(name, a)| Some((name.to_string(), show_attr(g, a)?.into())))
                .collect();
            if !attrs.is_empty() {
                out.insert("attrs".into(), Json::Object(attrs));
            }
        }
        NodeKind::Const(c) => {
            out.insert("value".into(), c.show(&g.vars).into());
        }
        NodeKind::Loop { var, start, stop, step, body } => {
            out.insert("var".into(), g.vars.name(*var).into());
            out.insert("start".into(), e(start));
            out.insert("stop".into(), e(stop));
            out.insert("step".into(), e(step));
            out.insert("body".into(), region(g, *body));
        }
        NodeKind::Mesh { meshes, body } => {
            out.insert("meshes".into(), meshes.iter().map(|m| m.0).collect::<Vec<_>>().into());
            out.insert("body".into(), region(g, *body));
        }
        NodeKind::On { part, body } => {
            out.insert("part".into(), part.0.into());
            out.insert("body".into(), region(g, *body));
        }
        NodeKind::Match { value, arms } => {
            out.insert("on".into(), e(value));
            let arms: Vec<Json> = arms
                .iter()
                .map(|a| json!({ "lo": e(&a.lo), "hi": e(&a.hi), "body": region(g, a.region) }))
                .collect();
            out.insert("arms".into(), arms.into());
        }
    }
}
