//! Counts a program by loops over positions, trips and elements. It reads the graph, and knows what
//! the ops that it meets do from their documents; it shares no code with the analyses and never
//! asks an op for its domain, accesses or work.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tilefoundry::graph::{Def, Graph, Node, NodeKind, RegionId, ValueId};
use tilefoundry::ops::{Attrs, Role, Sub};
use tilefoundry::types::dim::{Env, VarKind};
use tilefoundry::types::placement::{AxisId, AxisSplit, MeshId, Storage};

#[path = "values.rs"]
mod values;

type Index = Vec<i64>;
/// A root buffer's element, or an element past the end of what exists, told apart by coordinates.
type Element = (ValueId, Index, Index);

/// One quantity: as authored once, by all positions, and by each grid position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    pub logical: u128,
    pub total: u128,
    pub by_unit: HashMap<Index, u128>,
}

#[derive(Default)]
pub struct Counts {
    /// By `work fma.f32`, `read gmem`, `write smem`.
    pub sums: BTreeMap<String, Sum>,
    /// By node: most runs of a position, and runs of all that work apart.
    pub runs: BTreeMap<u32, (u128, u128)>,
    /// Elements read and written of each buffer in `gmem`.
    pub touched: BTreeMap<ValueId, [HashSet<Index>; 2]>,
    pub launches: usize,
    pub units: u128,
}

/// What an op does with the indices of its loops: for each axis of an operand or result the loop
/// that indexes it, none for index 0.
struct Table {
    extents: Vec<i64>,
    reads: Vec<(ValueId, Vec<Option<usize>>)>,
    writes: Vec<(ValueId, Vec<Option<usize>>)>,
    work: Option<(String, u128)>,
}

/// Where a node stands.
#[derive(Clone, Default)]
struct Place {
    meshes: Vec<MeshId>,
    part: Option<MeshId>,
    loops: Vec<u32>,
    launched: bool,
}

pub struct Counter<'a> {
    g: &'a Graph,
    env: Env,
    pub out: Counts,
}

/// Ranks of the levels that own a storage on a GPU: the device, the CTA, the thread.
fn owner(g: &Graph, s: Storage) -> i64 {
    let rank = |level: &str| g.meshes.meshes().find(|(_, m)| m.level == level).map(|(_, m)| m.rank);
    match s {
        Storage::Gmem | Storage::Host => -1,
        Storage::Smem | Storage::Tmem => rank("cta").map_or(0, |r| r as i64),
        Storage::Rmem => i64::MAX,
    }
}

impl<'a> Counter<'a> {
    pub fn count(g: &'a Graph) -> Counts {
        let mut c =
            Counter { g, env: Env::default(), out: Counts { units: 1, ..Counts::default() } };
        c.region(g.root, &Place::default());
        c.out
    }

    fn region(&mut self, id: RegionId, at: &Place) {
        for n in &self.g.region(id).nodes {
            let node = self.g.node(*n);
            let mut inner = at.clone();
            match &node.kind {
                NodeKind::Op { .. } => self.op(n.0, node, at),
                NodeKind::Loop { body, .. } => {
                    inner.loops.push(n.0);
                    self.region(*body, &inner);
                }
                NodeKind::Mesh { meshes, body } => {
                    let whole = |m: &&MeshId| self.g.meshes.mesh(**m).unwrap().parent.is_none();
                    inner.meshes.extend(meshes.iter().filter(whole));
                    if !at.launched {
                        inner.launched = true;
                        self.out.launches += 1;
                        let cta = |m: &&MeshId| self.g.meshes.mesh(**m).unwrap().level == "cta";
                        let axes = inner.meshes.iter().filter(cta).flat_map(|m| self.axes(*m));
                        self.out.units = axes.map(|a| self.extent(a) as u128).product();
                    }
                    self.region(*body, &inner);
                }
                NodeKind::On { part, body } => {
                    inner.part = Some(*part);
                    self.region(*body, &inner);
                }
                _ => {}
            }
        }
    }

    fn axes(&self, m: MeshId) -> Vec<AxisId> {
        self.g.meshes.mesh(m).unwrap().axes.clone()
    }

    fn extent(&self, a: AxisId) -> i64 {
        self.g.meshes.axis_extent(a).as_int().unwrap()
    }

    fn rank(&self, a: AxisId) -> i64 {
        self.g.meshes.axis_rank(a) as i64
    }

    fn shape(&self, v: ValueId) -> Index {
        self.g.ty(v).shape.iter().map(|e| e.as_int().unwrap()).collect()
    }

