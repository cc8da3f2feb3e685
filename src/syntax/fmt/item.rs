//! Items, their headers, and types.

use super::doc::{Doc, align, alt, cat, group, indent, nothing, text};
use super::*;

impl Fmt<'_> {
    pub(super) fn file(&mut self, file: &File) -> Doc {
        self.items(&file.items, 0, u32::MAX).doc.unwrap_or_else(nothing)
    }

    fn items(&mut self, items: &[Item], start: u32, end: u32) -> Sequence {
        let spans: Vec<Span> = items.iter().map(|i| i.span).collect();
        self.sequence(start, end, &spans, |f, i| {
            let item = &items[i];
            let apart = matches!(
                item.kind,
                ItemKind::Func(_) | ItemKind::Module { .. } | ItemKind::Twin { .. }
            );
            (cat([f.hint_lines(&item.hints), f.item(item)]), apart)
        })
    }

    /// The items between the braces of a module or twin.
    fn body(&mut self, items: &[Item], name_end: u32, end: u32) -> Doc {
        let start = self.after_open_brace(name_end, end);
        let s = self.items(items, start, end.saturating_sub(1));
        Fmt::braces(s)
    }

    fn item(&mut self, item: &Item) -> Doc {
        let w = Doc::Word;
        match &item.kind {
            ItemKind::Use { path, names } => {
                let path = self.path(path);
                let Some(names) = names else { return cat([w("use "), path, w(";")]) };
                let elements = names.iter().map(|n| (n.span, text(&n.text))).collect();
                let start = names.first().map_or(item.span.end, |n| n.span.start);
                let list = self.list("{", "}", start, item.span.end, elements);
                cat([w("use "), path, w("::"), list, w(";")])
            }
            ItemKind::UseFile { path, alias } => {
                cat([w("use "), self.source(path.span), w(" as "), text(&alias.text), w(";")])
            }
            ItemKind::Config { name, path } => {
                cat([w("config "), text(&name.text), w(" = "), self.source(path.span), w(";")])
            }
            ItemKind::Const { name, value } => {
                let head = cat([w("const "), text(&name.text)]);
                self.assign(head, value)
            }
            ItemKind::TypeAlias { name, ty } => {
                cat([w("type "), text(&name.text), w(" = "), self.ty(ty), w(";")])
            }
            ItemKind::Dim { name, range } => {
                cat([w("dim "), text(&name.text), w(" in "), self.expr(range), w(";")])
            }
            ItemKind::Func(f) => self.func(f),
            ItemKind::Module { name, items } => {
                let body = self.body(items, name.span.end, item.span.end);
                cat([w("module "), text(&name.text), w(" "), body])
            }
            ItemKind::Twin { name, of, items } => {
                let body = self.body(items, of.span.end, item.span.end);
                cat([w("twin "), text(&name.text), w(" for "), self.path(of), w(" "), body])
            }
            ItemKind::Target(s) => cat([w("target "), self.source(s.span), w(";")]),
            ItemKind::Topology(levels) => {
                let levels = levels.iter().map(|l| self.level(l)).collect();
                cat([w("topology "), columns(9, levels), w(";")])
            }
            ItemKind::Mesh(binds) => cat([w("mesh "), self.binds(binds), w(";")]),
            ItemKind::Weight { name, ty, from } => {
                let head = cat([w("weight "), text(&name.text), w(": "), self.ty(ty)]);
                self.with_from(head, from.as_ref())
            }
            ItemKind::Prepare { name, ty, value } => {
                let head = cat([w("prepare "), text(&name.text), w(": "), self.ty(ty)]);
                self.assign(head, value)
            }
            ItemKind::Child { name, of, count, from } => {
                let mut head = vec![w("child "), text(&name.text), w(": "), self.path(of)];
                if let Some(n) = count {
                    head.extend([w("["), self.expr(n), w("]")]);
                }
                self.with_from(cat(head), from.as_ref())
            }
            ItemKind::ExternKernel { name, params, from, entry } => {
                self.kernel(item.span, name, params, (from, entry))
            }
            // files with errors are not formatted
            ItemKind::Error { .. } => self.source(item.span),
        }
    }

    fn with_from(&mut self, head: Doc, from: Option<&Str>) -> Doc {
        let Some(from) = from else { return cat([head, Doc::Word(";")]) };
        let from = cat([Doc::Line, Doc::Word("from "), self.source(from.span)]);
        group(cat([head, indent(from), Doc::Word(";")]))
    }

    fn level(&mut self, l: &Level) -> Doc {
        match &l.extent {
            Some(e) => cat([text(&l.name.text), Doc::Word(" = "), self.expr(e)]),
            None => text(&l.name.text),
        }
    }

    /// The parameters stay on the first line and `from` goes to the next, if that is enough.
    fn kernel(
        &mut self,
        span: Span,
        name: &Name,
        params: &[KernelParam],
        (from, entry): (&Str, &Str),
    ) -> Doc {
        let params = params.iter().map(|p| (p.span, self.kernel_param(p))).collect();
        let head = cat([
            Doc::Word("extern kernel "),
            text(&name.text),
            self.list("(", ")", name.span.end, span.end.min(from.span.start), params),
        ]);
        let from = cat([
            Doc::Word("from "),
            self.source(from.span),
            Doc::Word(" entry "),
            self.source(entry.span),
            Doc::Word(";"),
        ]);
        alt([
            cat([head.clone(), Doc::Word(" "), from.clone()]),
            cat([head.clone(), indent(cat([Doc::Newline, from.clone()]))]),
            cat([head, Doc::Word(" "), from]),
        ])
    }

    fn kernel_param(&mut self, p: &KernelParam) -> Doc {
        let mode = match p.mode {
            None => "",
            Some(Mode::In) => "in ",
            Some(Mode::Out) => "out ",
            Some(Mode::Inout) => "inout ",
        };
        cat([text(&p.name.text), Doc::Word(": "), Doc::Word(mode), self.ty(&p.ty)])
    }

    fn func(&mut self, f: &Func) -> Doc {
        let vis = match f.vis {
            Vis::Private => "",
            Vis::Pub => "pub ",
            Vis::Entry => "entry ",
        };
        let mut head = vec![Doc::Word(vis), Doc::Word("func "), text(&f.name.text)];
        let mut start = f.name.span.end;
        if let Some(last) = f.generics.last() {
            let elements = f.generics.iter().map(|g| (generic_span(g), generic(g))).collect();
            let end = generic_span(last).end;
            head.push(self.list("<", ">", start, end, elements));
            start = end;
        }
        let params = f.params.iter().map(|p| (p.span, self.param(p))).collect();
        let end = f.ret.as_ref().map_or(f.header.end, |t| t.span.start);
        let params = self.list("(", ")", start, end, params);
        let mut result = vec![];
        if let Some(t) = &f.ret {
            result.extend([Doc::Word(" -> "), self.ty(t)]);
        }
        result.push(Doc::Word(" {"));
        let result = cat(result);
        // the parameters break before the result's type does
        head.push(alt([cat([params.clone(), result.clone()]), cat([broken(params), result])]));
        head.push(self.func_body(&f.body));
        cat(head)
    }

    fn param(&mut self, p: &Param) -> Doc {
        let mut docs = vec![Doc::Word(if p.inout { "inout " } else { "" }), text(&p.name.text)];
        if let Some(t) = &p.ty {
            docs.extend([Doc::Word(": "), self.ty(t)]);
        }
        if let Some(e) = &p.default {
            docs.extend([Doc::Word(" = "), self.expr(e)]);
        }
        cat(docs)
    }

    pub(super) fn ty(&mut self, t: &Type) -> Doc {
        let end = t.span.end;
        let mut docs = vec![match &t.kind {
            TypeKind::Named(p) => self.path(p),
            TypeKind::Tensor { head, dims } => {
                let elements = dims.iter().map(|e| (e.span, self.expr(e))).collect();
                let stop = t.placement.as_ref().map_or(end, |p| p.span.start);
                let list = self.list("[", "]", head.span.end, stop, elements);
                cat([self.path(head), list])
            }
            TypeKind::Tuple(types) => {
                let elements = types.iter().map(|t| (t.span, self.ty(t))).collect();
                self.list("(", ")", t.span.start, end, elements)
            }
            TypeKind::Mesh(axes) => {
                let axes = axes.iter().map(|a| (a.span, text(&a.text))).collect();
                cat([Doc::Word("mesh"), self.list("[", "]", t.span.start, end, axes)])
            }
            TypeKind::Apply { head, args } => {
                cat([self.path(head), self.args(head.span.end, end, args)])
            }
            TypeKind::Error => self.source(t.span),
        }];
        if let Some(p) = &t.placement {
            docs.extend([Doc::Word(" in "), self.placement(p)]);
        }
        if let Some(r) = &t.range {
            docs.extend([Doc::Word(" range "), self.expr(r)]);
        }
        cat(docs)
    }

    pub(super) fn placement(&mut self, p: &Placement) -> Doc {
        let mut docs = vec![Doc::Word(p.storage.name())];
        if let Some(axes) = &p.axes {
            let elements = axes.iter().map(|e| (e.span, self.expr(e))).collect();
            let end = p.suffixes.first().map_or(p.span.end, |s| s.span.start);
            docs.push(self.list("[", "]", p.storage_span.end, end, elements));
        }
        for s in &p.suffixes {
            docs.extend([Doc::Word(" "), text(&s.name.text)]);
            let Some(strides) = &s.strides else {
                docs.push(self.args(s.name.span.end, s.span.end, &s.args));
                continue;
            };
            let middle = s.args.last().map_or(s.name.span.end, |a| a.span.end);
            docs.extend([Doc::Word(" "), self.args(s.name.span.end, middle, &s.args)]);
            docs.extend([Doc::Word(":"), self.args(middle, s.span.end, strides)]);
        }
        cat(docs)
    }

    /// The bindings of a mesh, one under the other if they do not fit on a line.
    pub(super) fn binds(&mut self, binds: &[MeshBind]) -> Doc {
        columns(5, binds.iter().map(|b| self.bind(b)).collect())
    }

    fn bind(&mut self, b: &MeshBind) -> Doc {
        let subs = b.subs.iter().map(|s| self.mesh_sub(s)).collect();
        let end = b.axes.as_ref().and_then(|a| a.first()).map_or(b.span.end, |a| a.name.span.start);
        let list = self.list("[", "]", b.of.span.end, end, subs);
        let mut docs = vec![text(&b.name.text), Doc::Word(" = "), self.path(&b.of), list];
        if let Some(axes) = &b.axes {
            let elements = axes.iter().map(|a| (axis_span(a), self.axis(a))).collect();
            docs.extend([Doc::Word(" as "), self.list("[", "]", end, b.span.end, elements)]);
        }
        cat(docs)
    }

    fn mesh_sub(&mut self, s: &MeshSub) -> (Span, Doc) {
        match s {
            MeshSub::Axis(a) => (axis_span(a), self.axis(a)),
            MeshSub::Sub(e) => (e.span, self.expr(e)),
        }
    }

    fn axis(&mut self, a: &MeshAxis) -> Doc {
        cat([text(&a.name.text), Doc::Word(": "), self.expr(&a.extent)])
    }
}

/// Elements on one line, or each on its own under the first.
fn columns(width: usize, docs: Vec<Doc>) -> Doc {
    let mut out = vec![];
    for (i, d) in docs.into_iter().enumerate() {
        if i > 0 {
            out.extend([Doc::Word(","), Doc::Line]);
        }
        out.push(d);
    }
    group(align(width, cat(out)))
}

/// The same list, broken in any case.
fn broken(list: Doc) -> Doc {
    match list {
        Doc::Group { doc, .. } => Doc::Group { doc, broken: true },
        other => other,
    }
}

fn axis_span(a: &MeshAxis) -> Span {
    a.name.span.to(a.extent.span)
}

fn generic_span(g: &Generic) -> Span {
    match g {
        Generic::Extent(n) | Generic::Pack(n) => n.span,
        Generic::DType { name, class } => name.span.to(class.span),
    }
}

fn generic(g: &Generic) -> Doc {
    match g {
        Generic::Extent(n) => text(&n.text),
        Generic::DType { name, class } => text(&format!("{}: {}", name.text, class.text)),
        Generic::Pack(n) => text(&format!("..{}", n.text)),
    }
}
