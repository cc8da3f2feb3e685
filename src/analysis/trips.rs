//! How often a loop nest runs: exactly, over the coordinates that its bounds use.
//!
//! `trips = ceil((stop - start) / step)` where that is positive, otherwise 0. The body of a nest
//! runs `T(0)` times with `T(i) = sum over the trips of loop i of T(i + 1)`, and `T(n) = 1`. Where
//! no inner bound uses the variable of loop i, the sum is a product. Bounds that use data take the
//! end of its range.

use std::collections::BTreeSet;

use super::walk::{Frame, Walk};
use crate::analysis::record::Certainty;
use crate::base::HashMap;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, NodeKind};
use crate::types::dim::{Env, Expr, VarId, VarTable};
use crate::types::placement::AxisId;

/// Counts for each combination of the coordinates of some axes.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub axes: Vec<AxisId>,
    extents: Vec<usize>,
    /// The last axis' coordinate fastest.
    pub counts: Vec<u128>,
}

impl Table {
    fn one(n: u128) -> Table {
        Table { axes: vec![], extents: vec![], counts: vec![n] }
    }

    /// By how much the index grows with the coordinate of each axis.
    pub fn strides(&self) -> Vec<usize> {
        let inner = |i: usize| self.extents.iter().skip(i + 1).product();
        (0..self.extents.len()).map(inner).collect()
    }

    pub fn most(&self) -> u128 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Adds up over one axis.
    fn join(&mut self, i: usize) {
        self.axes.remove(i);
        let n = self.extents.remove(i);
        let inner: usize = self.extents.iter().skip(i).product();
        let sums = |block: &[u128]| -> Vec<u128> {
            (0..inner).map(|at| block.iter().skip(at).step_by(inner).sum()).collect()
        };
        self.counts = self.counts.chunks((n * inner).max(1)).flat_map(sums).collect();
    }
}

/// Runs of the innermost body, for each combination of the coordinates used.
#[derive(Clone, Debug)]
pub(super) struct Trips {
    /// By the axes that the bounds use.
    pub runs: Table,
    pub is: Certainty,
}

impl Trips {
    pub fn once() -> Trips {
        Trips { runs: Table::one(1), is: Certainty::Exact }
    }

    /// The axes that the bounds use.
    pub fn axes(&self) -> &[AxisId] {
        &self.runs.axes
    }

    /// The sum over the combinations.
    pub fn sum(&self) -> u128 {
        self.runs.counts.iter().fold(0, |s, n| s.saturating_add(*n))
    }

    /// Sums over the combinations that agree on the axes for which `keep` holds.
    pub fn by(&self, keep: impl Fn(AxisId) -> bool) -> Table {
        let mut out = self.runs.clone();
        for (i, a) in self.runs.axes.iter().enumerate().rev() {
            if !keep(*a) {
                out.join(i);
            }
        }
        out
    }
}

/// One loop with the bounds that are left when dims have their values.
struct Bounds {
    var: VarId,
    start: Expr,
    stop: Expr,
    step: Expr,
    /// Variables that a trip count of this loop or of one inside it needs.
    needs: BTreeSet<VarId>,
}

pub(super) struct Counter<'a> {
    vars: &'a VarTable,
    loops: Vec<Bounds>,
    memo: HashMap<(usize, Vec<Option<i64>>), u128>,
    fuel: u64,
    is: Certainty,
}

/// How many evaluations one nest may take before it is bounded instead.
const FUEL: u64 = 4_000_000;

/// Counts the loops of a frame. `vars` has the bounds of data narrowed to the stated sizes.
pub(super) fn count(
    graph: &Graph,
    walk: &Walk,
    frame: &Frame,
    active: &[AxisId],
    env: &Env,
    vars: &VarTable,
) -> Result<Trips, Diagnostic> {
    if frame.loops.is_empty() {
        return Ok(Trips::once());
    }
    let loops = bounds(graph, walk, frame, env);
    let used: BTreeSet<VarId> = loops.first().map(|l| l.needs.clone()).unwrap_or_default();
    let axes: Vec<AxisId> = active
        .iter()
        .copied()
        .filter(|a| graph.meshes.axis(*a).is_some_and(|x| used.contains(&x.var)))
        .collect();
    let extents: Vec<i64> =
        axes.iter().map(|a| graph.meshes.axis_extent(*a).eval(env).unwrap_or(1)).collect();
    let combos = extents.iter().try_fold(1i64, |p, e| p.checked_mul((*e).max(0)));
    let mut c = Counter { vars, loops, memo: HashMap::default(), fuel: FUEL, is: Certainty::Exact };
    let fail = || {
        let node = frame.loops.last().and_then(|l| walk.loops.get(*l)).map(|l| l.node);
        let span = node.map_or(graph.scope(crate::graph::ScopeId(0)).span, |n| graph.node(n).span);
        Diagnostic::new(Code::TripsUnbounded, span, "the trips of this loop have no bound")
            .help("give the data it depends on a `range`")
    };
    if combos.is_some_and(|n| (n as u64) <= FUEL / 4) {
        let mut counts = vec![];
        let mut at = env.clone();
        let mut coords = vec![0i64; axes.len()];
        let total = combos.unwrap_or(0);
        for _ in 0..total {
            for (a, v) in axes.iter().zip(&coords) {
                if let Some(x) = graph.meshes.axis(*a) {
                    at.set(x.var, *v);
                }
            }
            match c.from(0, &mut at) {
                Some(n) => counts.push(n),
                None if c.fuel == 0 => break,
                None => return Err(fail()),
            }
            advance(&mut coords, &extents);
        }
        if counts.len() as i64 == total {
            let extents = extents.iter().map(|e| (*e).max(0) as usize).collect();
            return Ok(Trips { runs: Table { axes, extents, counts }, is: c.is });
        }
    }
    let n = c.widest(env).ok_or_else(fail)?;
    Ok(Trips { runs: Table::one(n), is: Certainty::UpperBound })
}