    /// Whether a mesh is a part of another.
    fn within(&self, part: MeshId, base: MeshId) -> bool {
        let parent = self.g.meshes.mesh(part).unwrap().parent;
        parent.is_some_and(|p| p == base || self.within(p, base))
    }

    /// The axes of the positions that run an op: of its part, else of the open meshes.
    fn active(&self, node: &Node, at: &Place) -> Vec<AxisId> {
        let mut out = vec![];
        for base in &at.meshes {
            let named = node.outputs.iter().chain(&node.inputs).flat_map(|v| {
                let p = &self.g.ty(*v).place;
                let partial = p.partial.iter().map(|(a, _)| *a);
                p.split_axes().into_iter().chain(partial).chain(p.varying.clone())
            });
            let meshes = named.map(|a| self.g.meshes.axis(a).unwrap().mesh);
            let mut parts = at.part.into_iter().chain(meshes).filter(|m| self.within(*m, *base));
            out.extend(self.axes(parts.next().unwrap_or(*base)));
        }
        out
    }

    /// Coordinates on which the bounds of the loops depend.
    fn bound_axes(&self, at: &Place) -> BTreeSet<AxisId> {
        let mut out = BTreeSet::new();
        for l in &at.loops {
            if let NodeKind::Loop { start, stop, step, .. } = &self.loop_node(*l).kind {
                for v in [start, stop, step].into_iter().flat_map(|e| e.vars()) {
                    if let VarKind::Coord(a) = self.g.vars.get(v).unwrap().kind {
                        out.insert(AxisId(a));
                    }
                }
            }
        }
        out
    }

