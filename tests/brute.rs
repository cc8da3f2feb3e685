//! Every count of the analysis, held against loops over the positions, trips and elements of drawn
//! programs. The loops share no code with the analysis, so a wrong access description of an op, a
//! wrong rule of who runs what, or a wrong closed form of a count is seen.

#[path = "brute/count.rs"]
mod count;
#[path = "brute/draw.rs"]
mod draw;

use std::collections::BTreeMap;

use count::{Counter, Counts, Sum};
use draw::Draw;
use tilefoundry::analysis::record::Amount;
use tilefoundry::analysis::{Analysis, Certainty, Options, analyze};
use tilefoundry::graph::{Graph, NodeKind};
use tilefoundry::ops::facts::{AxisAccess, Domain, Work};
use tilefoundry::ops::{Call, Doc, EvalCx, EvalError, Op, OpError, Param, PartialRule, Role};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::target::Target;
use tilefoundry::types::dim::Env;
use tilefoundry::types::ty::TensorTy;
use tilefoundry::types::value::Tensor;

fn with_graph(text: &str, f: impl FnOnce(&Graph)) {
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    let root = session.roots()[0];
    let compiled = session.compile(root);
    let Some(g) = compiled.graph.as_ref() else {
        let messages: Vec<String> =
            session.diagnostics_of(root).into_iter().map(|d| d.message).collect();
        panic!("{text}\n{messages:#?}")
    };
    f(g);
}

fn derived(g: &Graph) -> Analysis {
    let target = Target::builtin("nvidia.h200_sxm").unwrap();
    analyze(g, &Env::default(), Some(&target), &Options::default()).unwrap()
}

/// What differs, in words.
fn compare(g: &Graph, a: &Analysis, c: &Counts) -> Vec<String> {
    let mut out = vec![];
    let mut found: BTreeMap<String, &Amount> = BTreeMap::new();
    for w in &a.costs.work {
        found.insert(format!("work {}", w.resource), &w.amount);
    }
    for t in &a.costs.traffic {
        found.insert(format!("read {}", t.storage), &t.read);
        found.insert(format!("write {}", t.storage), &t.write);
    }
    let none = (Sum::default(), Amount::default());
    for key in c.sums.keys().chain(found.keys()) {
        let want = c.sums.get(key).unwrap_or(&none.0);
        let got = found.get(key).copied().unwrap_or(&none.1);
        // windows of threads that overlap: no fewer than there are
        let bound = got.is == Certainty::UpperBound && key == "read gmem";
        if got.is != Certainty::Exact && !bound {
            out.push(format!("{key}: {:?}, though nothing depends on data", got.is));
        }
        let alike = match bound {
            true => got.logical >= want.logical && got.total >= want.total,
            false => (got.logical, got.total) == (want.logical, want.total),
        };
        if !alike {
            out.push(format!(
                "{key}: logical {} total {}, counted {} and {}",
                got.logical, got.total, want.logical, want.total
            ));
        }
        if bound {
            continue;
        }
        if let Some(u) = got.per_unit.iter().find(|u| u.level == "cta").filter(|_| c.launches == 1)
        {
            let most = want.by_unit.values().copied().max().unwrap_or(0);
            let all: u128 = want.by_unit.values().sum();
            if u.max_is == Certainty::Exact && u.max != most {
                out.push(format!("{key}: the busiest cta does {}, counted {most}", u.max));
            }
            // shares are rounded up to whole units, means are not
            let mean = u.mean.as_f64() * u.units as f64;
            if u.units != c.units || mean > all as f64 || mean + 64.0 < all as f64 {
                out.push(format!(
                    "{key}: {} ctas do {mean}, counted {} and {all}",
                    u.units, c.units
                ));
            }
        }
    }
    for o in &a.ops {
        let Some((most, total)) = c.runs.get(&o.node) else { continue };
        if o.runs != *most || (*total != u128::MAX && o.runs_total != *total) {
            out.push(format!(
                "runs of {}: {} in all {}, counted {most} and {total}",
                o.op, o.runs, o.runs_total
            ));
        }
    }
    let bytes = |v, n: usize| (n as u128 * u128::from(g.ty(v).dtype.bits())).div_ceil(8);
    let mut want: Vec<[u128; 3]> = c
        .touched
        .iter()
        .map(|(v, [r, w])| {
            let size = g.ty(*v).shape.iter().map(|e| e.as_int().unwrap() as usize).product();
            [bytes(*v, size), bytes(*v, r.len()), bytes(*v, w.len())]
        })
        .collect();
    let mut got: Vec<[u128; 3]> = a.footprints.iter().map(|f| [f.size, f.read, f.write]).collect();
    // a buffer that no run touches is listed or not
    got.retain(|f| f[1] + f[2] > 0);
    want.sort_unstable();
    got.sort_unstable();
    if want != got {
        out.push(format!("footprints (size, read, write): {got:?}, counted {want:?}"));
    }
    for f in a.footprints.iter().filter(|f| f.read_is.and(f.write_is) != Certainty::Exact) {
        out.push(format!("the footprint of {} is a bound", f.buffer));
    }
    out
}

