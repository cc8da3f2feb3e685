//! Proposes tolerances, with their derivation. Nothing is judged by them unless they are asked for.
//!
//! A result in a dtype of unit roundoff `u` carries up to `u` from its own rounding on each side,
//! and `sqrt(N) * v` from sums of `N` terms in an accumulator of roundoff `v`, done in two orders.
//! Roundings to narrow types on the way add like `sqrt(D) * u`. Twice that is proposed.

use std::collections::hash_map::Entry;

use serde::Serialize;

use super::measure::{measure, norms};
use super::predicate::Predicate;
use crate::base::HashMap;
use crate::graph::{Def, Graph, Node, NodeKind, RegionId, ValueId, node_regions};
use crate::ops::Call;
use crate::types::dim::Env;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// What stands behind one output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lineage {
    /// Terms of the longest sum, loops counted.
    pub reduced: u64,
    /// Roundings to a type narrower than f32 on the longest way.
    pub roundings: u64,
    /// The largest unit roundoff among them, or that of the output.
    pub coarsest: f64,
}

/// Measures and a tolerance for one output.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestion {
    pub output: String,
    /// Each predicate with what it measures here.
    pub measures: Vec<(&'static str, f64)>,
    pub rtol: f64,
    pub atol: f64,
    pub rel_l2: f64,
    pub derivation: String,
}

/// Half the distance from 1 to the next larger value, of a float dtype.
pub fn unit_roundoff(d: DType) -> Option<f64> {
    let bits = match d {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::Tf32 | DType::F16 => 11,
        DType::Bf16 => 8,
        DType::F8e4m3 => 4,
        DType::F8e5m2 => 3,
        DType::F4e2m1 => 2,
        DType::F8e8m0 => 1,
        _ => return None,
    };
    Some(2f64.powi(-bits))
}

/// Walks back from an output through all it is computed from.
pub fn lineage(graph: &Graph, output: ValueId, env: &Env) -> Lineage {
    let mut w = Walk { g: graph, env, depth: HashMap::default(), reduced: 1, coarsest: 0.0 };
    let roundings = w.value(output);
    let own = unit_roundoff(graph.ty(output).dtype).unwrap_or(0.0);
    Lineage { reduced: w.reduced, roundings, coarsest: w.coarsest.max(own) }
}

struct Walk<'a> {
    g: &'a Graph,
    env: &'a Env,
    depth: HashMap<ValueId, u64>,
    reduced: u64,
    coarsest: f64,
}

impl Walk<'_> {
    /// Roundings on the longest way to a value.
    fn value(&mut self, start: ValueId) -> u64 {
        // an own stack: chains are as long as programs
        let mut todo = vec![(start, false)];
        while let Some((v, ready)) = todo.pop() {
            if ready {
                let from = self.sources(v);
                let below = from.iter().filter_map(|s| self.depth.get(s)).max().copied();
                let own = self.own(v);
                self.depth.insert(v, below.unwrap_or(0) + own);
            } else if let Entry::Vacant(slot) = self.depth.entry(v) {
                // a loop's back edge meets this and counts the body once
                slot.insert(0);
                todo.push((v, true));
                todo.extend(self.sources(v).into_iter().map(|s| (s, false)));
            }
        }
        self.depth.get(&start).copied().unwrap_or(0)
    }

    fn sources(&self, v: ValueId) -> Vec<ValueId> {
        let result = |r: RegionId, i: usize| self.g.region(r).results.get(i).copied();
        match self.g.value(v).def {
            Def::Param(_) => vec![],
            Def::RegionParam(r, i) => {
                let owner = self.g.region(r).owner.map(|n| self.g.node(n));
                let start = owner.and_then(|n| n.inputs.get(i).copied());
                start.into_iter().chain(result(r, i)).collect()
            }
            Def::Node(n, i) => {
                let node = self.g.node(n);
                match &node.kind {
                    NodeKind::Op { .. } | NodeKind::Const(_) => node.inputs.clone(),
                    kind => {
                        let inner = node_regions(kind).into_iter().filter_map(|r| result(r, i));
                        node.inputs.get(i).copied().into_iter().chain(inner).collect()
                    }
                }
            }
        }
    }

    /// 1 where a value is rounded to a narrow type; notes what its op sums.
    fn own(&mut self, v: ValueId) -> u64 {
        let Def::Node(n, _) = self.g.value(v).def else { return 0 };
        let node = self.g.node(n);
        let NodeKind::Op { op, attrs } = &node.kind else { return 0 };
        if op.role() != crate::ops::Role::Compute {
            return 0;
        }
        let tys: Vec<_> = node.inputs.iter().map(|v| self.g.ty(*v).clone()).collect();
        let outs: Vec<_> = node.outputs.iter().map(|v| self.g.ty(*v).clone()).collect();
        let domain = op.domain(&Call { inputs: &tys, attrs, vars: &self.g.vars }, &outs);
        let terms: u64 = domain
            .dims
            .iter()
            .filter(|d| d.reduce.is_some())
            .map(|d| d.extent.eval(self.env).unwrap_or(1).max(1) as u64)
            .product();
        if terms > 1 {
            self.reduced = self.reduced.max(terms.saturating_mul(self.trips(node)));
        }
        match unit_roundoff(self.g.ty(v).dtype) {
            Some(u) if u > 2f64.powi(-24) => {
                self.coarsest = self.coarsest.max(u);
                1
            }
            _ => 0,
        }
    }

    /// How often the loops around a node run it.
    fn trips(&self, node: &Node) -> u64 {
        let mut n = 1u64;
        let mut at = self.g.region(node.region).owner;
        while let Some(id) = at {
            let owner = self.g.node(id);
            if let NodeKind::Loop { start, stop, step, .. } = &owner.kind {
                let count = match (start.eval(self.env), stop.eval(self.env), step.eval(self.env)) {
                    (Some(a), Some(b), Some(s)) if s > 0 => {
                        ((b - a).max(1) as u64).div_ceil(s as u64)
                    }
                    _ => 1,
                };
                n = n.saturating_mul(count);
            }
            at = self.g.region(owner.region).owner;
        }
        n
    }
}

