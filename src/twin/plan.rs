//! What a device is to do for a twin's function at stated sizes.
//!
//! In: the steps of the function, the tensors of its parameters, the images of its kernels. Out: a
//! [`Job`] and where its results lie. Views are addresses: what is no address is refused.

use std::collections::HashMap;
use std::sync::Arc;

use super::job::{self, Arg, Buffer, Image, Job, Role, Step};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Def, Graph, Node, NodeKind, ParamKind, ValueId};
use crate::hir::steps::{self, Steps};
use crate::hir::{ItemRef, Program};
use crate::ops::{EvalCx, OutTy, Role as OpRole, Sub};
use crate::syntax::ast::{ItemKind, Mode};
use crate::types::dim::Env;
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::value::Tensor;

/// A job with the places of its results.
pub struct Plan {
    /// Shared with the threads that hand it over.
    pub job: Arc<Job>,
    pub outputs: Vec<Place>,
    /// What each buffer of the job holds.
    pub types: Vec<OutTy>,
    /// The arms of `match` that the sizes choose.
    pub arms: Vec<String>,
}

/// Where a result lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub buffer: usize,
    /// Bytes.
    pub offset: u64,
}

impl Place {
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes(self.shape.iter().product::<usize>() as u64)
    }

    /// The tensor in a buffer's bytes.
    pub fn tensor(&self, bytes: &[u8]) -> Option<Tensor> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.bytes()).ok()?)?;
        Tensor::from_bytes(self.dtype, self.shape.clone(), bytes.get(start..end)?).ok()
    }
}

/// An image by the place of its declaration's path.
pub type Images = HashMap<ItemRef, (String, Arc<Vec<u8>>)>;

/// Makes the job. `params` has a tensor for each parameter of the steps' graph; without them the
/// buffers have no data.
///
/// # Errors
/// A value that is no address, a buffer that no kernel writes, an image that is missing.
pub fn plan(
    p: &Program,
    s: &Steps,
    sizes: &Env,
    params: &[Tensor],
    images: &Images,
) -> Result<Plan, Vec<Diagnostic>> {
    let mut b = Build {
        p,
        g: &s.graph,
        sizes,
        job: Job::default(),
        types: vec![],
        places: HashMap::new(),
        views: HashMap::new(),
        kernels: HashMap::new(),
        images: HashMap::new(),
    };
    let one = |d: Box<Diagnostic>| vec![*d];
    for (i, q) in s.graph.params.iter().enumerate() {
        let role = if q.kind == ParamKind::Inout { Role::Inout } else { Role::In };
        b.buffer(q.value, &q.name, role, params.get(i)).map_err(one)?;
    }
    let mut launches = 0;
    for step in &s.steps {
        match step {
            steps::Step::Fill(id) => b.fill(s.graph.node(*id)).map_err(one)?,
            steps::Step::Launch(l) => {
                launches += 1;
                b.launch(l, launches, images).map_err(one)?;
            }
        }
    }
    let mut outputs = vec![];
    for o in &s.outputs {
        let (buffer, offset) = b.address(o.value).map_err(one)?;
        // what is updated is updated where it lies
        let own = s.graph.params.iter().find(|q| q.kind == ParamKind::Inout && q.name == o.name);
        if let Some(q) = own
            && b.places.get(&q.value) != Some(&buffer)
        {
            let msg =
                format!("`{}` is given another buffer's value, its own is not updated", q.name);
            let help = "give the parameter itself to the kernel that updates it";
            return Err(one(refuse(s.graph.value(o.value).span, msg, help)));
        }
        let ty = s.graph.ty(o.value);
        let shape = b.shape(o.value).map_err(one)?;
        let place = Place { name: o.name.clone(), dtype: ty.dtype, shape, buffer, offset };
        if let Some(x) = b.job.buffers.get_mut(buffer) {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            x.results.push((at, usize::try_from(place.bytes()).unwrap_or(usize::MAX)));
        }
        outputs.push(place);
    }
    Ok(Plan { job: Arc::new(b.job), outputs, types: b.types, arms: s.arms.clone() })
}

struct Build<'a> {
    p: &'a Program,
    g: &'a Graph,
    sizes: &'a Env,
    job: Job,
    types: Vec<OutTy>,
    /// Buffers of the values that own one.
    places: HashMap<ValueId, usize>,
    /// Where views lie: each stands on the one before it, and is met again by those behind it.
    views: HashMap<ValueId, (usize, u64)>,
    kernels: HashMap<ItemRef, usize>,
    images: HashMap<String, usize>,
}

type Res<T> = Result<T, Box<Diagnostic>>;

fn refuse(span: Span, msg: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Code::BadTwin, span, msg).help(help))
}

const HELP: &str = "a twin's body holds `alloc`, `zeros`, views that keep the order of elements \
                    (`reshape`, leading subscripts), launches and calls";

