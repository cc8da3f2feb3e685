//! Runs single nodes: ops by their own evaluation, and those that concern positions here.

use std::sync::Arc;

use super::axes::minus;
use super::deps::{buffer_of, collect_order};
use super::fail::{Res, conflict, fail, internal, read_back, uninit, window_error};
use super::frame::{Frame, Read, Slot, coord};
use super::run::Cx;
use super::value::{Owner, Rec, Trace, Val};
use super::value_dtype;
use super::window::{Rect, Window, pick};
use crate::diag::Code;
use crate::graph::{Node, NodeId, ValueId};
use crate::ops::{Attrs, EvalCx, Op, OutTy, Role};
use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::value::Tensor;

impl Cx<'_> {
    pub fn op(
        &self,
        frame: &mut Frame,
        id: NodeId,
        node: &Node,
        op: &'static dyn Op,
        attrs: &Attrs,
        dies: &[ValueId],
    ) -> Res<()> {
        match op.role() {
            Role::Compute | Role::Create => self.compute(frame, node, op, attrs),
            Role::View => self.view(frame, node, op, attrs),
            Role::Empty => {
                let out = self.out_ty(frame, node, 0)?;
                let name = node.outputs.first().map_or(String::new(), |o| self.g.value_name(*o));
                let val = Val::empty(out.dtype, out.shape, node.span, name);
                self.set(frame, node, 0, val)
            }
            Role::Read => self.read(frame, node, attrs),
            Role::Write => self.write(frame, id, node, attrs, dies),
            Role::Reshard | Role::Complete => {
                let x = self.operand(node, 0)?;
                let val = frame.take(x, dies.binary_search(&x).is_ok(), &self.g.meshes);
                let val = val.ok_or_else(|| internal(node, "an operand has no value"))?;
                self.set(frame, node, 0, val)
            }
            Role::Local => self.local(frame, node),
            Role::Collect => self.collect(frame, node),
        }
    }

    fn operand(&self, node: &Node, i: usize) -> Res<ValueId> {
        node.inputs.get(i).copied().ok_or_else(|| internal(node, "an operand is missing"))
    }

    fn set(&self, frame: &mut Frame, node: &Node, i: usize, val: Val) -> Res<()> {
        let o = node.outputs.get(i).ok_or_else(|| internal(node, "a result is missing"))?;
        frame.slots.insert(*o, Slot::One(val));
        Ok(())
    }

    fn out_ty(&self, frame: &Frame, node: &Node, i: usize) -> Res<OutTy> {
        let o = node.outputs.get(i).ok_or_else(|| internal(node, "a result is missing"))?;
        let ty = self.g.ty(*o);
        let extent = |e: &Expr| e.eval(&frame.env).and_then(|n| usize::try_from(n).ok());
        let shape: Option<Vec<usize>> = ty.shape.iter().map(extent).collect();
        let shape = shape.filter(|s| crate::types::value::elements(s).is_some());
        let Some(shape) = shape else {
            let text = format!("`{}` has no shape at these sizes", ty.show(&self.g.vars));
            return Err(fail(self.g, frame, node, Code::EvalFailed, text));
        };
        Ok(OutTy { dtype: value_dtype(ty.dtype, self.opts.wide), shape })
    }

    pub fn constant(&self, frame: &mut Frame, node: &Node, n: &Num) -> Res<()> {
        let out = self.out_ty(frame, node, 0)?;
        let tensor = match n {
            Num::Int(e) if !out.dtype.is_float() => {
                e.eval(&frame.env).map(|i| Tensor::scalar_i64(out.dtype, i))
            }
            _ => n.eval_f64(&frame.env).map(|x| Tensor::scalar(out.dtype, x)),
        };
        let tensor = tensor.ok_or_else(|| internal(node, "a number has no value"))?;
        self.set(frame, node, 0, Val::plain(tensor))
    }

    /// A value as this position may read it: the whole of it or one block, with its own writes.
    pub fn settle(
        &self,
        frame: &mut Frame,
        node: &Node,
        v: ValueId,
        rect: Option<&Rect>,
    ) -> Res<Val> {
        let val = frame.get(v, &self.g.meshes);
        let val = val.ok_or_else(|| internal(node, "an operand has no value"))?;
        let Some(trace) = &val.trace else {
            return Ok(match rect {
                Some(r) => val.block(r),
                None => val,
            });
        };
        let whole = Rect::whole(val.tensor.shape());
        let rect = rect.unwrap_or(&whole);
        self.may_read(frame, node, &val, trace, rect)?;
        if !trace.open.is_empty() {
            let by = Arc::new(frame.owner(&frame.bound, &self.g.meshes));
            frame.reads.push(Read { root: trace.root, rect: rect.clone(), by, span: node.span });
        }
        Ok(val.block(rect))
    }

    /// Refuses elements that another position wrote in this block.
    fn may_read(
        &self,
        frame: &Frame,
        node: &Node,
        val: &Val,
        trace: &Trace,
        rect: &Rect,
    ) -> Res<()> {
        let g = self.g;
        let shape = val.tensor.shape();
        let own = |o: &Owner| o.readable(|a| coord(&frame.env, a, &g.meshes));
        let mut found = None;
        if let Some(owners) = &trace.owners {
            found = owners.find(rect, shape, own).map(|(at, w)| (at, w.0.clone(), w.1));
        }
        for r in &trace.recs {
            if let Some(part) = rect.intersect(&r.rect)
                && !own(&r.owner)
                && found.is_none()
            {
                part.runs(shape, |at, _| {
                    found.get_or_insert((at, r.owner.clone(), r.span));
                });
            }
        }
        match found {
            None => Ok(()),
            Some((at, owner, span)) => {
                let by = frame.owner(&frame.bound, &g.meshes);
                let name = g.value_name(trace.root);
                Err(read_back(g, &name, shape, at, (&by, node.span), (&owner, span)))
            }
        }
    }

    pub fn no_gaps(&self, frame: &Frame, node: &Node, v: ValueId, val: &Val) -> Res<()> {
        match &val.gaps {
            None => Ok(()),
            Some(gaps) => {
                let name = self.g.value_name(v);
                Err(uninit(self.g, frame, node.span, &name, val.tensor.shape(), gaps))
            }
        }
    }

    fn eval(
        &self,
        frame: &Frame,
        node: &Node,
        op: &'static dyn Op,
        attrs: &Attrs,
        inputs: &[Tensor],
        outs: &[OutTy],
    ) -> Res<Vec<Tensor>> {
        let declared: Vec<DType> = node.inputs.iter().map(|v| self.g.ty(*v).dtype).collect();
        let cx = EvalCx {
            inputs,
            declared: &declared,
            attrs,
            env: &frame.env,
            outs,
            wide: self.opts.wide,
            exact_order: self.opts.exact_order,
        };
        let got = op.eval(&cx).map_err(|e| {
            let name = format!("`{}`", op.name());
            let msg = if e.message.contains(&name) {
                e.message
            } else {
                format!("{name}: {}", e.message)
            };
            let d = fail(self.g, frame, node, Code::EvalFailed, msg);
            Box::new(node.inputs.iter().zip(inputs).fold(*d, |d, (v, t)| {
                let text = format!("`{}` is {}{:?}", self.g.value_name(*v), t.dtype(), t.shape());
                d.label(self.g.value(*v).span, text)
            }))
        })?;
        let fits = got.len() == outs.len()
            && got.iter().zip(outs).all(|(t, o)| t.dtype() == o.dtype && t.shape() == o.shape);
        if !fits {
            let shown = |d: DType, s: &[usize]| format!("{d}{s:?}");
            let made: Vec<String> = got.iter().map(|t| shown(t.dtype(), t.shape())).collect();
            let said: Vec<String> = outs.iter().map(|o| shown(o.dtype, &o.shape)).collect();
            let text = format!("gave {} for {}", made.join(", "), said.join(", "));
            return Err(internal(node, &text));
        }
        Ok(got)
    }

    fn out_tys(&self, frame: &Frame, node: &Node) -> Res<Vec<OutTy>> {
        (0..node.outputs.len()).map(|i| self.out_ty(frame, node, i)).collect()
    }

    fn compute(
        &self,
        frame: &mut Frame,
        node: &Node,
        op: &'static dyn Op,
        attrs: &Attrs,
    ) -> Res<()> {
        let mut inputs = vec![];
        for v in &node.inputs {
            let val = self.settle(frame, node, *v, None)?;
            self.no_gaps(frame, node, *v, &val)?;
            inputs.push(val.tensor);
        }
        let outs = self.out_tys(frame, node)?;
        let got = self.eval(frame, node, op, attrs, &inputs, &outs)?;
        for (i, t) in got.into_iter().enumerate() {
            self.set(frame, node, i, Val::plain(t))?;
        }
        Ok(())
    }

    /// A view moves what is written along with the elements.
    fn view(&self, frame: &mut Frame, node: &Node, op: &'static dyn Op, attrs: &Attrs) -> Res<()> {
        let mut vals = vec![];
        for v in &node.inputs {
            vals.push(self.settle(frame, node, *v, None)?);
        }
        let inputs: Vec<Tensor> = vals.iter().map(|v| v.tensor.clone()).collect();
        let outs = self.out_tys(frame, node)?;
        let got = self.eval(frame, node, op, attrs, &inputs, &outs)?;
        let mut masks = vec![None; got.len()];
        if let Some(gaps) = vals.iter().find_map(|v| v.gaps.clone()) {
            let ones = |v: &Val| Tensor::full(DType::Bool, v.tensor.shape().to_vec(), 1.0);
            let written: Vec<Tensor> = vals
                .iter()
                .map(|v| v.gaps.as_ref().map_or_else(|| ones(v), |g| g.written.clone()))
                .collect();
            let bools: Vec<OutTy> =
                outs.iter().map(|o| OutTy { dtype: DType::Bool, shape: o.shape.clone() }).collect();
            let moved = self.eval(frame, node, op, attrs, &written, &bools)?;
            masks = moved.into_iter().map(|m| gaps.of(m)).collect();
        }
        for (i, (tensor, gaps)) in got.into_iter().zip(masks).enumerate() {
            self.set(frame, node, i, Val { tensor, gaps, trace: None })?;
        }
        Ok(())
    }

    fn window(&self, frame: &Frame, node: &Node, v: ValueId, attrs: &Attrs) -> Res<Window> {
        let val = frame.get(v, &self.g.meshes);
        let val = val.ok_or_else(|| internal(node, "an operand has no value"))?;
        let subs = attrs.subs("subs").unwrap_or(&[]);
        let shape = val.tensor.shape();
        Window::new(subs, shape, &frame.env)
            .map_err(|e| window_error(self.g, frame, node, v, shape, e))
    }

    fn read(&self, frame: &mut Frame, node: &Node, attrs: &Attrs) -> Res<()> {
        let x = self.operand(node, 0)?;
        let w = self.window(frame, node, x, attrs)?;
        let block = self.settle(frame, node, x, Some(&w.rect))?;
        let pad = w.pad.unwrap_or(0.0);
        let gaps = block.gaps.and_then(|g| g.of(w.finish(&g.written, 1.0)));
        let tensor = w.finish(&block.tensor, pad);
        let out = self.out_ty(frame, node, 0)?;
        if tensor.shape() != out.shape {
            return Err(internal(node, "the window's shape is not the result's"));
        }
        self.set(frame, node, 0, Val { tensor, gaps, trace: None })
    }

    /// Writes a tile into a window of a buffer. Where positions share the buffer the write waits
    /// until all of them are done, when windows are held against each other.
    fn write(
        &self,
        frame: &mut Frame,
        id: NodeId,
        node: &Node,
        attrs: &Attrs,
        dies: &[ValueId],
    ) -> Res<()> {
        let (base, tile) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let g = self.g;
        let w = self.window(frame, node, base, attrs)?;
        let part = self.settle(frame, node, tile, None)?;
        let clip = |t: &Tensor| {
            w.clip(t).ok_or_else(|| internal(node, "the tile's shape is not the window's"))
        };
        let block = clip(&part.tensor)?;
        let gaps = match &part.gaps {
            Some(m) => m.of(clip(&m.written)?),
            None => None,
        };
        let own = base != tile && dies.binary_search(&base).is_ok();
        let val = frame.take(base, own, &g.meshes);
        let mut val = val.ok_or_else(|| internal(node, "an operand has no value"))?;
        let shared = &self.deps.shared[id.0 as usize];
        if frame.muted && !shared.is_empty() {
            return self.set(frame, node, 0, val);
        }
        if shared.is_empty() && val.trace.is_none() {
            val.write(&w.rect, &block, gaps.as_deref());
            return self.set(frame, node, 0, val);
        }
        let rec = Rec {
            rect: w.rect,
            tile: block,
            gaps,
            owner: Arc::new(frame.owner(&self.deps.need[id.0 as usize], &g.meshes)),
            span: node.span,
            depth: frame.depth,
        };
        let root = buffer_of(g, base);
        let trace = Arc::make_mut(val.trace.get_or_insert_with(|| Arc::new(Trace::new(root))));
        super::axes::add(&mut trace.open, shared);
        if trace.open.is_empty() {
            let shape = val.tensor.shape().to_vec();
            val.apply(&rec).map_err(|c| conflict(g, &g.value_name(root), &shape, &c))?;
        } else {
            trace.recs.push(rec);
        }
        self.set(frame, node, 0, val)
    }

    /// The piece of a split value that this position holds.
    fn local(&self, frame: &mut Frame, node: &Node) -> Res<()> {
        let x = self.operand(node, 0)?;
        let val = self.settle(frame, node, x, None)?;
        let ty = self.g.ty(x);
        let mut lists = vec![];
        for (axis, extent) in val.tensor.shape().iter().enumerate() {
            let split = ty.place.axes.get(axis).filter(|s| !s.is_whole());
            let list = match split {
                None => (0..*extent).collect(),
                Some(s) => {
                    let mut list = vec![0usize];
                    for f in &s.factors {
                        let n = f.extent.eval(&frame.env).and_then(|n| usize::try_from(n).ok());
                        let n = n.ok_or_else(|| internal(node, "a factor has no extent"))?;
                        let digits: Vec<usize> = match f.axis {
                            Some(a) => coord(&frame.env, a, &self.g.meshes)
                                .map(|c| vec![c as usize])
                                .ok_or_else(|| internal(node, "a coordinate is not set"))?,
                            None => (0..n).collect(),
                        };
                        list = list
                            .iter()
                            .flat_map(|i| digits.iter().map(move |d| i * n + d))
                            .collect();
                    }
                    list
                }
            };
            if list.iter().any(|i| i >= extent) {
                let text = format!(
                    "this position's piece of `{}` reaches past its end: a padded split has no `local`",
                    self.g.value_name(x)
                );
                return Err(fail(self.g, frame, node, Code::EvalFailed, text));
            }
            lists.push(list);
        }
        let gaps = val.gaps.as_ref().and_then(|g| g.of(pick(&g.written, &lists)));
        let tensor = pick(&val.tensor, &lists);
        let out = self.out_ty(frame, node, 0)?;
        if tensor.shape() != out.shape {
            return Err(internal(node, "the piece's shape is not the result's"));
        }
        self.set(frame, node, 0, Val { tensor, gaps, trace: None })
    }

    /// Stacks the values of all positions along new leading axes.
    fn collect(&self, frame: &mut Frame, node: &Node) -> Res<()> {
        let g = self.g;
        let x = self.operand(node, 0)?;
        let order = collect_order(node);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if minus(&sorted, &frame.bound).len() != order.len() {
            return Err(internal(node, "an axis to collect is already set"));
        }
        let out = self.out_ty(frame, node, 0)?;
        let extents: Vec<usize> = out.shape.iter().take(order.len()).copied().collect();
        let mut val = Val::plain(Tensor::full(out.dtype, out.shape.clone(), 1.0));
        let n: usize = extents.iter().product();
        let vars: Vec<_> = order.iter().filter_map(|a| g.meshes.axis(*a)).map(|a| a.var).collect();
        let mut lens = out.shape.clone();
        lens.iter_mut().take(order.len()).for_each(|l| *l = 1);
        for i in 0..n {
            let at = super::window::unravel(i, &extents);
            for (v, c) in vars.iter().zip(&at) {
                frame.env.set(*v, *c as i64);
            }
            let piece = self.settle(frame, node, x, None)?;
            let mut starts = at;
            starts.resize(lens.len(), 0);
            if piece.tensor.len() != lens.iter().product::<usize>() {
                return Err(internal(node, "a collected value has another shape"));
            }
            let rect = Rect { starts, lens: lens.clone() };
            let gaps = piece.gaps.and_then(|g| g.of(g.written.reshape(lens.clone())));
            val.write(&rect, &piece.tensor.reshape(lens.clone()), gaps.as_deref());
        }
        for v in vars {
            frame.env.unset(v);
        }
        self.set(frame, node, 0, val)
    }
}
