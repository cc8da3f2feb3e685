//! The boxes that a window covers while its coordinates and loops run.
//!
//! A variable that only moves one axis, by a constant, and whose bounds are constant, makes a strip
//! of it: nothing is enumerated. What moves several axes together, stands in a division, a minimum,
//! the end of a window or the bounds of a loop, is enumerated, outermost first. Axes that share no
//! variable are apart: the union of a product is then the product of the unions.

use std::collections::BTreeSet;

use super::{Block, Checked, Fuel, Inexact, Set, Strip, product};
use crate::types::dim::{Atom, Env, Expr, VarId, VarTable};

/// One axis of a window: `start .. start + len`, cut at `end` and at the axis' own ends.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis) struct Axis {
    pub start: Expr,
    pub len: i64,
    pub end: Option<Expr>,
    /// Strides and counts by which it is repeated besides.
    pub steps: Vec<(i64, i64)>,
    pub size: i64,
}

#[derive(Clone, Debug)]
pub(in crate::analysis) struct Loop {
    pub var: VarId,
    pub start: Expr,
    pub stop: Expr,
    pub step: Expr,
}

/// What runs: coordinates, each with its first value and their count, and loops, outermost first.
pub(in crate::analysis) struct Vars<'a> {
    pub coords: Vec<(VarId, i64, i64)>,
    pub loops: Vec<Loop>,
    pub table: &'a VarTable,
}

/// Some axes of a window with what it covers of them; the whole is the product of the parts.
pub(in crate::analysis) struct Part {
    pub axes: Vec<usize>,
    pub set: Set,
}

/// What a window covers over all values of the variables that `env` leaves open.
pub(in crate::analysis) fn image(
    axes: &[Axis],
    vars: &Vars,
    env: &Env,
    fuel: &mut Fuel,
) -> Checked<Vec<Part>> {
    let axes: Vec<Axis> = axes.iter().map(|a| bound(a, env)).collect();
    let loops: Vec<Loop> = vars.loops.iter().map(|l| l.bind(env)).collect();
    // loops that may have no trips decide whether anything is touched; those whose trips depend on
    // data are taken to have some
    let known =
        |v: &VarId| vars.coords.iter().any(|(c, ..)| c == v) || loops.iter().any(|l| l.var == *v);
    let guards: Vec<usize> = (0..loops.len())
        .filter(|i| {
            loops.get(*i).is_some_and(|l| !l.surely_runs(vars.table) && l.needs().iter().all(known))
        })
        .collect();
    let closure = |mut own: BTreeSet<VarId>| {
        for l in loops.iter().rev().filter(|l| !l.bounds_are_constant()) {
            if own.contains(&l.var) {
                own.extend(l.needs());
            }
        }
        own
    };
    let mut groups: Vec<Group> = vec![];
    let member = |i: usize| (Group { axes: vec![i], ..Group::default() }, axes.get(i).map(needs));
    let guard = |i: &usize| {
        (Group { guards: vec![*i], ..Group::default() }, loops.get(*i).map(Loop::needs))
    };
    for (mut g, own) in (0..axes.len()).map(member).chain(guards.iter().map(guard)) {
        g.vars = closure(own.unwrap_or_default());
        let (near, apart): (Vec<Group>, _) =
            groups.into_iter().partition(|o| !o.vars.is_disjoint(&g.vars));
        groups = apart;
        near.into_iter().for_each(|o| g.absorb(o));
        groups.push(g);
    }
    let mut parts = vec![];
    for g in &groups {
        let mut run = Run::new(g, &axes, &loops, vars, env)?;
        run.nest(0, fuel)?;
        if run.found.is_empty() {
            let empty = (0..axes.len()).map(|i| Part { axes: vec![i], set: Set::default() });
            return Ok(empty.collect());
        }
        if !g.axes.is_empty() {
            let set = Set::of(std::mem::take(&mut run.found), fuel)?;
            parts.push(Part { axes: g.axes.clone(), set });
        }
    }
    Ok(parts)
}

