//! Images against the kernels that a program declares.

use std::collections::BTreeMap;

use super::{Arch, Entry, Features, Image, ImageError, Kind, launch};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::hir::load::Sources;
use crate::hir::twins::{
    self, KernelDecl, LaunchForm, ParamDecl, ParamType, kernel_decls, launch_forms,
};
use crate::hir::{ItemRef, Program, twin_calls};
use crate::session::{Session, has_errors};
use crate::syntax::ast;
use crate::target::Target;
use crate::types::dtype::DType;

/// Bytes of a tensor map, and what its address is a multiple of.
const MAP_BYTES: u64 = 128;
const MAP_ALIGN: u64 = 64;

/// Reads the images that the twins of the root file name, and holds them against it. A twin that
/// has errors of its own is left for later.
pub fn diagnostics(session: &Session, sources: &dyn Sources) -> Vec<Diagnostic> {
    let p = &session.program;
    let sound = p.twins().into_iter().filter(|(_, t)| !has_errors(&twins::check(p, *t)));
    sound.flat_map(|(_, t)| twin(session, sources, t)).collect()
}

/// The same for one twin of any file.
pub fn twin(session: &Session, sources: &dyn Sources, twin: ItemRef) -> Vec<Diagnostic> {
    let p = &session.program;
    let target = twin_calls::module_of(p, twin).and_then(|m| session.target(m));
    let launches = launch_forms(p, twin);
    let mut images: BTreeMap<String, Option<Image>> = BTreeMap::new();
    let mut diags = vec![];
    for decl in kernel_decls(p, twin) {
        let path = path(p, sources, &decl);
        // what is wrong with a whole image is said once
        let image = images.entry(path.clone()).or_insert_with(|| {
            let (image, wrong) = whole(sources, &path, &decl.from, target.as_deref());
            diags.extend(wrong);
            image
        });
        if let Some(image) = image {
            diags.extend(check(image, &decl, &launches, target.as_deref()));
        }
    }
    diags
}

/// Where the image of a kernel is looked for.
pub fn path(p: &Program, sources: &dyn Sources, decl: &KernelDecl) -> String {
    let file = p.files.get(decl.item.file).and_then(|f| p.sources.get(f.id));
    sources.resolve(file.map_or("", |f| &f.name), &decl.from.value)
}

/// Reads an image, and says what is wrong with it whatever its kernels are.
fn whole(
    sources: &dyn Sources,
    path: &str,
    from: &ast::Str,
    target: Option<&Target>,
) -> (Option<Image>, Vec<Diagnostic>) {
    let bytes = match sources.read(path) {
        Ok(b) => b,
        Err(e) => {
            let msg = format!("cannot read the image `{path}`: {e}");
            let d = Diagnostic::new(Code::MissingImage, from.span, msg)
                .help("the twin cannot run without it; everything else can");
            return (None, vec![d]);
        }
    };
    let bad = |e: ImageError| {
        Diagnostic::new(Code::BadImage, from.span, format!("`{path}` is no kernel image: {e}"))
            .help(e.remedy())
    };
    match Image::read(&bytes) {
        Ok(i) if i.address_size != 64 => (None, vec![bad(ImageError::Narrow)]),
        Ok(i) => {
            let wrong = target.map_or(vec![], |t| suits(&i, from, t));
            (Some(i), wrong)
        }
        Err(e) => (None, vec![bad(e)]),
    }
}

