//! Twins, held against their modules when the file is read.
//!
//! A twin's functions and children are exactly the module's boundaries and children. Its bodies
//! are elaborated with the parameters of the module's functions; a launch is checked against the
//! kernel's declaration. Nothing is generated: the launches themselves are bound elsewhere.

use super::elab::{Cx, Elab, show_path};
use super::value::{Binding, Val, WrittenType};
use super::{Decl, ItemRef, Program, kernels, module_items};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::syntax::ast::{self, ItemKind, Vis};
use crate::types::dim::Decision;
use crate::types::num::Num;
use crate::types::placement::{Placement, Storage};
use crate::types::ty::{TensorTy, show_shape};

pub use super::kernels::{KernelDecl, LaunchForm, ParamDecl, ParamType, kernel_decls};

/// Checks one twin.
pub fn check(p: &Program, twin: ItemRef) -> Vec<Diagnostic> {
    let mut diags = vec![];
    let Some(item) = p.item(twin) else { return diags };
    let ItemKind::Twin { name, of, items } = &item.kind else { return diags };
    let module = match p.lookup(twin.file, None, of) {
        Some(Decl::Item(m))
            if p.item(m).is_some_and(|i| matches!(i.kind, ItemKind::Module { .. })) =>
        {
            m
        }
        _ => {
            let shown = show_path(of);
            let known: Vec<&str> = p.modules().into_iter().map(|(n, _)| n).collect();
            let mut d =
                Diagnostic::new(Code::BadTwin, of.span, format!("there is no module `{shown}`"));
            if let Some(m) = did_you_mean(&shown, known) {
                d = d.help(format!("`{m}` exists")).fix("rename", of.span, m);
            }
            diags.push(d);
            return diags;
        }
    };
    boundaries(p, twin, module, name, &mut diags);
    children(p, module, name, items, &mut diags);
    let wrong = items.iter().filter_map(|i| super::twin_calls::check_child(p, twin, module, i));
    diags.extend(wrong);
    for item in 0..items.len() {
        let r = ItemRef { file: twin.file, module: Some(twin.item), item };
        diags.extend(kernels::kernel(p, r).1);
    }
    diags.extend(bodies(p, twin, module).into_iter().flat_map(|e| e.diags));
    diags
}

/// The launches of a twin's own kernels in its functions.
pub fn launch_forms(p: &Program, twin: ItemRef) -> Vec<LaunchForm> {
    let Some(module) = super::twin_calls::module_of(p, twin) else { return vec![] };
    let all = bodies(p, twin, module).into_iter().flat_map(|e| e.launches);
    all.filter(|l| l.kernel.file == twin.file && l.kernel.module == Some(twin.item)).collect()
}

/// The functions of a twin, elaborated.
fn bodies(p: &Program, twin: ItemRef, module: ItemRef) -> Vec<Elab<'_>> {
    let theirs = p.funcs(module);
    let own = p.funcs(twin).into_iter();
    own.filter_map(|(r, f)| {
        let (mr, m) = theirs.iter().find(|(_, m)| m.name.text == f.name.text)?;
        Some(body(p, r, f, module, *mr, m))
    })
    .collect()
}