#[test]
fn drawn_programs_count_as_enumerated() {
    let mut wrong = vec![];
    // another range of programs: TF_SEED=1000 TF_SEEDS=500
    let from: u64 = std::env::var("TF_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    for seed in from..from + std::env::var("TF_SEEDS").map_or(200, |n| n.parse().unwrap()) {
        let text = Draw::program(seed);
        with_graph(&text, |g| {
            let differs = compare(g, &derived(g), &Counter::count(g));
            if !differs.is_empty() {
                wrong.push(format!("seed {seed}:\n{text}\n  {}", differs.join("\n  ")));
            }
        });
    }
    assert!(wrong.is_empty(), "{} programs differ\n{}", wrong.len(), wrong.join("\n\n"));
}

/// What a wrong description says instead.
#[derive(Clone, Copy, Debug)]
enum Slip {
    /// The first operand is read at index 0 of its first axis.
    ReadsOne,
    /// The result is written at index 0 of its first axis.
    WritesOne,
    /// The first dimension of the domain has one index.
    LosesDim,
    /// Each point does twice the work.
    Doubles,
}

/// An op that describes itself wrongly and is the op otherwise.
struct Wrong(&'static dyn Op, Slip);

impl Op for Wrong {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn group(&self) -> &'static str {
        self.0.group()
    }
    fn doc(&self) -> Doc {
        self.0.doc()
    }
    fn params(&self) -> &'static [Param] {
        self.0.params()
    }
    fn role(&self) -> Role {
        self.0.role()
    }
    fn partial_rule(&self) -> PartialRule {
        self.0.partial_rule()
    }
    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        self.0.infer(call)
    }
    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut d = self.0.domain(call, outs);
        match self.1 {
            Slip::ReadsOne => d.reads[0].axes[0] = AxisAccess::Dims(vec![]),
            Slip::WritesOne => d.writes[0].axes[0] = AxisAccess::Dims(vec![]),
            Slip::LosesDim => d.dims[0].extent = tilefoundry::types::dim::Expr::one(),
            Slip::Doubles => {}
        }
        d
    }
    fn work(&self, call: &Call, outs: &[TensorTy]) -> Vec<Work> {
        let mut w = self.0.work(call, outs);
        if matches!(self.1, Slip::Doubles) {
            w.iter_mut().for_each(|w| w.amount *= 2);
        }
        w
    }
    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        self.0.eval(cx)
    }
    fn in_place(&self) -> bool {
        self.0.in_place()
    }
    fn contraction(&self) -> bool {
        self.0.contraction()
    }
}

/// Every wrong description of every computing op of some programs is seen.
#[test]
fn a_planted_mistake_is_seen() {
    let mut planted = 0;
    for seed in 0..24 {
        with_graph(&Draw::program(seed), |g| {
            let counted = Counter::count(g);
            let ops: Vec<_> = g.nodes().map(|(id, _)| id).collect();
            for id in ops {
                let NodeKind::Op { op, .. } = &g.node(id).kind else { continue };
                if op.role() != Role::Compute || !runs(&counted, id.0) {
                    continue;
                }
                for slip in [Slip::ReadsOne, Slip::WritesOne, Slip::LosesDim, Slip::Doubles] {
                    // an axis of extent 1 has no other index
                    let first = |v: &tilefoundry::graph::ValueId| {
                        g.ty(*v).shape.first().is_some_and(|e| !e.is_one())
                    };
                    let n = g.node(id);
                    let matters = match slip {
                        Slip::ReadsOne => {
                            // an expanded operand has the same element at every index
                            n.inputs.first().is_some_and(|v| first(v) && !expanded(g, *v))
                        }
                        Slip::WritesOne => n.outputs.first().is_some_and(first),
                        Slip::LosesDim => n.inputs.first().is_some_and(first),
                        Slip::Doubles => true,
                    };
                    if !matters {
                        continue;
                    }
                    let mut wrong = g.clone();
                    if let NodeKind::Op { op, .. } = &mut wrong.node_mut(id).kind {
                        *op = Box::leak(Box::new(Wrong(*op, slip)));
                    }
                    planted += 1;
                    let differs = compare(&wrong, &derived(&wrong), &counted);
                    assert!(
                        !differs.is_empty(),
                        "seed {seed}: {slip:?} of {} is not seen",
                        op.name()
                    );
                }
            }
        });
    }
    assert!(planted > 200, "{planted} planted");
}

fn runs(c: &Counts, node: u32) -> bool {
    c.runs.get(&node).is_some_and(|(most, _)| *most > 0)
}

fn expanded(g: &Graph, v: tilefoundry::graph::ValueId) -> bool {
    let tilefoundry::graph::Def::Node(n, _) = g.value(v).def else { return false };
    matches!(&g.node(n).kind, NodeKind::Op { op, .. } if op.name() == "expand")
}