/// The next combination, the last coordinate fastest.
pub(super) fn advance(coords: &mut [i64], extents: &[i64]) {
    for (c, e) in coords.iter_mut().zip(extents).rev() {
        *c += 1;
        if *c < *e {
            return;
        }
        *c = 0;
    }
}

fn bounds(graph: &Graph, walk: &Walk, frame: &Frame, env: &Env) -> Vec<Bounds> {
    let nodes = frame.loops.iter().filter_map(|l| walk.loops.get(*l)).map(|l| graph.node(l.node));
    let mut loops: Vec<Bounds> = nodes
        .filter_map(|n| match &n.kind {
            NodeKind::Loop { var, start, stop, step, .. } => {
                let (start, stop, step) = (start.bind(env), stop.bind(env), step.bind(env));
                let needs = start.vars().into_iter().chain(stop.vars()).chain(step.vars());
                Some(Bounds { var: *var, needs: needs.collect(), start, stop, step })
            }
            _ => None,
        })
        .collect();
    // from the innermost out: a loop needs what its inner loops need, but for its own variable
    let mut inner: BTreeSet<VarId> = BTreeSet::new();
    for l in loops.iter_mut().rev() {
        inner.remove(&l.var);
        l.needs.extend(inner.iter().copied());
        inner.clone_from(&l.needs);
    }
    loops
}

impl Counter<'_> {
    /// Whether an inner bound uses the variable of loop `i`.
    fn varies(&self, i: usize) -> bool {
        let var = self.loops.get(i).map(|l| l.var);
        let direct = |l: &Bounds| {
            [&l.start, &l.stop, &l.step].iter().any(|e| var.is_some_and(|v| e.vars().contains(&v)))
        };
        self.loops.iter().skip(i + 1).any(direct)
    }

    /// `T(i)`; none where a bound has no value or the fuel is spent.
    fn from(&mut self, i: usize, env: &mut Env) -> Option<u128> {
        let Some(l) = self.loops.get(i) else { return Some(1) };
        self.fuel = self.fuel.checked_sub(1).filter(|f| *f > 0).or_else(|| {
            self.fuel = 0;
            None
        })?;
        let (var, start, stop, step) = (l.var, l.start.clone(), l.stop.clone(), l.step.clone());
        let key = (i, l.needs.iter().map(|v| env.get(*v)).collect());
        if let Some(n) = self.memo.get(&key) {
            return Some(*n);
        }
        let n = if self.varies(i) {
            self.sum(i, var, &start, &stop, &step, env)?
        } else {
            let trips = self.trips(&start, &stop, &step, env)?;
            if trips == 0 { 0 } else { trips.checked_mul(self.from(i + 1, env)?)? }
        };
        self.memo.insert(key, n);
        Some(n)
    }

    fn sum(
        &mut self,
        i: usize,
        var: VarId,
        start: &Expr,
        stop: &Expr,
        step: &Expr,
        env: &mut Env,
    ) -> Option<u128> {
        let first = self.value(start, env)?;
        let by = self.value(step, env)?;
        let trips = self.trips(start, stop, step, env)?;
        let mut total = 0u128;
        for t in 0..trips {
            let at = i64::try_from(t).ok()?.checked_mul(by)?.checked_add(first)?;
            env.set(var, at);
            total = total.checked_add(self.from(i + 1, env)?)?;
        }
        env.unset(var);
        Some(total)
    }

    /// Trips of one loop; where a bound uses data, the most there can be.
    fn trips(&mut self, start: &Expr, stop: &Expr, step: &Expr, env: &Env) -> Option<u128> {
        let len = stop.sub(start);
        let len = match len.eval(env) {
            Some(n) => n,
            None => {
                self.is = Certainty::UpperBound;
                self.vars.upper(&len.bind(env))?
            }
        };
        let step = self.value(step, env)?;
        if step <= 0 {
            return None;
        }
        u128::try_from(len.max(0)).ok().map(|n| n.div_ceil(step as u128))
    }

    fn value(&mut self, e: &Expr, env: &Env) -> Option<i64> {
        e.eval(env).or_else(|| {
            self.is = Certainty::UpperBound;
            let e = e.bind(env);
            self.vars.lower(&e)
        })
    }

    /// The product of the most trips that each loop can make.
    fn widest(&mut self, env: &Env) -> Option<u128> {
        let mut n = 1u128;
        for i in 0..self.loops.len() {
            let l = self.loops.get(i)?;
            let (len, step) = (l.stop.sub(&l.start).bind(env), l.step.bind(env));
            let most = self.vars.upper(&len)?.max(0);
            let step = self.vars.lower(&step).filter(|s| *s > 0)?;
            n = n.checked_mul((most as u128).div_ceil(step as u128))?;
        }
        Some(n)
    }
}

/// The variables' bounds with dims and other stated numbers at their values, so that what is left
/// is bounded at the stated sizes.
pub(super) fn narrowed(vars: &VarTable, env: &Env) -> VarTable {
    let mut out = vars.clone();
    for (id, info) in vars.iter() {
        let (lo, hi) = match env.get(id) {
            Some(v) => (Expr::int(v), Expr::int(v)),
            None => (info.lo.bind(env), info.hi.bind(env)),
        };
        out.set_bounds(id, lo, hi);
    }
    out
}
