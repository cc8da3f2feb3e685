//! A graph in the DOT language: a cluster for each region, an edge for each use.

use std::fmt::Write;

use super::print::{show_hint, show_value};
use super::{Def, Graph, NodeId, NodeKind, RegionId, ValueId, node_regions};

/// The text that `dot` reads.
pub fn dot(graph: &Graph) -> String {
    let mut d = Dot { g: graph, out: String::new() };
    d.graph();
    d.out
}

struct Dot<'a> {
    g: &'a Graph,
    out: String,
}

/// A quoted DOT string; `\n` in it breaks the line.
fn quote(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl Dot<'_> {
    fn graph(&mut self) {
        let _ = writeln!(self.out, "digraph {} {{", quote(&self.g.name));
        self.out.push_str("  node [shape = box, fontname = \"monospace\"];\n");
        for p in &self.g.params {
            let ty = self.g.ty(p.value).show(&self.g.vars);
            let label = quote(&format!("{}\n{ty}", p.name));
            let _ = writeln!(self.out, "  v{} [label = {label}, shape = ellipse];", p.value.0);
        }
        self.region(self.g.root, 1);
        for (i, o) in self.g.outputs.iter().enumerate() {
            let _ = writeln!(self.out, "  out{i} [label = {}, shape = ellipse];", quote(&o.name));
            let _ = writeln!(self.out, "  {} -> out{i};", self.source(o.value));
        }
        self.edges();
        self.out.push_str("}\n");
    }

    /// The DOT node that stands for the maker of a value.
    fn source(&self, v: ValueId) -> String {
        match self.g.value(v).def {
            Def::Node(n, _) => format!("n{}", n.0),
            Def::Param(_) | Def::RegionParam(..) => format!("v{}", v.0),
        }
    }

    fn region(&mut self, id: RegionId, depth: usize) {
        let pad = "  ".repeat(depth);
        for p in &self.g.region(id).params {
            let label = quote(&show_value(self.g, *p));
            let _ = writeln!(self.out, "{pad}v{} [label = {label}, shape = ellipse];", p.0);
        }
        for n in &self.g.region(id).nodes {
            self.node(*n, depth);
        }
    }

    fn node(&mut self, id: NodeId, depth: usize) {
        let pad = "  ".repeat(depth);
        let node = self.g.node(id);
        let mut label = node.label().to_string();
        for o in &node.outputs {
            let ty = self.g.ty(*o).show_placed(&self.g.vars, &self.g.meshes);
            let _ = write!(label, "\n{}: {ty}", show_value(self.g, *o));
        }
        for h in &node.hints {
            let _ = write!(label, "\n#[{}]", show_hint(h));
        }
        let _ = writeln!(self.out, "{pad}n{} [label = {}];", id.0, quote(&label));
        for r in node_regions(&node.kind) {
            let _ = writeln!(self.out, "{pad}subgraph cluster_{} {{", r.0);
            let _ = writeln!(self.out, "{pad}  label = {};", quote(node.label()));
            self.region(r, depth + 1);
            let _ = writeln!(self.out, "{pad}}}");
        }
    }

    fn edges(&mut self) {
        for (id, node) in self.g.nodes() {
            for v in &node.inputs {
                let _ = writeln!(self.out, "  {} -> n{};", self.source(*v), id.0);
            }
            for v in &node.uses {
                let _ = writeln!(self.out, "  {} -> n{} [style = dashed];", self.source(*v), id.0);
            }
            for r in node_regions(&node.kind) {
                let region = self.g.region(r);
                if matches!(node.kind, NodeKind::Loop { .. }) {
                    for (i, p) in node.inputs.iter().zip(&region.params) {
                        let _ = writeln!(
                            self.out,
                            "  {} -> v{} [style = dotted];",
                            self.source(*i),
                            p.0
                        );
                    }
                }
                for v in &region.results {
                    let _ =
                        writeln!(self.out, "  {} -> n{} [style = dotted];", self.source(*v), id.0);
                }
            }
        }
    }
}
