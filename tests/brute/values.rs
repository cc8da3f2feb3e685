//! Which points a position runs, which elements they touch, and what ops do.

use super::*;

impl Counter<'_> {
    pub(super) fn storage_of(&self, run: &Run, v: ValueId, write: bool) -> Storage {
        match (run.role, write) {
            (Role::Write, true) => run.result,
            _ => self.g.ty(v).place.storage,
        }
    }

    /// The points of a position: a mesh axis that splits an operand's axis splits the loop that
    /// indexes it. What a copy gathers is not divided among the owners of its target.
    pub(super) fn points(&self, run: &Run, at: &dyn Fn(AxisId) -> Option<i64>) -> Vec<Index> {
        let mut points: Vec<Index> = vec![vec![]];
        for (d, extent) in run.table.extents.iter().enumerate() {
            let mut splits: Vec<(&AxisSplit, bool)> = vec![];
            let own = run.role != Role::Write;
            for (v, axes) in run.table.writes.iter().filter(|_| own) {
                splits.extend(self.splits(*v, axes, d).map(|s| (s, true)));
            }
            for (v, axes) in &run.table.reads {
                splits.extend(self.splits(*v, axes, d).map(|s| (s, false)));
            }
            let size = splits.iter().map(|(s, _)| padded(s, *extent)).max().unwrap_or(*extent);
            let here = |i: i64| {
                splits.iter().all(|(s, out)| {
                    let divides = |a: AxisId| {
                        run.role != Role::Reshard
                            || *out
                            || self.rank(a) > owner(self.g, run.result)
                    };
                    inside(s, i, *extent, &|a| at(a).filter(|_| divides(a)))
                })
            };
            let inside: Vec<i64> = (0..size).filter(|i| here(*i)).collect();
            points = points
                .iter()
                .flat_map(|p| inside.iter().map(move |i| p.iter().copied().chain([*i]).collect()))
                .collect();
        }
        points
    }

    fn splits<'b>(
        &'b self,
        v: ValueId,
        axes: &'b [Option<usize>],
        d: usize,
    ) -> impl Iterator<Item = &'b AxisSplit> {
        let place = &self.g.ty(v).place;
        axes.iter().zip(&place.axes).filter(move |(x, _)| **x == Some(d)).map(|(_, s)| s)
    }

    /// Whether the position can reach the element: it exists, padding counted where the value has
    /// some, and is in the position's own part of its storage.
    pub(super) fn there(
        &self,
        run: &Run,
        v: ValueId,
        index: &[i64],
        at: &dyn Fn(AxisId) -> Option<i64>,
        write: bool,
    ) -> bool {
        let storage = self.storage_of(run, v, write);
        let place = &self.g.ty(v).place;
        let written_elsewhere = run.role == Role::Write && write;
        self.shape(v).iter().zip(index).enumerate().all(|(i, (n, x))| {
            let Some(s) = place.axes.get(i).filter(|_| !written_elsewhere) else { return x < n };
            let apart = |a: AxisId| at(a).filter(|_| self.rank(a) <= owner(self.g, storage));
            // memory that positions share has no slots past the end
            let slots = if storage == Storage::Gmem { *n } else { padded(s, *n) };
            *x < slots && inside(s, *x, *n, &apart)
        })
    }

    /// Which element it is: in `gmem` of the buffer, elsewhere of the value that views show.
    pub(super) fn element(&self, run: &Run, v: ValueId, index: &[i64], write: bool) -> Element {
        let coords = |v: ValueId| -> Index {
            let axes = &self.g.ty(v).place.varying;
            let mut c: Index = axes
                .iter()
                .filter_map(|a| self.env.get(self.g.meshes.axis(*a).unwrap().var))
                .collect();
            c.push(1);
            c
        };
        if self.storage_of(run, v, write) == Storage::Gmem {
            let index = index.to_vec();
            let from = match (run.role, write) {
                // the window of the base, not the tile
                (Role::Write, true) => self.window(run.op, run.op.inputs[0], &index),
                _ => Some((v, index.clone())),
            };
            let root = from.and_then(|(v, i)| self.root(v, i));
            return match root {
                Some((root, i)) => (root, i, vec![]),
                None => (v, index, coords(v)),
            };
        }
        let (mut v, mut index) = (v, index.to_vec());
        while let Some((next, i)) = self.view(v, &index) {
            (v, index) = (next, i);
        }
        (v, index, vec![])
    }

    /// The element of the base that a window's element is; none past its end.
    fn window(&self, node: &Node, base: ValueId, index: &[i64]) -> Option<(ValueId, Index)> {
        let NodeKind::Op { attrs, .. } = &node.kind else { return None };
        let shape = self.shape(base);
        let mut rest = index.iter();
        let mut out = vec![];
        let subs = attrs.subs("subs").unwrap_or_default();
        for (i, n) in shape.iter().enumerate() {
            let x = match subs.get(i) {
                Some(Sub::At(e)) => e.eval(&self.env)?,
                Some(Sub::Window { start, end, .. }) => {
                    let x = start.eval(&self.env)? + rest.next()?;
                    if end.as_ref().is_some_and(|e| e.eval(&self.env).is_none_or(|e| x >= e)) {
                        return None;
                    }
                    x
                }
                None => *rest.next()?,
            };
            if x < 0 || x >= *n {
                return None;
            }
            out.push(x);
        }
        Some((base, out))
    }

    /// The operand's element that a view shows.
    pub(super) fn view(&self, v: ValueId, index: &[i64]) -> Option<(ValueId, Index)> {
        let Def::Node(n, k) = self.g.value(v).def else { return None };
        let node = self.g.node(n);
        match &node.kind {
            NodeKind::Mesh { body, .. } | NodeKind::On { body, .. } => {
                Some((self.g.region(*body).results[k], index.to_vec()))
            }
            NodeKind::Op { op, attrs } if op.role() == Role::View => {
                let x = node.inputs[0];
                let shape = self.shape(x);
                Some((
                    x,
                    match op.name() {
                        "transpose" => {
                            let perm = attrs.ints("perm").unwrap();
                            let mut out = vec![0; shape.len()];
                            perm.iter().zip(index).for_each(|(p, i)| out[*p as usize] = *i);
                            out
                        }
                        "expand" => {
                            let skip = index.len() - shape.len();
                            let one = |(n, i): (&i64, &i64)| if *n == 1 { 0 } else { *i };
                            shape.iter().zip(&index[skip..]).map(one).collect()
                        }
                        "reshape" | "unsqueeze" | "squeeze" | "flatten" | "unflatten" => {
                            let flat =
                                self.shape(v).iter().zip(index).fold(0, |f, (n, i)| f * n + i);
                            unflat(flat, &shape)
                        }
                        name => panic!("a view that this counter does not know: {name}"),
                    },
                ))
            }
            _ => None,
        }
    }

    /// The element of the buffer; none past its end.
    fn root(&self, v: ValueId, index: Index) -> Option<(ValueId, Index)> {
        match self.g.value(v).def {
            Def::Param(_) => Some((v, index)),
            Def::RegionParam(r, i) => {
                let owner = self.g.node(self.g.region(r).owner.unwrap());
                self.root(owner.inputs[i], index)
            }
            Def::Node(n, k) => {
                let node = self.g.node(n);
                match &node.kind {
                    NodeKind::Mesh { body, .. }
                    | NodeKind::On { body, .. }
                    | NodeKind::Loop { body, .. } => {
                        self.root(self.g.region(*body).results[k], index)
                    }
                    NodeKind::Op { op, .. } => match op.role() {
                        Role::Write => self.root(node.inputs[0], index),
                        Role::Read if self.free(node) => {
                            let (b, i) = self.window(node, node.inputs[0], &index)?;
                            self.root(b, i)
                        }
                        Role::View => {
                            let (x, i) = self.view(v, &index)?;
                            self.root(x, i)
                        }
                        Role::Reshard if self.free(node) => self.root(node.inputs[0], index),
                        _ => Some((v, index)),
                    },
                    _ => Some((v, index)),
                }
            }
        }
    }

    /// Windows are read in place; a reshard that changes nothing physical costs nothing.
    fn free(&self, node: &Node) -> bool {
        let NodeKind::Op { op, .. } = &node.kind else { return false };
        let place = |v: &ValueId| &self.g.ty(*v).place;
        match op.role() {
            Role::View | Role::Local | Role::Collect | Role::Empty => true,
            Role::Read => place(&node.inputs[0]).storage == place(&node.outputs[0]).storage,
            Role::Reshard => {
                // splits over positions that share the storage are no copies
                let (a, b) = (place(&node.inputs[0]), place(&node.outputs[0]));
                let apart = |x: AxisId| self.rank(x) <= owner(self.g, a.storage);
                let parts = |s: &AxisSplit| -> Vec<(i64, Option<AxisId>)> {
                    let all = s.factors.iter();
                    let all: Vec<(i64, Option<AxisId>)> = all
                        .map(|f| (f.extent.as_int().unwrap(), f.axis.filter(|x| apart(*x))))
                        .collect();
                    if all.iter().any(|(_, x)| x.is_some()) { all } else { vec![] }
                };
                let same = a.axes.iter().zip(&b.axes).all(|(x, y)| parts(x) == parts(y));
                a.storage == b.storage && same && a.partial == b.partial
            }
            Role::Complete => place(&node.inputs[0]).partial.is_empty(),
            _ => false,
        }
    }

    /// What an op does, from its document; none where it costs nothing.
    pub(super) fn table(&self, name: &str, attrs: &Attrs, node: &Node) -> Option<Table> {
        let NodeKind::Op { op, .. } = &node.kind else { return None };
        if self.free(node) {
            return None;
        }
        let out = node.outputs[0];
        let direct = |v: ValueId| (v, (0..self.shape(v).len()).map(Some).collect::<Vec<_>>());
        let stored = |v: &ValueId| match self.g.value(*v).def {
            Def::Node(n, _) => !matches!(self.g.node(n).kind, NodeKind::Const(_)),
            _ => true,
        };
        let dtype = |v: ValueId| self.g.ty(v).dtype.name().to_string();
        let plain = |reads: Vec<ValueId>| Table {
            extents: self.shape(out),
            reads: reads.into_iter().map(direct).collect(),
            writes: vec![direct(out)],
            work: None,
        };
        Some(match (op.role(), name) {
            (Role::Reshard | Role::Complete, _) => plain(vec![node.inputs[0]]),
            (Role::Create, _) => plain(vec![]),
            (Role::Write, _) => {
                let tile = node.inputs[1];
                Table {
                    extents: self.shape(tile),
                    reads: vec![direct(tile)],
                    writes: vec![direct(tile)],
                    work: None,
                }
            }
            (_, "add" | "sub" | "mul" | "maximum" | "neg" | "exp" | "cast") => {
                let sizes = self.shape(out);
                let rank = sizes.len();
                let shown = |v: &ValueId| {
                    let shape = self.shape(*v);
                    let skip = rank - shape.len();
                    let axis = |(i, n): (usize, &i64)| {
                        (*n != 1 || sizes[skip + i] == 1).then_some(skip + i)
                    };
                    (*v, shape.iter().enumerate().map(axis).collect())
                };
                let resource = match name {
                    "exp" => "sfu".to_string(),
                    "cast" => "cvt".to_string(),
                    _ => format!("fma.{}", dtype(out)),
                };
                let reads = node.inputs.iter().filter(|v| stored(v)).map(shown).collect();
                Table { reads, work: Some((resource, 1)), ..plain(vec![]) }
            }
            (_, "sum" | "max") => {
                let x = node.inputs[0];
                let shape = self.shape(x);
                let dims: Vec<i64> = match attrs.ints("dim") {
                    Some(d) => d.to_vec(),
                    None => (0..shape.len() as i64).collect(),
                };
                let keep = attrs.flag("keepdim");
                let axis = |d: usize| match dims.contains(&(d as i64)) {
                    true => keep.then_some(None),
                    false => Some(Some(d)),
                };
                let writes = vec![(out, (0..shape.len()).filter_map(axis).collect())];
                let work = Some((format!("fma.{}", dtype(x)), 1));
                Table { extents: shape, reads: vec![direct(x)], writes, work }
            }
            (_, "matmul") => {
                let (a, b) = (node.inputs[0], node.inputs[1]);
                let (sa, sb) = (self.shape(a), self.shape(b));
                assert!(sa.len() == 2 && sb.len() == 2);
                let (ta, tb) = (attrs.flag("transpose_a"), attrs.flag("transpose_b"));
                let (m, k) = if ta { (sa[1], sa[0]) } else { (sa[0], sa[1]) };
                let n = if tb { sb[0] } else { sb[1] };
                let at = |swap: bool, x, y| {
                    if swap { vec![Some(y), Some(x)] } else { vec![Some(x), Some(y)] }
                };
                Table {
                    extents: vec![m, n, k],
                    reads: vec![(a, at(ta, 0, 2)), (b, at(tb, 2, 1))],
                    writes: vec![(out, vec![Some(0), Some(1)])],
                    work: Some((format!("tensor.{}", dtype(a)), 2)),
                }
            }
            _ => panic!("an op that this counter does not know: {name}"),
        })
    }
}

fn unflat(mut flat: i64, shape: &[i64]) -> Index {
    let mut out: Index = shape
        .iter()
        .rev()
        .map(|n| {
            let x = flat % n;
            flat /= n;
            x
        })
        .collect();
    out.reverse();
    out
}

fn padded(s: &AxisSplit, extent: i64) -> i64 {
    let product: i64 = s.factors.iter().map(|f| f.extent.as_int().unwrap()).product();
    if s.padded { product.max(extent) } else { extent }
}

/// Whether an index of a split axis belongs to the position at these coordinates: its digits, major
/// first, are the coordinates.
fn inside(s: &AxisSplit, index: i64, _extent: i64, at: &dyn Fn(AxisId) -> Option<i64>) -> bool {
    let mut rest = index;
    s.factors.iter().rev().all(|f| {
        let n = f.extent.as_int().unwrap();
        let digit = rest % n;
        rest /= n;
        f.axis.and_then(at).is_none_or(|c| c == digit)
    })
}
