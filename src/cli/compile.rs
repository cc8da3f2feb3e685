//! `compile`: everything that is wrong with a program, or one of its forms.

use clap::ValueEnum;
use serde_json::json;

use super::common::{Common, Disk, Reply};
use crate::graph::{Graph, dot, json as graph_json, print};
use crate::hir::{self, ItemRef, item_name};
use crate::session::{Session, has_errors};
use crate::syntax::ast::{ItemKind, Vis};
use crate::syntax::dump;
use crate::twin::image;

#[derive(clap::Args)]
pub struct Args {
    /// A `.tf` file
    file: String,
    /// Print the program in this form
    #[arg(long, value_enum)]
    emit: Option<Emit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The syntax tree
    Ast,
    /// Names, types and placements, resolved
    Hir,
    /// The dataflow graph of each function
    Graph,
    /// The same for graphviz
    Dot,
    /// The same as JSON
    Json,
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let session = match common.open(&args.file) {
        Ok(s) => s,
        Err(r) => return r,
    };
    if args.emit == Some(Emit::Ast) {
        // a tree is there whatever follows from it; only what reading it says is told
        let diags = crate::session::tidy(session.program.diags.clone());
        let status = u8::from(has_errors(&diags));
        let err = common.tell(&diags, session.sources());
        return Reply { out: ast(&session), err, status };
    }
    let mut diags = session.diagnostics();
    diags.extend(image::check::diagnostics(&session, &Disk));
    let diags = crate::session::tidy(diags);
    let err = common.tell(&diags, session.sources());
    let status = u8::from(has_errors(&diags));
    let roots = session.roots();
    let compiled: Vec<_> = roots.iter().map(|r| (*r, session.compile(*r))).collect();
    let graphs: Vec<(ItemRef, &Graph)> =
        compiled.iter().filter_map(|(r, c)| Some((*r, c.graph.as_ref()?))).collect();
    let all = |f: fn(&Graph) -> String| graphs.iter().map(|(_, g)| f(g)).collect::<Vec<_>>();
    let out = match args.emit {
        None | Some(Emit::Ast) if status != 0 => String::new(),
        None | Some(Emit::Ast) => summary(&session, &graphs),
        Some(Emit::Hir) => hir::print::print(&session.program, &graphs),
        Some(Emit::Graph) => all(print::print).join("\n"),
        Some(Emit::Dot) => all(dot::dot).join("\n"),
        Some(Emit::Json) => {
            let list: Vec<_> = graphs.iter().map(|(_, g)| graph_json::json(g)).collect();
            let files: Vec<_> = session.sources().files().map(|(_, f)| f.name.clone()).collect();
            let doc = json!({ "schema": "tilefoundry.graph/1", "files": files, "graphs": list });
            format!("{doc:#}\n")
        }
    };
    Reply { out, err, status }
}

fn ast(session: &Session) -> String {
    let Some(root) = session.program.files.first() else { return String::new() };
    let text = session.sources().get(root.id).map_or("", |f| &*f.text);
    dump::dump(&root.ast, text)
}

/// One line for each module, and one for each of its functions.
fn summary(session: &Session, graphs: &[(ItemRef, &Graph)]) -> String {
    let p = &session.program;
    let mut out = String::new();
    let graph = |r: ItemRef| graphs.iter().find(|(x, _)| *x == r).map(|(_, g)| *g);
    let func = |vis: Vis, name: &str, g: &Graph| {
        let vis = match vis {
            Vis::Private => "",
            Vis::Pub => "pub ",
            Vis::Entry => "entry ",
        };
        let sizes: Vec<String> = g
            .dims
            .iter()
            .filter_map(|d| g.vars.get(*d))
            .map(|i| format!("{} in {}..={}", i.name, g.vars.show(&i.lo), g.vars.show(&i.hi)))
            .collect();
        let dims = if sizes.is_empty() { String::new() } else { format!(", {}", sizes.join(", ")) };
        let n = g.node_count();
        let nodes = if n == 1 { "node" } else { "nodes" };
        format!("  {vis}{name}{}: {n} {nodes}{dims}\n", logical(g))
    };
    let Some(root) = p.files.first() else { return out };
    for (n, item) in root.ast.items.iter().enumerate() {
        let r = ItemRef { file: 0, module: None, item: n };
        let Some(name) = item_name(&item.kind).map(|n| n.text.as_str()) else { continue };
        match &item.kind {
            ItemKind::Module { .. } => {
                let funcs = p.funcs(r);
                let with: Vec<_> =
                    funcs.iter().filter_map(|(f, x)| Some((x, graph(*f)?))).collect();
                let on = session.target(r).map_or(String::new(), |t| format!(" on {}", t.id()));
                let k = with.len();
                let word = if k == 1 { "function" } else { "functions" };
                out += &format!("module {name}{on}: {k} {word}\n");
                for (x, g) in with {
                    out += &func(x.vis, &x.name.text, g);
                }
            }
            ItemKind::Twin { of, .. } => {
                let of = hir::elab::show_path(of);
                let k = p.funcs(r).len();
                let word = if k == 1 { "function" } else { "functions" };
                out += &format!("twin {name} for {of}: {k} {word}\n");
            }
            ItemKind::Func(f) => {
                if let Some(g) = graph(r) {
                    out += func(f.vis, &f.name.text, g).trim_start();
                }
            }
            _ => {}
        }
    }
    out
}

/// The signature without placements, which all are `gmem` unless written.
fn logical(g: &Graph) -> String {
    hir::print::signature(g).replace(" in gmem", "")
}
