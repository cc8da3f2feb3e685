//! Runs a group of nodes block by block.
//!
//! Blocks run in parallel, each through all nodes; what leaves the group is written into place.
//! A group that meets a buffer with bookkeeping, or that fails, runs node by node instead, so that
//! messages tell indices of whole values.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::fail::Res;
use super::frame::{Frame, Slot};
use super::fused::{self, Chain, Link, Operand};
use super::plan::TileGroup;
use super::run::Cx;
use super::tiles::Places;
use super::value::Val;
use super::window::unravel;
use crate::base::HashMap;
use crate::graph::{NodeId, NodeKind, ValueId};
use crate::ops::{EvalCx, Lanes, OutTy, Role, alone};
use crate::types::canvas::{Canvas, Part};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// Starts and extents of a block.
type Block = (Vec<usize>, Vec<usize>);

/// A group with what it needs while its blocks run.
struct Run<'r> {
    group: &'r TileGroup,
    frame: &'r Frame<'r>,
    outside: HashMap<ValueId, Tensor>,
    shapes: HashMap<ValueId, OutTy>,
    /// Blocks of outside values that several blocks of the group read, where they are copies.
    shared: Mutex<HashMap<(ValueId, Vec<usize>), Tensor>>,
    /// How many blocks each cut makes.
    counts: Vec<usize>,
    chains: Vec<Chain>,
}