/// The parts as one set over all axes.
pub(in crate::analysis) fn together(parts: &[Part], fuel: &mut Fuel) -> Checked<Set> {
    let mut blocks: Vec<Block> = vec![vec![]];
    let order: Vec<usize> = parts.iter().flat_map(|p| p.axes.iter().copied()).collect();
    for p in parts {
        fuel.spend((blocks.len() as u64).saturating_mul(p.set.blocks().len() as u64))?;
        let with = |b: &Block, x: &Block| -> Block { b.iter().chain(x).copied().collect() };
        blocks =
            blocks.iter().flat_map(|b| p.set.blocks().iter().map(move |x| with(b, x))).collect();
    }
    let sorted = |b: Block| -> Block {
        let mut by: Vec<(usize, Strip)> = order.iter().copied().zip(b).collect();
        by.sort_unstable_by_key(|(i, _)| *i);
        by.into_iter().map(|(_, s)| s).collect()
    };
    Set::of(blocks.into_iter().map(sorted).collect(), fuel)
}

/// Elements in the product of parts.
pub(in crate::analysis) fn size(parts: &[Part]) -> u128 {
    parts.iter().map(|p| p.set.size()).fold(1, u128::saturating_mul)
}

fn bound(a: &Axis, env: &Env) -> Axis {
    Axis { start: a.start.bind(env), end: a.end.as_ref().map(|e| e.bind(env)), ..a.clone() }
}

fn needs(a: &Axis) -> BTreeSet<VarId> {
    a.start.vars().into_iter().chain(a.end.iter().flat_map(Expr::vars)).collect()
}

impl Loop {
    fn bind(&self, env: &Env) -> Loop {
        Loop {
            var: self.var,
            start: self.start.bind(env),
            stop: self.stop.bind(env),
            step: self.step.bind(env),
        }
    }

    fn needs(&self) -> BTreeSet<VarId> {
        [&self.start, &self.stop, &self.step].into_iter().flat_map(Expr::vars).collect()
    }

    fn bounds_are_constant(&self) -> bool {
        [&self.start, &self.stop, &self.step].into_iter().all(|e| e.as_int().is_some())
    }

    fn surely_runs(&self, table: &VarTable) -> bool {
        table.lower(&self.stop.sub(&self.start)).is_some_and(|n| n > 0)
    }

    /// First value, step and trips.
    fn trips(&self, env: &Env) -> Checked<(i64, i64, i64)> {
        let value = |e: &Expr| e.eval(env).ok_or(Inexact);
        let (first, stop, step) = (value(&self.start)?, value(&self.stop)?, value(&self.step)?);
        if step <= 0 {
            return Err(Inexact);
        }
        let span = i128::from(stop) - i128::from(first);
        let n = (span.max(0) + i128::from(step) - 1) / i128::from(step);
        Ok((first, step, i64::try_from(n).map_err(|_| Inexact)?))
    }
}

/// Axes and loops that share variables.
#[derive(Default)]
struct Group {
    axes: Vec<usize>,
    /// Loops that must have a trip.
    guards: Vec<usize>,
    vars: BTreeSet<VarId>,
}

impl Group {
    fn absorb(&mut self, other: Group) {
        self.axes.extend(other.axes);
        self.guards.extend(other.guards);
        self.vars.extend(other.vars);
        self.axes.sort_unstable();
    }
}

/// A variable with where its values come from.
#[derive(Clone, Copy)]
enum From {
    Coord(VarId, i64, i64),
    Loop(usize),
}

/// The enumeration of one group.
struct Run<'a> {
    axes: Vec<&'a Axis>,
    guards: Vec<&'a Loop>,
    loops: &'a [Loop],
    /// Variables that are enumerated.
    over: Vec<From>,
    /// For each axis, the variables that move it with their strides.
    moves: Vec<Vec<(From, i64)>>,
    env: Env,
    found: Vec<Block>,
}