/// Whether the target's devices and driver take an image.
fn suits(image: &Image, from: &ast::Str, target: &Target) -> Vec<Diagnostic> {
    let mut diags = vec![];
    let wrong = |msg: String| Diagnostic::new(Code::ImageTarget, from.span, msg);
    if let Some(device) = Arch::parse(target.architecture()) {
        let cc = (device.major, device.minor);
        let runs = |a: &Arch| match image.kind {
            Kind::Ptx => a.ptx_runs_on(cc),
            Kind::Cubin => a.cubin_runs_on(cc),
        };
        diags.extend(image.archs.iter().filter(|a| !runs(a)).map(|a| {
            let msg = format!(
                "the {} is for `{a}`, the target `{}` has compute capability {}.{}",
                image.kind.as_str(),
                target.id(),
                cc.0,
                cc.1
            );
            wrong(msg).help(needs(image.kind, *a, target.architecture()))
        }));
    }
    if let (Some((major, minor)), Some(most)) = (image.version, target.ptx_version())
        && u64::from(major) * 10 + u64::from(minor) > most.value
    {
        let msg = format!(
            "the PTX is of version {major}.{minor}, the driver of the target `{}` takes up to {}.{}",
            target.id(),
            most.value / 10,
            most.value % 10
        );
        let mut d = wrong(msg)
            .note(most.source.clone())
            .help("build it with the toolkit of the driver, or as a cubin");
        d.notes.extend(most.note.clone());
        diags.push(d);
    }
    diags
}

/// What an image for an architecture needs, and how to build one for the target's.
fn needs(kind: Kind, a: Arch, architecture: &str) -> String {
    let (major, minor) = (a.major, a.minor);
    let devices = match (a.features, kind) {
        (Features::Exact, _) => format!("on {major}.{minor} alone"),
        (Features::Common, Kind::Ptx) => format!("on {major}.{minor} and later"),
        _ => format!("on {major}.{minor} and later ones of major {major}"),
    };
    let option = match kind {
        Kind::Ptx => "-ptx",
        Kind::Cubin => "-cubin",
    };
    let letter = if a.features == Features::Exact { "a" } else { "" };
    format!("it runs {devices}; build it with `nvcc -arch={architecture}{letter} {option}`")
}

/// Holds a kernel's declaration and its launches against an image.
pub fn check(
    image: &Image,
    decl: &KernelDecl,
    launches: &[LaunchForm],
    target: Option<&Target>,
) -> Vec<Diagnostic> {
    let Some(entry) = image.entry(&decl.entry.value) else {
        return vec![no_entry(image, decl)];
    };
    let mut diags = params(entry, decl);
    diags.extend(launch::check(entry, decl, launches, target));
    diags
}

fn no_entry(image: &Image, decl: &KernelDecl) -> Diagnostic {
    let (name, span) = (decl.entry.value.as_str(), decl.entry.span);
    let msg = format!("`{}` has no entry `{name}`", decl.from.value);
    let d = Diagnostic::new(Code::ImageMismatch, span, msg);
    let names: Vec<&str> = image.entries.iter().map(|e| e.name.as_str()).collect();
    let rename = |d: Diagnostic, to: &str| d.fix("rename", span, format!("\"{to}\""));
    let mut mangled = names.iter().filter(|n| base_name(n) == Some(name));
    if let Some(first) = mangled.next() {
        let d = d.help(format!(
            "it has `{first}`, the C++ name: declare the kernel `extern \"C\"`, or name it so"
        ));
        return if mangled.next().is_none() { rename(d, first) } else { d };
    }
    let bases = names.iter().filter_map(|n| Some((base_name(n)?, *n)));
    let known: BTreeMap<&str, &str> = bases.chain(names.iter().map(|n| (*n, *n))).collect();
    let near = did_you_mean(name, known.keys().copied()).and_then(|m| known.get(m));
    if let Some(m) = near {
        return rename(d.help(format!("it has `{m}`")), m);
    }
    match names.get(..8) {
        Some(some) if names.len() > 8 => {
            d.help(format!("it has `{}` and {} more", some.join("`, `"), names.len() - 8))
        }
        _ if names.is_empty() => d.help("it has no entry at all"),
        _ => d.help(format!("it has `{}`", names.join("`, `"))),
    }
}