impl Build<'_> {
    fn shape(&self, v: ValueId) -> Res<Vec<usize>> {
        crate::eval::shape_of(self.g, v, self.sizes).ok_or_else(|| {
            let msg = format!("`{}` has no shape at these sizes", self.g.value_name(v));
            Box::new(Diagnostic::new(Code::UnboundDim, self.g.value(v).span, msg))
        })
    }

    fn bytes(&self, v: ValueId) -> Res<u64> {
        let n = self.shape(v)?.iter().try_fold(1u64, |n, e| n.checked_mul(*e as u64));
        let bits = self.g.ty(v).dtype.bits();
        match n.filter(|n| n.checked_mul(bits).is_some_and(|b| b < 1 << 46)) {
            Some(n) => Ok(self.g.ty(v).dtype.bytes(n)),
            None => {
                let msg = format!("`{}` is larger than any memory", self.g.value_name(v));
                Err(Box::new(Diagnostic::new(Code::BadTwin, self.g.value(v).span, msg)))
            }
        }
    }

    fn buffer(&mut self, v: ValueId, name: &str, role: Role, data: Option<&Tensor>) -> Res<usize> {
        let bytes = usize::try_from(self.bytes(v)?).unwrap_or(usize::MAX);
        let width = (self.g.ty(v).dtype.bits() / 8).max(1) as usize;
        let data = data.map_or(vec![], Tensor::to_bytes);
        let n = self.job.buffers.len();
        self.job.buffers.push(Buffer {
            name: name.into(),
            bytes,
            role,
            results: vec![],
            width,
            data,
        });
        self.types.push(OutTy { dtype: self.g.ty(v).dtype, shape: self.shape(v)? });
        self.places.insert(v, n);
        Ok(n)
    }

    /// The buffer of a value and the byte in it where the value starts.
    fn address(&mut self, v: ValueId) -> Res<(usize, u64)> {
        if let Some(n) = self.places.get(&v) {
            return Ok((*n, 0));
        }
        match self.g.value(v).def {
            Def::RegionParam(..) => {
                let name = self.g.value(v).name.clone().unwrap_or_else(|| "alloc".into());
                Ok((self.buffer(v, &name, Role::Out, None)?, 0))
            }
            // every parameter has a buffer already
            Def::Param(_) => Err(self.no_address(v)),
            Def::Node(n, _) => {
                if let Some(at) = self.views.get(&v) {
                    return Ok(*at);
                }
                let at = self.view(v, self.g.node(n))?;
                self.views.insert(v, at);
                Ok(at)
            }
        }
    }

    fn no_address(&self, v: ValueId) -> Box<Diagnostic> {
        let value = self.g.value(v);
        let what = match value.def {
            Def::Node(n, _) => format!("`{}` computes", self.g.node(n).label()),
            _ => format!("`{}` is no buffer", self.g.value_name(v)),
        };
        refuse(value.span, format!("{what}, which a twin leaves to its kernels"), HELP)
    }

    fn view(&mut self, v: ValueId, node: &Node) -> Res<(usize, u64)> {
        let (NodeKind::Op { op, attrs }, Some(base)) = (&node.kind, node.inputs.first()) else {
            return Err(self.no_address(v));
        };
        match op.role() {
            OpRole::View if op.keeps_order() => self.address(*base),
            OpRole::Read => {
                let (buffer, at) = self.address(*base)?;
                let subs = attrs.subs("subs").unwrap_or(&[]);
                Ok((buffer, at + self.window(*base, subs, node.span)?))
            }
            // a window that was updated where it lies
            OpRole::Write => {
                let subs = attrs.subs("subs").unwrap_or(&[]);
                let (buffer, at) = self.address(*base)?;
                let tile = match node.inputs.get(1) {
                    Some(t) => self.address(*t)?,
                    None => return Err(self.no_address(v)),
                };
                if tile == (buffer, at + self.window(*base, subs, node.span)?) {
                    return Ok((buffer, at));
                }
                let msg = "this copies one buffer into another, which a twin leaves to its kernels";
                Err(refuse(node.span, msg.into(), "give the window itself to the kernel: `out[i]`"))
            }
            OpRole::Empty => {
                let name = self.g.value_name(v);
                Ok((self.buffer(v, &name, Role::Out, None)?, 0))
            }
            OpRole::View => {
                let msg = format!(
                    "`{}` reorders elements, which a twin leaves to its kernels",
                    op.name()
                );
                Err(refuse(node.span, msg, HELP))
            }
            _ => Err(self.no_address(v)),
        }
    }

    /// Bytes before a window of leading axes.
    fn window(&self, base: ValueId, subs: &[Sub], span: Span) -> Res<u64> {
        let shape = self.shape(base)?;
        let at =
            |e: &crate::types::dim::Expr| e.eval(self.sizes).and_then(|n| u64::try_from(n).ok());
        let open = || refuse(span, "this window has no place at these sizes".into(), HELP);
        let mut first = 0u64;
        // after an axis of which a part is taken, all axes are taken whole
        let mut whole = false;
        for (i, n) in shape.iter().enumerate() {
            let (start, len, kept) = match subs.get(i) {
                Some(Sub::At(e)) => (at(e).ok_or_else(open)?, 1, false),
                Some(Sub::Window { start, len, .. }) => {
                    (at(start).ok_or_else(open)?, at(len).ok_or_else(open)?, true)
                }
                None => (0, *n as u64, true),
            };
            if start.checked_add(len).is_none_or(|end| end > *n as u64) {
                let msg =
                    format!("elements {start}..{} of an axis of {n}", start.saturating_add(len));
                return Err(Box::new(Diagnostic::new(Code::WindowBounds, span, msg)));
            }
            if whole && (start, len) != (0, *n as u64) {
                let msg = "this window is not one run of memory";
                return Err(refuse(
                    span,
                    msg.into(),
                    "subscripts of a twin take leading axes only",
                ));
            }
            whole |= kept && len != 1;
            first = first * *n as u64 + start;
        }
        let dtype = self.g.ty(base).dtype;
        if !(first * dtype.bits()).is_multiple_of(8) {
            let msg = format!("this window starts within a byte of {dtype}");
            return Err(refuse(span, msg, "a window of a twin starts at a whole byte"));
        }
        Ok(dtype.bytes(first))
    }

    fn fill(&mut self, node: &Node) -> Res<()> {
        let (NodeKind::Op { op, attrs }, Some(v)) = (&node.kind, node.outputs.first()) else {
            return Ok(());
        };
        let dtype = self.g.ty(*v).dtype;
        let name = self.g.value(*v).name.clone().unwrap_or_else(|| op.name().into());
        let buffer = self.buffer(*v, &name, Role::Out, None)?;
        let outs = [OutTy { dtype, shape: vec![2] }];
        let cx = EvalCx {
            inputs: &[],
            declared: &[],
            attrs,
            env: self.sizes,
            outs: &outs,
            wide: false,
            exact_order: false,
        };
        let two = op
            .uniform()
            .then(|| op.eval(&cx).ok())
            .flatten()
            .and_then(|t| t.into_iter().next())
            .map(|t| t.to_bytes());
        let same = two.as_deref().and_then(|b| match b {
            [a, b] if a == b => Some(vec![*a]),
            [a, b, c, d] if [a, b] == [c, d] => Some(vec![*a, *b]),
            [a @ .., _, _, _, _] if a.len() == 4 && b.get(4..) == Some(a) => Some(a.to_vec()),
            // f4: two elements in a byte
            [a] => Some(vec![*a]),
            b if b.iter().all(|x| *x == 0) => Some(vec![0]),
            _ => None,
        });
        let Some(pattern) = same else {
            let msg = format!("`{}` is no fill with one value of at most 4 bytes", op.name());
            return Err(refuse(node.span, msg, HELP));
        };
        self.job.steps.push(Step::Fill { buffer, pattern });
        Ok(())
    }

    fn launch(&mut self, l: &steps::Launch, n: usize, images: &Images) -> Res<()> {
        let Some(ItemKind::ExternKernel { name, params, .. }) =
            self.p.item(l.kernel).map(|i| &i.kind)
        else {
            return Ok(());
        };
        let kernel = self.kernel(l.kernel, images)?;
        let mut args = vec![];
        let (mut writes, mut reads) = (vec![], vec![]);
        for (q, a) in params.iter().zip(&l.args) {
            args.push(match a {
                steps::Arg::Scalar { dtype, value } => {
                    Arg::Bytes(self.scalar(&q.name.text, *dtype, value, l.span)?)
                }
                steps::Arg::Tensor { value, mode, map } => {
                    let (buffer, offset) = self.address(*value)?;
                    self.may(buffer, *mode, &q.name.text, l.span)?;
                    if *mode == Mode::In { &mut reads } else { &mut writes }.push(buffer);
                    match map {
                        None => Arg::Address { buffer, offset },
                        Some(m) => Arg::Map { buffer, offset, map: self.map(*value, m)? },
                    }
                }
            });
        }
        reads.retain(|b| !writes.contains(b));
        let shown = format!("launch {n}, `{}` in `{}`", name.text, l.path);
        let [grid, block] = [self.three(l, "grid")?, self.three(l, "block")?];
        self.job.steps.push(Step::Launch(job::Launch {
            kernel,
            args,
            grid: grid.unwrap_or([1; 3]),
            block: block.unwrap_or([1; 3]),
            cluster: self.three(l, "cluster")?,
            shared: self.three(l, "smem")?.map_or(0, |[n, ..]| n),
            cooperative: l.cooperative,
            writes,
            reads,
            shown,
        }));
        Ok(())
    }

    /// The numbers of an option, at the stated sizes.
    fn three(&self, l: &steps::Launch, name: &str) -> Res<Option<[u32; 3]>> {
        let Some(o) = l.options.iter().find(|o| o.name == name) else { return Ok(None) };
        let mut out = [1u32; 3];
        for (slot, (e, span)) in out.iter_mut().zip(&o.of) {
            let n = e.eval(self.sizes);
            let least = i64::from(name != "smem");
            let fits = n.filter(|n| *n >= least).and_then(|n| u32::try_from(n).ok());
            *slot = fits.ok_or_else(|| {
                let shown = n.map_or_else(|| self.g.vars.show(e), |n| n.to_string());
                let msg = format!("`{name}` is {shown} at these sizes");
                Box::new(Diagnostic::new(Code::BadKernel, *span, msg))
            })?;
        }
        Ok(Some(out))
    }

    /// A scalar argument, at the stated sizes.
    fn scalar(&self, param: &str, dtype: DType, n: &Num, span: Span) -> Res<Vec<u8>> {
        let bad = |msg: String| Box::new(Diagnostic::new(Code::BadKernel, span, msg));
        let int = n.as_int().and_then(|e| e.eval(self.sizes));
        let value = n.eval_f64(self.sizes).ok_or_else(|| {
            let shown = n.show(&self.g.vars);
            bad(format!("`{param}` is `{shown}`, which has no value at these sizes"))
        })?;
        let fits = match (int, dtype) {
            (Some(i), DType::U32) => u32::try_from(i).is_ok(),
            (Some(i), DType::I32) => i32::try_from(i).is_ok(),
            (Some(i), DType::U64) => i >= 0,
            (_, DType::F32) => (value as f32).is_finite() || !value.is_finite(),
            _ => true,
        };
        if !fits {
            return Err(bad(format!(
                "`{param}` is {value} at these sizes, which no {dtype} holds"
            )));
        }
        Ok(scalar(dtype, value, int))
    }

    /// A kernel writes no input; elaboration has seen that of names, this sees it of views.
    fn may(&self, buffer: usize, mode: Mode, param: &str, span: Span) -> Res<()> {
        let Some(b) = self.job.buffers.get(buffer) else { return Ok(()) };
        if b.role != Role::In || mode == Mode::In {
            return Ok(());
        }
        let msg = format!("`{}` is an input, and `{param}` writes it", b.name);
        Err(refuse(
            span,
            msg,
            "a kernel writes buffers from `alloc`, and parameters that are `inout`",
        ))
    }

    fn map(&self, v: ValueId, m: &steps::TensorMap) -> Res<job::TensorMap> {
        let extents = self.shape(v)?.into_iter().map(|n| n as u64).collect();
        let dtype = self.g.ty(v).dtype.name().to_string();
        // a box has at most 256 elements an axis, a swizzle 128 bytes
        let tile = m.tile.iter().map(|n| u32::try_from(*n).unwrap_or(u32::MAX)).collect();
        let swizzle = u32::try_from(m.swizzle).unwrap_or(u32::MAX);
        Ok(job::TensorMap { dtype, extents, tile, swizzle })
    }

    fn kernel(&mut self, r: ItemRef, images: &Images) -> Res<usize> {
        if let Some(k) = self.kernels.get(&r) {
            return Ok(*k);
        }
        let Some(ItemKind::ExternKernel { name, entry, from, .. }) =
            self.p.item(r).map(|i| &i.kind)
        else {
            return Ok(0);
        };
        let Some((file, data)) = images.get(&r) else {
            let msg = format!("the image `{}` of `{}` is missing", from.value, name.text);
            return Err(Box::new(Diagnostic::new(Code::BadKernel, from.span, msg)));
        };
        let image = match self.images.get(file) {
            Some(i) => *i,
            None => {
                let i = self.job.images.len();
                let (name, bytes, data) = (file.clone(), data.len(), data.clone());
                self.job.images.push(Image { name, bytes, data });
                self.images.insert(file.clone(), i);
                i
            }
        };
        let k = self.job.kernels.len();
        let (name, entry) = (name.text.clone(), entry.value.clone());
        self.job.kernels.push(job::Kernel { name, entry, image });
        self.kernels.insert(r, k);
        Ok(k)
    }
}

fn scalar(dtype: DType, value: f64, int: Option<i64>) -> Vec<u8> {
    match (dtype, int) {
        (DType::F32, _) => (value as f32).to_le_bytes().to_vec(),
        (DType::U32 | DType::I32, Some(i)) => (i as u32).to_le_bytes().to_vec(),
        (_, i) => i.unwrap_or(value as i64).to_le_bytes().to_vec(),
    }
}