impl<'a> Run<'a> {
    fn new(
        g: &Group,
        axes: &'a [Axis],
        loops: &'a [Loop],
        vars: &Vars,
        env: &Env,
    ) -> Checked<Run<'a>> {
        let axes: Vec<&Axis> = g.axes.iter().filter_map(|i| axes.get(*i)).collect();
        let mut fixed: BTreeSet<VarId> =
            axes.iter().flat_map(|a| a.end.iter()).flat_map(Expr::vars).collect();
        let mut seen = BTreeSet::new();
        for a in &axes {
            let own = a.start.vars();
            fixed.extend(own.iter().filter(|v| seen.contains(*v)));
            fixed.extend(
                a.start
                    .terms()
                    .filter(|(m, _)| !matches!(m, [] | [Atom::Var(_)]))
                    .flat_map(|(m, _)| m.iter().flat_map(|x| x.expr().vars()).collect::<Vec<_>>()),
            );
            seen.extend(own);
        }
        let inside = loops.iter().filter(|l| g.vars.contains(&l.var));
        let guards: Vec<&Loop> = g.guards.iter().filter_map(|i| loops.get(*i)).collect();
        fixed.extend(inside.chain(guards.iter().copied()).flat_map(Loop::needs));
        let mut from: Vec<(VarId, From)> = vec![];
        let coord = |(v, at, n): &(VarId, i64, i64)| (*v, From::Coord(*v, *at, *n));
        from.extend(vars.coords.iter().filter(|(v, ..)| g.vars.contains(v)).map(coord));
        let of = |(i, l): (usize, &Loop)| (l.var, From::Loop(i));
        from.extend(loops.iter().enumerate().filter(|(_, l)| g.vars.contains(&l.var)).map(of));
        if g.vars.iter().any(|v| !from.iter().any(|(x, _)| x == v)) {
            return Err(Inexact);
        }
        let over = from.iter().filter(|(v, _)| fixed.contains(v)).map(|(_, f)| *f).collect();
        let mut env = env.clone();
        let free: Vec<(VarId, From)> =
            from.into_iter().filter(|(v, _)| !fixed.contains(v)).collect();
        free.iter().for_each(|(v, _)| env.set(*v, 0));
        let moved = |a: &&Axis| -> Vec<(From, i64)> {
            let by = |v: VarId| {
                a.start.terms().find(|(m, _)| matches!(m, [Atom::Var(x)] if *x == v)).map(|t| t.1)
            };
            free.iter().filter_map(|(v, f)| Some((*f, by(*v)?))).collect()
        };
        let moves = axes.iter().map(moved).collect();
        Ok(Run { axes, guards, loops, over, moves, env, found: vec![] })
    }

    /// First value, step and count of a variable here.
    fn range(&self, from: From) -> Checked<(VarId, i64, i64, i64)> {
        match from {
            From::Coord(v, at, n) => Ok((v, at, 1, n)),
            From::Loop(i) => {
                let l = self.loops.get(i).ok_or(Inexact)?;
                let (first, step, n) = l.trips(&self.env)?;
                Ok((l.var, first, step, n))
            }
        }
    }

    fn nest(&mut self, depth: usize, fuel: &mut Fuel) -> Checked<()> {
        fuel.spend(1)?;
        let Some(from) = self.over.get(depth) else { return self.leaf(fuel) };
        let (var, first, step, n) = self.range(*from)?;
        for i in 0..n {
            let at = i.checked_mul(step).and_then(|d| d.checked_add(first)).ok_or(Inexact)?;
            self.env.set(var, at);
            self.nest(depth + 1, fuel)?;
        }
        Ok(())
    }

    fn leaf(&mut self, fuel: &mut Fuel) -> Checked<()> {
        for g in &self.guards {
            if g.trips(&self.env)?.2 == 0 {
                return Ok(());
            }
        }
        let mut strips: Vec<Vec<Strip>> = vec![];
        for (a, moves) in self.axes.iter().zip(&self.moves) {
            strips.push(self.strips(a, moves, fuel)?);
        }
        product(&strips, fuel, &mut self.found)
    }

    /// What the window covers of one axis.
    fn strips(&self, a: &Axis, moves: &[(From, i64)], fuel: &mut Fuel) -> Checked<Vec<Strip>> {
        let mut start = i128::from(a.start.eval(&self.env).ok_or(Inexact)?);
        let mut steps: Vec<(i128, i128)> =
            a.steps.iter().map(|(s, n)| (i128::from(*s), i128::from(*n))).collect();
        for (from, by) in moves {
            let (_, first, step, n) = self.range(*from)?;
            start += i128::from(*by) * i128::from(first);
            steps.push((i128::from(*by) * i128::from(step), i128::from(n)));
        }
        steps.sort_unstable_by_key(|(s, _)| s.abs());
        let mut strips: Vec<Strip> =
            Strip::new(start, i128::from(a.len), 0, 1).into_iter().collect();
        for (s, n) in steps {
            let each = strips.iter().map(|x| x.count.min(n).unsigned_abs());
            fuel.spend(u64::try_from(each.sum::<u128>()).unwrap_or(u64::MAX))?;
            strips = strips.iter().flat_map(|x| x.repeat(s, n)).collect();
        }
        let end = match &a.end {
            Some(e) => e.eval(&self.env).ok_or(Inexact)?.min(a.size),
            None => a.size,
        };
        Ok(strips.iter().flat_map(|s| s.clip(0, i128::from(end))).collect())
    }
}