/// The last name of a C++ function without its namespaces: `_ZN2ns4gemmEPf` is `gemm`.
fn base_name(mangled: &str) -> Option<&str> {
    let mut rest = mangled.strip_prefix("_Z")?;
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut name = None;
    loop {
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(n) = rest.get(..digits)?.parse::<usize>() else { return name };
        name = Some(rest.get(digits..digits.checked_add(n)?)?);
        rest = rest.get(digits + n..)?;
        if !mangled.starts_with("_ZN") {
            return name;
        }
    }
}

fn params(entry: &Entry, decl: &KernelDecl) -> Vec<Diagnostic> {
    let wrong = |span, msg: String| {
        let shown: Vec<String> = entry.params.iter().map(show).collect();
        let list = if shown.is_empty() { "none".to_string() } else { shown.join(", ") };
        Diagnostic::new(Code::ImageMismatch, span, msg)
            .label(decl.entry.span, "of this entry")
            .note(format!("the entry's parameters: {list}"))
    };
    let (own, theirs) = (decl.params.len(), entry.params.len());
    if own != theirs {
        let msg = format!(
            "`{}` is declared with {own} {}, its entry in `{}` has {theirs}",
            decl.name.text,
            if own == 1 { "parameter" } else { "parameters" },
            decl.from.value
        );
        return vec![wrong(decl.name.span, msg)];
    }
    let pairs = decl.params.iter().zip(&entry.params);
    pairs
        .filter_map(|(q, m)| param(q, m).map(|(msg, help)| wrong(q.span, msg).help(help)))
        .collect()
}

/// `.u64`, or `8 bytes` where the type is not known.
fn show(p: &super::Param) -> String {
    match &p.ty {
        Some(t) => format!("`{t}`"),
        None if p.bytes == 1 => "1 byte".into(),
        None => format!("{} bytes", p.bytes),
    }
}

/// What one parameter is declared as and what the image has, if they differ; and the way out.
fn param(q: &ParamDecl, m: &super::Param) -> Option<(String, &'static str)> {
    const BY_VALUE: &str = "the kernel takes it by value: `const __grid_constant__ CUtensorMap m`";
    let (bytes, what) = match &q.ty {
        ParamType::Scalar(d) => (d.bits() / 8, format!("{d}")),
        ParamType::Tensor(_) => (8, "the address of a tensor".to_string()),
        ParamType::Map { .. } => (MAP_BYTES, "a tensor map".to_string()),
    };
    let (name, found) = (&q.name.text, show(m));
    if m.bytes != bytes {
        let help = match &q.ty {
            ParamType::Map { .. } => BY_VALUE,
            ParamType::Tensor(_) if m.bytes == MAP_BYTES => {
                "a tensor map is declared `x: in tensor_map(bf16[M, K], box = [64, 64])`"
            }
            ParamType::Tensor(_) => "a scalar is declared without `in`, `out` or `inout`",
            ParamType::Scalar(_) if m.bytes == 8 => {
                "u64 and i64 have 8 bytes, and a tensor says `in`, `out` or `inout`"
            }
            ParamType::Scalar(_) => "u32, i32 and f32 have 4 bytes, u64 and i64 have 8",
        };
        return Some((format!("`{name}` is {what}, {bytes} bytes; the image has {found}"), help));
    }
    if let (ParamType::Map { .. }, Some(a)) = (&q.ty, m.align)
        && a < MAP_ALIGN
    {
        let msg = format!(
            "`{name}` is a tensor map, aligned to {MAP_ALIGN} bytes; the image aligns it to {a}"
        );
        return Some((msg, BY_VALUE));
    }
    let ty = m.ty.as_deref()?;
    let float = matches!(q.ty, ParamType::Scalar(DType::F32));
    let differs =
        if float { ty.starts_with(".u") || ty.starts_with(".s") } else { ty.starts_with(".f") };
    let help = "declare it as the kernel does: `.f32` is f32, `.u32` and `.s32` are u32 or i32";
    differs.then(|| (format!("`{name}` is {what}; the image has {found}"), help))
}