impl Cx<'_> {
    pub fn tiles(&self, frame: &mut Frame, group: &TileGroup) -> Res<()> {
        if let Some(made) = self.blocks(frame, group) {
            for (v, t) in made {
                frame.slots.insert(v, Slot::One(Val::plain(t)));
            }
            group.tiles.nodes.iter().for_each(|n| self.tick(self.g.node(*n).label()));
            return Ok(());
        }
        self.whole.fetch_add(1, Ordering::Relaxed);
        for (n, dies) in group.tiles.nodes.iter().zip(&group.dies) {
            self.node(frame, *n, &[])?;
            self.tick(self.g.node(*n).label());
            let made = |v: &&ValueId| self.made_by(group, **v);
            for v in dies.iter().filter(made) {
                frame.slots.remove(v);
            }
        }
        Ok(())
    }

    fn made_by(&self, group: &TileGroup, v: ValueId) -> bool {
        group.tiles.nodes.iter().any(|n| self.g.node(*n).outputs.contains(&v))
    }

    /// The values that leave the group; `None` where it cannot run in blocks.
    fn blocks(&self, frame: &Frame, group: &TileGroup) -> Option<Vec<(ValueId, Tensor)>> {
        let mut outside = HashMap::default();
        let mut shapes = HashMap::default();
        for n in &group.tiles.nodes {
            let node = self.g.node(*n);
            for v in node.inputs.iter().filter(|v| !shapes.contains_key(*v)) {
                let val = frame.get(*v, &self.g.meshes)?;
                if val.gaps.is_some() || val.trace.is_some() {
                    return None;
                }
                outside.insert(*v, val.tensor);
            }
            for (k, v) in node.outputs.iter().enumerate() {
                shapes.insert(*v, self.out_ty(frame, node, k).ok()?);
            }
        }
        let counts: Vec<usize> = group.tiles.cuts.iter().map(|(n, t)| n.div_ceil(*t)).collect();
        let (shared, chains) = (Mutex::default(), vec![]);
        let mut run = Run { group, frame, outside, shapes, shared, counts, chains };
        run.chains = self.chains(&run);
        let total: usize = run.counts.iter().product();
        let mut canvases = vec![];
        for v in &group.exports {
            let ty = run.shapes.get(v)?;
            canvases.push(Canvas::new(ty.dtype, ty.shape.clone())?);
        }
        let mut parts: Vec<Vec<Part>> = (0..total).map(|_| vec![]).collect();
        for (v, canvas) in group.exports.iter().zip(&mut canvases) {
            let (ty, at) = (run.shapes.get(v)?, group.tiles.at.get(v)?);
            let blocks: Vec<Block> = (0..total).map(|i| run.block(i, at, &ty.shape)).collect();
            for (all, part) in parts.iter_mut().zip(canvas.parts(&blocks)?) {
                all.push(part);
            }
        }
        let done = |(i, mut parts): (usize, Vec<Part>)| alone(|| self.one(&run, i, &mut parts));
        parts.into_par_iter().enumerate().map(done).collect::<Option<()>>()?;
        let whole = canvases.into_iter().map(Canvas::finish);
        Some(group.exports.iter().copied().zip(whole).collect())
    }

    /// Runs one block through all nodes.
    fn one(&self, run: &Run, i: usize, parts: &mut [Part]) -> Option<()> {
        let mut have: HashMap<ValueId, Tensor> = HashMap::default();
        let nodes = &run.group.tiles.nodes;
        let mut at = 0;
        while at < nodes.len() {
            let these = match run.chains.iter().find(|c| c.nodes.start == at) {
                Some(c) => {
                    self.chain(run, i, c, &mut have)?;
                    c.nodes.clone()
                }
                None => {
                    self.step(run, i, *nodes.get(at)?, &mut have)?;
                    at..at + 1
                }
            };
            at = these.end;
            for v in nodes.get(these.clone())?.iter().flat_map(|n| &self.g.node(*n).outputs) {
                if let Some(k) = run.group.exports.iter().position(|e| e == v)
                    && !parts.get_mut(k)?.put(have.get(v)?)
                {
                    return None;
                }
            }
            for v in run.group.dies.get(these)?.iter().flatten() {
                have.remove(v);
            }
        }
        Some(())
    }

    /// The kernel of a node that can be in a chain, and the value that it makes.
    fn link(&self, run: &Run, n: NodeId) -> Option<(Lanes, ValueId)> {
        let node = self.g.node(n);
        let NodeKind::Op { op, .. } = &node.kind else { return None };
        let (lanes, [out]) = (op.lanes()?, &node.outputs[..]) else { return None };
        let (dtype, shape) = run.ty(*out)?;
        let at = run.group.tiles.at.get(out);
        let fits = |v: &ValueId| {
            run.ty(*v).is_some_and(|(d, s)| {
                let number = s.is_empty() && run.outside.contains_key(v);
                fused::takes(d) && (number || s == shape && run.group.tiles.at.get(v) == at)
            })
        };
        (fused::takes(dtype) && node.inputs.iter().all(fits)).then_some((lanes, *out))
    }

    /// Runs of two and more elementwise nodes of one shape, cut alike.
    fn chains(&self, run: &Run) -> Vec<Chain> {
        let mut out: Vec<Chain> = vec![];
        for (i, n) in run.group.tiles.nodes.iter().enumerate() {
            let Some((lanes, v)) = self.link(run, *n) else { continue };
            let alike = |w: &ValueId| {
                run.ty(*w).map(|t| t.1) == run.ty(v).map(|t| t.1)
                    && run.group.tiles.at.get(w) == run.group.tiles.at.get(&v)
            };
            let last = out.last_mut().filter(|c| c.nodes.end == i);
            let chain = match last.filter(|c| c.made.first().is_some_and(alike)) {
                Some(c) => c,
                None => {
                    let (links, made, outside) = Default::default();
                    out.push(Chain { nodes: i..i, links, made, outside });
                    let Some(c) = out.last_mut() else { continue };
                    c
                }
            };
            let mut inputs = vec![];
            for w in &self.g.node(*n).inputs {
                inputs.push(match chain.made.iter().position(|m| m == w) {
                    Some(k) => Operand::Link(k),
                    None => {
                        let known = chain.outside.iter().position(|o| o == w);
                        let k = known.unwrap_or(chain.outside.len());
                        if known.is_none() {
                            chain.outside.push(*w);
                        }
                        Operand::Outside(k)
                    }
                });
            }
            let dtype = run.ty(v).map_or(DType::F32, |t| t.0);
            chain.links.push(Link { lanes, inputs, dtype, keep: true });
            chain.made.push(v);
            chain.nodes.end = i + 1;
        }
        out.retain(|c| c.links.len() > 1);
        for c in &mut out {
            let dies = run.group.dies.get(c.nodes.clone()).unwrap_or(&[]);
            for (l, v) in c.links.iter_mut().zip(&c.made) {
                l.keep = !dies.iter().any(|d| d.contains(v));
            }
        }
        out
    }

    fn chain(
        &self,
        run: &Run,
        i: usize,
        chain: &Chain,
        have: &mut HashMap<ValueId, Tensor>,
    ) -> Option<()> {
        let mut operands = vec![];
        for v in &chain.outside {
            if !have.contains_key(v) {
                have.insert(*v, run.outside(i, *v)?);
            }
            operands.push(have.get(v)?.clone());
        }
        let (first, at) = (chain.made.first()?, |v| run.group.tiles.at.get(v));
        let (_, shape) = run.block(i, at(first)?, run.ty(*first)?.1);
        let kept = fused::run(&chain.links, &operands, &shape)?;
        let names = chain.made.iter().zip(&chain.links).filter(|(_, l)| l.keep).map(|(v, _)| *v);
        have.extend(names.zip(kept));
        Some(())
    }

    fn step(
        &self,
        run: &Run,
        i: usize,
        n: NodeId,
        have: &mut HashMap<ValueId, Tensor>,
    ) -> Option<()> {
        let node = self.g.node(n);
        let NodeKind::Op { op, attrs } = &node.kind else { return None };
        let mut inputs = vec![];
        for v in &node.inputs {
            if !have.contains_key(v) {
                have.insert(*v, run.outside(i, *v)?);
            }
            inputs.push(have.get(v)?.clone());
        }
        if matches!(op.role(), Role::Reshard | Role::Complete) {
            have.insert(*node.outputs.first()?, inputs.pop()?);
            return Some(());
        }
        let mut outs = vec![];
        for v in &node.outputs {
            let ty = run.shapes.get(v)?;
            let (_, shape) = run.block(i, run.group.tiles.at.get(v)?, &ty.shape);
            outs.push(OutTy { dtype: ty.dtype, shape });
        }
        let declared: Vec<DType> = node.inputs.iter().map(|v| self.g.ty(*v).dtype).collect();
        let cx = EvalCx {
            inputs: &inputs,
            declared: &declared,
            attrs,
            env: &run.frame.env,
            outs: &outs,
            wide: self.opts.wide,
            exact_order: self.opts.exact_order,
        };
        let got = op.eval(&cx).ok()?;
        for ((v, t), o) in node.outputs.iter().zip(got).zip(&outs) {
            if t.dtype() != o.dtype || t.shape() != o.shape {
                return None;
            }
            have.insert(*v, t);
        }
        Some(())
    }
}

