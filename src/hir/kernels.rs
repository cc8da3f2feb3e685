//! The kernels that a twin declares: images, entries, and the types of their parameters.

use super::elab::{Cx, Elab, show_path};
use super::value::{Val, WrittenType};
use super::{ItemRef, Program, module_items};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{self, ItemKind, TypeKind};
use crate::types::dtype::DType;

/// An `extern kernel` of a twin.
#[derive(Clone, Debug)]
pub struct KernelDecl {
    pub item: ItemRef,
    pub name: ast::Name,
    /// The image's path, relative to the declaring file.
    pub from: ast::Str,
    pub entry: ast::Str,
    pub params: Vec<ParamDecl>,
}

/// A parameter of an `extern kernel`.
#[derive(Clone, Debug)]
pub struct ParamDecl {
    pub name: ast::Name,
    /// None for scalars.
    pub mode: Option<ast::Mode>,
    pub ty: ParamType,
    pub span: Span,
}

/// A launch, as far as its numbers are the same at every size.
#[derive(Clone, Debug)]
pub struct LaunchForm {
    pub kernel: ItemRef,
    pub span: Span,
    /// The options whose numbers are known, with their places; extents that are not given are 1.
    pub given: Vec<(String, [u32; 3], Span)>,
}

impl LaunchForm {
    /// The numbers of an option and its place.
    pub fn option(&self, name: &str) -> Option<([u32; 3], Span)> {
        self.given.iter().find(|(n, ..)| n == name).map(|(_, numbers, span)| (*numbers, *span))
    }
}

/// What a kernel receives.
#[derive(Clone, Debug)]
pub enum ParamType {
    /// A value.
    Scalar(DType),
    /// The address of the first element.
    Tensor(WrittenType),
    /// A tensor map by value: extents of the box in the tensor's order, and bytes of the swizzle.
    Map { ty: WrittenType, tile: Vec<u64>, swizzle: u64 },
}

impl ParamType {
    /// The type of the tensor, or of the scalar as a tensor of rank 0.
    pub fn written(&self) -> WrittenType {
        match self {
            ParamType::Scalar(dtype) => {
                WrittenType { dtype: *dtype, shape: vec![], place: None, range: None }
            }
            ParamType::Tensor(w) | ParamType::Map { ty: w, .. } => w.clone(),
        }
    }
}

/// The kernels of a twin, in the order of the file. One whose declaration has errors, which
/// [`super::twins::check`] reports, is left out.
pub fn kernel_decls(p: &Program, twin: ItemRef) -> Vec<KernelDecl> {
    let items = p.item(twin).and_then(module_items).unwrap_or(&[]);
    let refs =
        (0..items.len()).map(|item| ItemRef { file: twin.file, module: Some(twin.item), item });
    refs.filter_map(|r| kernel(p, r).0).collect()
}

/// One kernel, and what is wrong with its declaration.
pub(super) fn kernel(p: &Program, item: ItemRef) -> (Option<KernelDecl>, Vec<Diagnostic>) {
    let Some(ItemKind::ExternKernel { name, params, from, entry }) = p.item(item).map(|i| &i.kind)
    else {
        return (None, vec![]);
    };
    let mut e = Elab::new(p, Cx::of(item), &name.text, name.span);
    e.twin = super::twin_calls::around(p, item);
    let types: Vec<_> = params.iter().map(|q| param_type(&mut e, q)).collect();
    let whole: Option<Vec<ParamDecl>> = params
        .iter()
        .zip(types)
        .map(|(q, ty)| {
            Some(ParamDecl { name: q.name.clone(), mode: q.mode, ty: ty?, span: q.span })
        })
        .collect();
    let decl = whole.map(|params| KernelDecl {
        item,
        name: name.clone(),
        from: from.clone(),
        entry: entry.clone(),
        params,
    });
    (decl, e.diags)
}