/// A tolerance for an output, and what each predicate measures against a reference.
pub fn suggest(output: &str, c: &Tensor, r: &Tensor, l: &Lineage) -> Suggestion {
    let mut s = Suggestion {
        output: output.into(),
        measures: vec![],
        rtol: 0.0,
        atol: 0.0,
        rel_l2: 0.0,
        derivation: String::new(),
    };
    if c.dtype() != r.dtype() || c.shape() != r.shape() {
        s.derivation = "the sides differ in dtype or shape".into();
        return s;
    }
    let n = norms(c, r);
    let Some(u) = unit_roundoff(c.dtype()) else {
        let m = measure(&Predicate::Equal, c, r, &n, false);
        s.measures.push(("equal", m.value));
        s.derivation = "integers and bools are judged by `equal`".into();
        return s;
    };
    let all = [
        Predicate::Equal,
        Predicate::RelL2 { max: 0.0 },
        Predicate::Cosine { min: 1.0 },
        Predicate::MaxAbs { max: 0.0 },
        Predicate::MaxRel { max: 0.0 },
        Predicate::Ulp { max: 0 },
    ];
    s.measures = all.iter().map(|p| (p.name(), measure(p, c, r, &n, false).value)).collect();
    let acc = if c.dtype() == DType::F64 { 2f64.powi(-53) } else { 2f64.powi(-24) };
    let sums = (l.reduced as f64).sqrt() * acc;
    let way = (l.roundings.saturating_sub(1) as f64).sqrt() * l.coarsest;
    s.rtol = 2.0 * (u + way + sums);
    s.rel_l2 = s.rtol;
    let rms = n.reference / (r.len().max(1) as f64).sqrt();
    if !rms.is_finite() {
        (s.rtol, s.rel_l2) = (0.0, 0.0);
        s.derivation = "the reference is not finite: no tolerance can be derived from it".into();
        return s;
    }
    s.atol = s.rtol * rms;
    s.derivation = format!(
        "2 * (u + sqrt({}) * {:.1e} + sqrt({}) * {acc:.1e}), u = {u:.1e} of {}: its own rounding, \
         {} roundings before it, sums of {} terms; atol = rtol * the reference's rms {rms:.2e}",
        l.roundings.saturating_sub(1),
        l.coarsest,
        l.reduced,
        c.dtype(),
        l.roundings.saturating_sub(1),
        l.reduced
    );
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_grow_with_roundoff_and_length() {
        let l = |reduced, roundings| Lineage { reduced, roundings, coarsest: 2f64.powi(-8) };
        let t = |d| Tensor::full(d, vec![4], 2.0);
        let short = suggest("output", &t(DType::Bf16), &t(DType::Bf16), &l(1, 1));
        assert!((short.rtol - 2.0 * (2f64.powi(-8) + 2f64.powi(-24))).abs() < 1e-12);
        assert!((short.atol - 2.0 * short.rtol).abs() < 1e-12);
        let long = suggest("output", &t(DType::Bf16), &t(DType::Bf16), &l(1 << 20, 5));
        assert!(long.rtol > 2.0 * short.rtol);
        let ints = suggest("output", &t(DType::I32), &t(DType::I32), &l(1, 1));
        assert_eq!((ints.measures.as_slice(), ints.rtol), (&[("equal", 0.0)][..], 0.0));
        let nan = Tensor::full(DType::F32, vec![4], f64::NAN);
        let none = suggest("output", &nan, &nan, &l(1, 1));
        assert_eq!((none.rtol, none.atol, none.rel_l2), (0.0, 0.0, 0.0), "{}", none.derivation);
        for d in DType::ALL.iter().filter(|d| d.is_float() && **d != DType::F8e8m0) {
            // half the step above 1 is where rounding turns
            let u = unit_roundoff(*d).unwrap();
            let up = Tensor::from_f64s(*d, vec![2], vec![1.0 + 2.0 * u, 1.0 + u]);
            assert_eq!(up.get_f64(0), 1.0 + 2.0 * u, "{d}");
            assert_eq!(up.get_f64(1), 1.0, "{d}");
        }
    }
}