impl Run<'_> {
    /// The dtype and the whole shape of a value that the group reads or makes.
    fn ty(&self, v: ValueId) -> Option<(DType, &[usize])> {
        match self.shapes.get(&v) {
            Some(o) => Some((o.dtype, &o.shape)),
            None => self.outside.get(&v).map(|t| (t.dtype(), t.shape())),
        }
    }

    /// The block of a value made outside.
    fn outside(&self, i: usize, v: ValueId) -> Option<Tensor> {
        let (whole, at) = (self.outside.get(&v)?, self.group.tiles.at.get(&v)?);
        let (starts, lens) = self.block(i, at, whole.shape());
        if lens == whole.shape() {
            return Some(whole.clone());
        }
        if at.iter().zip(&self.counts).all(|(on, n)| on.is_some() || *n == 1) {
            return Some(whole.slice_block(&starts, &lens));
        }
        let key = (v, starts);
        if let Some(t) = self.shared.lock().ok()?.get(&key) {
            return Some(t.clone());
        }
        let part = whole.slice_block(&key.1, &lens);
        self.shared.lock().ok()?.insert(key, part.clone());
        Some(part)
    }

    /// The block of a value in block `i` of the group.
    fn block(&self, i: usize, at: &Places, shape: &[usize]) -> Block {
        let (mut starts, mut lens) = (vec![0; shape.len()], shape.to_vec());
        let index = unravel(i, &self.counts);
        for ((on, (n, t)), k) in at.iter().zip(&self.group.tiles.cuts).zip(index) {
            if let Some(on) = on
                && let (Some(s), Some(l)) = (starts.get_mut(on.axis), lens.get_mut(on.axis))
            {
                *s = k * t * on.unit;
                *l = (*t).min(n - k * t) * on.unit;
            }
        }
        (starts, lens)
    }
}