    fn loop_node(&self, id: u32) -> &'a Node {
        self.g.node(tilefoundry::graph::NodeId(id))
    }

    fn op(&mut self, id: u32, node: &Node, at: &Place) {
        let NodeKind::Op { op, attrs } = &node.kind else { return };
        let active = self.active(node, at);
        let Some(table) = self.table(op.name(), attrs, node) else {
            return self.count_runs(id, node, at, &active);
        };
        let result = match op.role() {
            Role::Write => self.g.ty(node.inputs[0]).place.storage,
            _ => self.g.ty(node.outputs[0]).place.storage,
        };
        let varying = self.varying(node, attrs, &active);
        let bounds = self.bound_axes(at);
        // every share of a partial is brought in where it is finished
        let finishes = matches!(op.role(), Role::Reshard | Role::Complete);
        let shares = node.inputs.iter().filter(|_| finishes);
        let values: Vec<ValueId> = node.outputs.iter().chain(shares).copied().collect();
        let partial =
            |a: &AxisId| values.iter().any(|o| self.g.ty(*o).place.partial_over(*a).is_some());
        // positions with a copy of their own, whatever they do
        let own: Vec<AxisId> = active
            .iter()
            .copied()
            .filter(|a| {
                self.rank(*a) <= owner(self.g, result)
                    || varying.contains(a)
                    || bounds.contains(a)
                    || partial(a)
            })
            .collect();
        let mut run = Run {
            op: node,
            role: op.role(),
            table,
            active: active.clone(),
            own,
            logical: active
                .iter()
                .copied()
                .filter(|a| varying.contains(a) || bounds.contains(a))
                .collect(),
            result,
            instances: vec![],
            launched: at.launched,
        };
        let mut coords = vec![];
        self.positions(&active, &mut coords, at, &mut run);
        self.settle(id, run);
    }

    /// Ops that cost nothing run, too.
    fn count_runs(&mut self, id: u32, _node: &Node, at: &Place, active: &[AxisId]) {
        let mut most = 0;
        let mut coords = vec![];
        self.each(active, &mut coords, at, &mut |_, _, n| most = most.max(n + 1));
        self.out.runs.insert(id, (most as u128, u128::MAX));
    }

    fn varying(&self, node: &Node, attrs: &Attrs, active: &[AxisId]) -> BTreeSet<AxisId> {
        let types = node.outputs.iter().chain(&node.inputs).map(|v| self.g.ty(*v));
        let mut out: BTreeSet<AxisId> = types.flat_map(|t| t.place.varying.clone()).collect();
        for v in attrs.exprs().iter().flat_map(|e| e.vars()) {
            if let VarKind::Coord(a) = self.g.vars.get(v).unwrap().kind {
                out.insert(AxisId(a));
            }
        }
        out.retain(|a| active.contains(a));
        out
    }

    /// Every position with every trip of the loops: `f(counter, coordinates, run)`.
    fn each(
        &mut self,
        axes: &[AxisId],
        coords: &mut Index,
        at: &Place,
        f: &mut dyn FnMut(&mut Self, &[i64], usize),
    ) {
        if let Some(a) = axes.get(coords.len()) {
            let var = self.g.meshes.axis(*a).unwrap().var;
            for c in 0..self.extent(*a) {
                coords.push(c);
                self.env.set(var, c);
                self.each(axes, coords, at, f);
                coords.pop();
            }
            self.env.unset(var);
            return;
        }
        let mut n = 0;
        self.trips(&at.loops, &mut n, coords, f);
    }

    fn trips(
        &mut self,
        loops: &[u32],
        n: &mut usize,
        coords: &[i64],
        f: &mut dyn FnMut(&mut Self, &[i64], usize),
    ) {
        let Some((l, inner)) = loops.split_first() else {
            f(self, coords, *n);
            *n += 1;
            return;
        };
        let NodeKind::Loop { var, start, stop, step, .. } = &self.loop_node(*l).kind else {
            return;
        };
        let mut i = start.eval(&self.env).unwrap();
        let (stop, step) = (stop.eval(&self.env).unwrap(), step.eval(&self.env).unwrap());
        while i < stop {
            self.env.set(*var, i);
            self.trips(inner, n, coords, f);
            i += step;
        }
        self.env.unset(*var);
    }

    fn positions(&mut self, axes: &[AxisId], coords: &mut Index, at: &Place, run: &mut Run) {
        let loops = at.loops.clone();
        self.each(axes, coords, at, &mut |c, coords, n| {
            let trip = loops
                .iter()
                .map(|l| match &c.loop_node(*l).kind {
                    NodeKind::Loop { var, .. } => c.env.get(*var).unwrap(),
                    _ => 0,
                })
                .collect();
            let i = c.instance(run, coords, trip, n);
            run.instances.push(i);
        });
    }

    /// What one position does in one trip.
    fn instance(&mut self, run: &Run, coords: &[i64], trip: Index, n: usize) -> Instance {
        let at = |a: AxisId| run.active.iter().position(|x| *x == a).map(|i| coords[i]);
        let points = self.points(run, &at);
        let operands =
            |list: &[(ValueId, Vec<Option<usize>>)], write: bool| -> Vec<HashSet<Element>> {
                let one = |(v, axes): &(ValueId, Vec<Option<usize>>)| {
                    let mut seen = HashSet::new();
                    for p in &points {
                        let index: Index = axes.iter().map(|d| d.map_or(0, |d| p[d])).collect();
                        if self.there(run, *v, &index, &at, write) {
                            seen.insert(self.element(run, *v, &index, write));
                        }
                    }
                    seen
                };
                list.iter().map(one).collect()
            };
        let reads = operands(&run.table.reads, false);
        let writes = operands(&run.table.writes, true);
        for (list, sets, way) in [(&run.table.reads, &reads, 0), (&run.table.writes, &writes, 1)] {
            for ((v, _), set) in list.iter().zip(sets) {
                if self.storage_of(run, *v, way == 1) == Storage::Gmem {
                    for (root, index, past) in set {
                        if past.is_empty() {
                            let e = self.out.touched.entry(*root).or_default();
                            e[way].insert(index.clone());
                        }
                    }
                }
            }
        }
        Instance { coords: coords.to_vec(), trip, n, points, reads, writes }
    }

    /// Adds up the instances of an op.
    fn settle(&mut self, id: u32, run: Run) {
        let coarse = |a: AxisId| {
            self.g.meshes.mesh(self.g.meshes.axis(a).unwrap().mesh).unwrap().level == "cta"
        };
        let pick = |i: &Instance, axes: &[AxisId], keep: &dyn Fn(AxisId) -> bool| -> Index {
            let at = run.active.iter().zip(&i.coords);
            at.filter(|(a, _)| axes.contains(a) && keep(**a)).map(|(_, c)| *c).collect()
        };
        let mut groups: HashMap<(Index, Index, Vec<Index>), Vec<&Instance>> = HashMap::new();
        let mut grids: HashMap<(Index, Index), Vec<&Instance>> = HashMap::new();
        let mut logical: HashSet<(Index, Index)> = HashSet::new();
        for i in &run.instances {
            let own = pick(i, &run.own, &|_| true);
            groups.entry((own, i.trip.clone(), i.points.clone())).or_default().push(i);
            grids.entry((pick(i, &run.own, &coarse), i.trip.clone())).or_default().push(i);
            logical.insert((pick(i, &run.logical, &|_| true), i.trip.clone()));
        }
        let runs = run.instances.iter().map(|i| i.n + 1).max().unwrap_or(0) as u128;
        self.out.runs.insert(id, (runs, groups.len() as u128));
        let unit = |i: &Instance| pick(i, &run.active, &coarse);
        let whole = self.whole(&run);
        // a run that several units share is divided evenly among them
        let mut add = |key: String, whole: u128, amounts: Vec<(Vec<Index>, u128)>| {
            let sum = self.out.sums.entry(key).or_default();
            sum.logical += whole * logical.len() as u128;
            let mut by: HashMap<Index, (u128, u128)> = HashMap::new();
            for (units, n) in amounts {
                sum.total += n;
                if !run.launched {
                    continue;
                }
                let units: HashSet<Index> = units.into_iter().collect();
                let share = units.len() as u128;
                for u in units {
                    let e = by.entry(u).or_insert((0, share));
                    e.0 += n;
                }
            }
            for (u, (n, share)) in by {
                *sum.by_unit.entry(u).or_default() += n.div_ceil(share);
            }
        };
        if let Some((resource, each)) = &run.table.work {
            let all = groups.iter().map(|((_, _, p), is)| {
                (is.iter().map(|i| unit(i)).collect(), p.len() as u128 * each)
            });
            let points = run.table.extents.iter().product::<i64>() as u128;
            add(format!("work {resource}"), points * each, all.collect());
        }
        for way in [0, 1] {
            let list = if way == 0 { &run.table.reads } else { &run.table.writes };
            for (j, (v, _)) in list.iter().enumerate() {
                let storage = match (run.role, way) {
                    (Role::Write, 1) => run.result,
                    _ => self.g.ty(*v).place.storage,
                };
                let bits = self.g.ty(*v).dtype.bits() as u128;
                let bytes = |n: usize| (n as u128 * bits).div_ceil(8);
                fn set(i: &Instance, way: usize, j: usize) -> &HashSet<Element> {
                    if way == 0 { &i.reads[j] } else { &i.writes[j] }
                }
                let amounts: Vec<(Vec<Index>, u128)> = if storage == Storage::Gmem {
                    // by coarse position: what its threads use is fetched once
                    let one = |is: &Vec<&Instance>| {
                        let mut by: HashMap<&Element, Vec<Index>> = HashMap::new();
                        for i in is {
                            set(i, way, j)
                                .iter()
                                .for_each(|e| by.entry(e).or_default().push(unit(i)));
                        }
                        by.into_values().map(|u| (u, bytes(1))).collect::<Vec<_>>()
                    };
                    grids.values().flat_map(one).collect()
                } else {
                    let one = |is: &Vec<&Instance>| {
                        (is.iter().map(|i| unit(i)).collect(), bytes(set(is[0], way, j).len()))
                    };
                    groups.values().map(one).collect()
                };
                let name = if way == 0 { "read" } else { "write" };
                add(format!("{name} {}", storage.name()), bytes(whole[way][j]), amounts);
            }
        }
    }

    /// Elements of each operand and result that the whole logical op touches.
    fn whole(&self, run: &Run) -> [Vec<usize>; 2] {
        let mut points: Vec<Index> = vec![vec![]];
        for n in &run.table.extents {
            let with = |p: &Index| {
                (0..*n).map(|i| p.iter().copied().chain([i]).collect()).collect::<Vec<_>>()
            };
            points = points.iter().flat_map(with).collect();
        }
        let count = |list: &[(ValueId, Vec<Option<usize>>)]| {
            let one = |(v, axes): &(ValueId, Vec<Option<usize>>)| {
                let mut seen = HashSet::new();
                for p in &points {
                    let mut at =
                        (*v, axes.iter().map(|d| d.map_or(0, |d| p[d])).collect::<Index>());
                    while let Some(next) = self.view(at.0, &at.1) {
                        at = next;
                    }
                    seen.insert(at);
                }
                seen.len()
            };
            list.iter().map(one).collect()
        };
        [count(&run.table.reads), count(&run.table.writes)]
    }
}

/// One op with all that its positions do.
struct Run<'a> {
    op: &'a Node,
    role: Role,
    table: Table,
    active: Vec<AxisId>,
    own: Vec<AxisId>,
    logical: Vec<AxisId>,
    result: Storage,
    instances: Vec<Instance>,
    launched: bool,
}

struct Instance {
    coords: Index,
    trip: Index,
    n: usize,
    points: Vec<Index>,
    reads: Vec<HashSet<Element>>,
    writes: Vec<HashSet<Element>>,
}