fn boundaries(
    p: &Program,
    twin: ItemRef,
    module: ItemRef,
    name: &ast::Name,
    diags: &mut Vec<Diagnostic>,
) {
    let theirs = p.funcs(module);
    let own = p.funcs(twin);
    let module_name = p.item(module).and_then(|i| super::item_name(&i.kind));
    let module_name = module_name.map_or("?", |n| n.text.as_str());
    for (_, f) in theirs.iter().filter(|(_, f)| f.vis != Vis::Private) {
        if !own.iter().any(|(_, t)| t.name.text == f.name.text) {
            let params: Vec<&str> = f.params.iter().map(|q| q.name.text.as_str()).collect();
            diags.push(
                Diagnostic::new(
                    Code::BadTwin,
                    name.span,
                    format!(
                        "`{}` has no `{}`, a boundary of `{module_name}`",
                        name.text, f.name.text
                    ),
                )
                .label(f.name.span, "declared here")
                .help(format!(
                    "add `func {}({}) {{ .. }}`",
                    f.name.text,
                    params.join(", ")
                )),
            );
        }
    }
    for (_, t) in own {
        let of = theirs.iter().find(|(_, f)| f.name.text == t.name.text && f.vis != Vis::Private);
        let Some((_, f)) = of else {
            let known: Vec<&str> = theirs
                .iter()
                .filter(|(_, f)| f.vis != Vis::Private)
                .map(|(_, f)| f.name.text.as_str())
                .collect();
            let mut d = Diagnostic::new(
                Code::BadTwin,
                t.name.span,
                format!("`{}` is no boundary of `{module_name}`", t.name.text),
            );
            d = match did_you_mean(&t.name.text, known.iter().copied()) {
                Some(m) => d.help(format!("it has `{m}`")).fix("rename", t.name.span, m),
                None => d.help(format!("its boundaries are `{}`", known.join("`, `"))),
            };
            diags.push(d);
            continue;
        };
        let sig = |f: &ast::Func| -> Vec<(bool, String)> {
            f.params.iter().map(|q| (q.inout, q.name.text.clone())).collect()
        };
        if sig(t) != sig(f) {
            let show = |f: &ast::Func| {
                let v: Vec<String> = f
                    .params
                    .iter()
                    .map(|q| format!("{}{}", if q.inout { "inout " } else { "" }, q.name.text))
                    .collect();
                v.join(", ")
            };
            diags.push(
                Diagnostic::new(
                    Code::BadTwin,
                    t.header,
                    format!("the parameters are `({})`, the module's are `({})`", show(t), show(f)),
                )
                .label(f.name.span, "the boundary")
                .help(
                    "a twin's function repeats the names, in order, with `inout` where it stands",
                ),
            );
        }
    }
}

fn children(
    p: &Program,
    module: ItemRef,
    name: &ast::Name,
    items: &[ast::Item],
    diags: &mut Vec<Diagnostic>,
) {
    let Some(theirs) = p.item(module).and_then(module_items) else { return };
    for i in theirs {
        let ItemKind::Child { name: c, .. } = &i.kind else { continue };
        let found = items
            .iter()
            .any(|t| matches!(&t.kind, ItemKind::Child { name, .. } if name.text == c.text));
        if !found {
            diags.push(
                Diagnostic::new(
                    Code::BadTwin,
                    name.span,
                    format!("`{}` has no child `{}`, which its module has", name.text, c.text),
                )
                .label(c.span, "declared here")
                .help(format!("add `child {}: SomeTwin;`", c.text)),
            );
        }
    }
    for t in items {
        let ItemKind::Child { name: c, .. } = &t.kind else { continue };
        let found = theirs
            .iter()
            .any(|i| matches!(&i.kind, ItemKind::Child { name, .. } if name.text == c.text));
        if !found {
            let msg = format!("the module has no child `{}`", c.text);
            diags.push(Diagnostic::new(Code::BadTwin, c.span, msg));
        }
    }
}

/// Elaborates a twin's function with the types of the boundary it implements.
fn body<'p>(
    p: &'p Program,
    r: ItemRef,
    f: &ast::Func,
    module: ItemRef,
    mr: ItemRef,
    m: &ast::Func,
) -> Elab<'p> {
    let mut e = Elab::new(p, Cx::of(r), &f.name.text, f.header);
    e.twin = Some(module);
    let mut types: Vec<Option<WrittenType>> = vec![];
    for q in &m.params {
        let mut w = None;
        e.in_item(mr, |e| {
            w = q.ty.as_ref().and_then(|t| e.written_type(t));
            Val::Unit
        });
        types.push(w);
    }
    // what is wrong with the module is said where the module is compiled
    e.diags.clear();
    for (q, w) in f.params.iter().zip(types) {
        let val = match w {
            Some(w) => {
                let place = Placement::whole(Storage::Gmem, w.shape.len());
                let ty = TensorTy { dtype: w.dtype, shape: w.shape, place, range: w.range };
                let kind = crate::graph::ParamKind::Arg;
                Val::Tensor(e.g.add_param(q.name.text.clone(), kind, ty, q.span))
            }
            None => Val::Error,
        };
        e.declare(Binding {
            name: q.name.text.clone(),
            val,
            mutable: q.inout,
            place: None,
            span: q.name.span,
        });
    }
    e.twin_result(r, &f.body);
    e
}