/// The type of a kernel's parameter; an error is reported where it does not fit.
pub(super) fn param_type(e: &mut Elab, q: &ast::KernelParam) -> Option<ParamType> {
    const SCALARS: [DType; 5] = [DType::U32, DType::I32, DType::U64, DType::I64, DType::F32];
    let bad = |e: &mut Elab, span: Span, msg: String, help: &str| {
        e.push(Diagnostic::new(Code::BadKernel, span, msg).help(help));
        None
    };
    match &q.ty.kind {
        TypeKind::Apply { head, args } if show_path(head) == "tensor_map" => {
            if q.mode.is_none() {
                let msg =
                    format!("tensor map `{}` says neither `in`, `out` nor `inout`", q.name.text);
                return bad(e, q.span, msg, "`x: in tensor_map(bf16[M, K], box = [64, 64])`");
            }
            tensor_map(e, q, args)
        }
        TypeKind::Apply { head, .. } => {
            let msg = format!("`{}` is no parameter type", show_path(head));
            bad(e, q.ty.span, msg, "tensors, tensor maps and scalars are")
        }
        _ => {
            let w = e.written_type(&q.ty)?;
            match (w.shape.is_empty(), q.mode) {
                (true, None) if SCALARS.contains(&w.dtype) => Some(ParamType::Scalar(w.dtype)),
                (true, None) => {
                    let msg = format!("a scalar parameter is no {}", w.dtype);
                    bad(e, q.ty.span, msg, "scalars are u32, i32, u64, i64 or f32")
                }
                (false, None) => {
                    let msg =
                        format!("tensor `{}` says neither `in`, `out` nor `inout`", q.name.text);
                    bad(
                        e,
                        q.span,
                        msg,
                        "every tensor parameter of a kernel says what the kernel does with it",
                    )
                }
                (_, Some(_)) => Some(ParamType::Tensor(w)),
            }
        }
    }
}

fn tensor_map(e: &mut Elab, q: &ast::KernelParam, args: &[ast::Arg]) -> Option<ParamType> {
    const FORM: &str = "`tensor_map(bf16[M, K], box = [64, 64])`";
    let (mut ty, mut tile, mut swizzle) = (None, None, 0);
    for a in args {
        let bad = |e: &mut Elab, msg: String| {
            e.error(Code::BadKernel, a.span, msg);
            None
        };
        match a.name.as_ref().map(|n| n.text.as_str()) {
            None => match e.expr(&a.value) {
                Val::Type(t) => ty = Some(*t),
                Val::Error => return None,
                other => {
                    return bad(
                        e,
                        format!("a tensor map is of a tensor type, found {}", other.what()),
                    );
                }
            },
            Some("box") => {
                let Val::List(vs) = e.expr(&a.value) else {
                    return bad(e, "`box` is a list of extents: `[64, 64]`".into());
                };
                let mut extents = vec![];
                for v in vs {
                    let n = e.int(v, a.span)?;
                    match n.as_int().and_then(|n| u64::try_from(n).ok()) {
                        Some(n @ 1..=256) => extents.push(n),
                        _ => {
                            let shown = e.g.vars.show(&n);
                            return bad(e, format!("a box extent is 1 to 256, found {shown}"));
                        }
                    }
                }
                tile = Some((extents, a.span));
            }
            Some("swizzle") => match e.int_expr(&a.value)?.as_int() {
                Some(n @ (0 | 32 | 64 | 128)) => swizzle = n.unsigned_abs(),
                _ => return bad(e, "a tensor map's swizzle is 0, 32, 64 or 128 bytes".into()),
            },
            Some(other) => {
                return bad(
                    e,
                    format!("a tensor map has no `{other}`: it has `box` and `swizzle`"),
                );
            }
        }
    }
    let Some(ty) = ty else {
        e.error(Code::BadKernel, q.ty.span, format!("a tensor map names the tensor: {FORM}"));
        return None;
    };
    let Some((tile, span)) = tile else {
        let msg = format!("a tensor map names the box that one copy moves: {FORM}");
        e.error(Code::BadKernel, q.ty.span, msg);
        return None;
    };
    let (has, rank) = (tile.len(), ty.shape.len());
    if has != rank {
        let msg = format!("the box has {has} extents, the tensor has rank {rank}");
        e.error(Code::BadKernel, span, msg);
        return None;
    }
    Some(ParamType::Map { ty, tile, swizzle })
}