impl Elab<'_> {
    /// A launch: one argument for each parameter, with its type; grid and block given.
    pub fn launch(&mut self, l: &ast::Launch, span: Span) {
        let p = self.p;
        let kernel = match p.lookup(self.cx.file, self.cx.module, &l.kernel) {
            Some(Decl::Item(k)) => Some(k),
            _ => None,
        };
        let found = kernel.and_then(|k| p.item(k)).map(|i| &i.kind);
        let (Some(ItemKind::ExternKernel { name, params, .. }), Some(kernel)) = (found, kernel)
        else {
            let shown = show_path(&l.kernel);
            let names = p.visible(self.cx.file, self.cx.module);
            let mut d = Diagnostic::new(
                Code::BadKernel,
                l.kernel.span,
                format!("there is no kernel `{shown}`"),
            );
            d = match did_you_mean(&shown, names) {
                Some(m) => d.help(format!("`{m}` is declared")).fix("rename", l.kernel.span, m),
                None => d.help("declare it: `extern kernel k(..) from \"k.ptx\" entry \"k\";`"),
            };
            self.push(d);
            return;
        };
        if l.args.len() != params.len() {
            let msg = format!(
                "`{}` takes {} arguments, the launch gives {}",
                name.text,
                params.len(),
                l.args.len()
            );
            let d = Diagnostic::new(Code::BadKernel, span, msg).label(name.span, "declared here");
            self.push(d);
        }
        let mut vals = vec![];
        for (q, a) in params.iter().zip(&l.args) {
            let v = self.expr(&a.value);
            // what is wrong with the declaration is said there
            let n = self.diags.len();
            let ty = kernels::param_type(self, q);
            self.diags.truncate(n);
            if let Some(ty) = ty {
                self.launch_arg(q, &ty.written(), v.clone(), a.value.span);
                vals.push((ty, v));
            }
        }
        let given = self.launch_options(l, span);
        self.launches.push(LaunchForm { kernel, span, given });
        self.record_launch(kernel, params, &vals, l, span);
    }

    fn launch_arg(&mut self, q: &ast::KernelParam, w: &WrittenType, v: Val, span: Span) {
        let want = show_shape(w.dtype, &w.shape, &self.g.vars);
        let bad = |s: &mut Self, found: String| {
            let msg = format!("`{}` is `{want}`, found {found}", q.name.text);
            let d = Diagnostic::new(Code::BadKernel, span, msg).label(q.span, "declared here");
            s.push(d);
        };
        match v {
            Val::Error => {}
            Val::Num(n) if w.shape.is_empty() && q.mode.is_none() => {
                if matches!(n, Num::Float(_)) && w.dtype.is_int() {
                    bad(self, "a float".into());
                }
            }
            Val::Tensor(t) => {
                let ty = self.g.ty(t).clone();
                let same = ty.dtype == w.dtype
                    && ty.rank() == w.shape.len()
                    && w.shape
                        .iter()
                        .zip(&ty.shape)
                        .all(|(a, b)| self.g.vars.equal(a, b) == Decision::Yes);
                if !same {
                    bad(self, format!("`{}`", ty.show(&self.g.vars)));
                } else if matches!(q.mode, Some(ast::Mode::Out | ast::Mode::Inout)) {
                    self.written_arg(q, t, span);
                }
            }
            other => bad(self, other.what().to_string()),
        }
    }

    /// A kernel writes what the twin allocated or may update, no input and no weight.
    fn written_arg(&mut self, q: &ast::KernelParam, t: crate::graph::ValueId, span: Span) {
        let crate::graph::Def::Param(i) = self.g.value(t).def else { return };
        let Some(param) = self.g.params.get(i) else { return };
        let name = param.name.clone();
        let mutable = self.find(&name).and_then(|at| self.binding(at)).is_some_and(|b| b.mutable);
        if !mutable {
            let d = Diagnostic::new(
                Code::BadKernel,
                span,
                format!("`{name}` is an input, and `{}` writes it", q.name.text),
            )
            .label(q.span, "declared here")
            .help("a kernel writes buffers from `alloc`, and parameters that are `inout`");
            self.push(d);
        }
    }

    /// Checks the options, and gives those whose numbers are known.
    fn launch_options(&mut self, l: &ast::Launch, span: Span) -> Vec<(String, [u32; 3], Span)> {
        let mut given = vec![];
        const KNOWN: [&str; 5] = ["grid", "block", "smem", "cluster", "cooperative"];
        for (i, o) in l.options.iter().enumerate() {
            let name = o.name.text.as_str();
            if let Some(first) = l.options.iter().take(i).find(|x| x.name.text == name) {
                let d = Diagnostic::new(
                    Code::BadKernel,
                    o.span,
                    format!("the launch has `{name}` twice"),
                )
                .label(first.span, "the first");
                self.push(d);
            }
            let most = match name {
                "grid" | "block" | "cluster" => 3,
                "smem" => 1,
                "cooperative" => 0,
                _ => {
                    let mut d = Diagnostic::new(
                        Code::BadKernel,
                        o.name.span,
                        format!("a launch has no option `{name}`"),
                    );
                    d = match did_you_mean(name, KNOWN) {
                        Some(m) => d.help(format!("it has `{m}`")).fix("rename", o.name.span, m),
                        None => d.help(format!("it has `{}`", KNOWN.join("`, `"))),
                    };
                    self.push(d);
                    continue;
                }
            };
            if o.args.len() > most || (most > 0 && o.args.is_empty()) {
                let msg = format!(
                    "`{name}` takes {} numbers, found {}",
                    if most == 3 {
                        "1 to 3"
                    } else if most == 1 {
                        "1"
                    } else {
                        "no"
                    },
                    o.args.len()
                );
                self.error(Code::BadKernel, o.span, msg);
            }
            let mut known = Some([1; 3]);
            for (i, a) in o.args.iter().enumerate() {
                let e = self.int_expr(&a.value);
                let n = e.as_ref().and_then(|e| u32::try_from(e.as_int()?).ok());
                known = known.zip(n).and_then(|(mut all, n)| {
                    *all.get_mut(i)? = n;
                    Some(all)
                });
                if let Some(e) = e
                    && self.g.vars.upper(&e).is_some_and(|u| u < 1)
                    && name != "smem"
                {
                    let shown = self.g.vars.show(&e);
                    self.error(
                        Code::BadKernel,
                        a.span,
                        format!("`{name}` is {shown}, it is at least 1"),
                    );
                }
            }
            given.extend(known.map(|numbers| (name.to_string(), numbers, o.span)));
        }
        for need in ["grid", "block"] {
            if !l.options.iter().any(|o| o.name.text == need) {
                let d =
                    Diagnostic::new(Code::BadKernel, span, format!("the launch has no `{need}`"))
                        .help("`launch k(x, y) grid(132) block(256);`");
                self.push(d);
            }
        }
        given
    }

    /// `alloc(f32[M])`, a buffer of the twin.
    pub fn alloc(&mut self, args: &[ast::Arg], span: Span) -> Val {
        let [a] = args else {
            return self.error(Code::BadArgs, span, "`alloc` takes a type: `alloc(f32[M])`");
        };
        let w = match self.expr(&a.value) {
            Val::Type(t) => *t,
            Val::DType(d) => WrittenType { dtype: d, shape: vec![], place: None, range: None },
            Val::Error => return Val::Error,
            other => {
                let msg = format!("`alloc` takes a type, found {}", other.what());
                return self.error(Code::BadArgs, a.span, msg);
            }
        };
        let root = self.g.root;
        let ty = TensorTy::new(w.dtype, w.shape);
        Val::Tensor(self.g.add_region_param(root, ty, span))
    }

    /// A name that a twin takes from its module: weights and prepared values.
    pub fn module_name(&mut self, path: &ast::Path) -> Option<Val> {
        let m = self.twin?;
        let [name] = path.segs.as_slice() else { return None };
        let i = *self.p.files.get(m.file)?.inner.get(&m.item)?.get(&name.text)?;
        let r = ItemRef { file: m.file, module: Some(m.item), item: i };
        match self.p.item(r).map(|i| &i.kind)? {
            ItemKind::Weight { .. } => Some(self.weight(r)),
            ItemKind::Prepare { .. } => Some(self.prepared(r)),
            _ => None,
        }
    }
}

/// Whether an expression calls `alloc`.
pub fn is_alloc(e: &ast::Path) -> bool {
    matches!(e.segs.as_slice(), [n] if n.text == "alloc")
}
