//! The arms of a `match` on a dim as programs of their own, so that the size at which the match
//! switches can be held against the sizes at which the arms' costs cross.

use schemars::JsonSchema;
use serde::Serialize;

use super::crossings::Crossings;
use super::record::Site;
use crate::base::Span;
use crate::graph::{Arm, Graph, NodeId, NodeKind, RegionId};
use crate::types::dim::{Env, Expr, VarId};

/// The version of the record below.
pub const SCHEMA: &str = "tilefoundry.arms/1";

/// Each switch of each `match` on a dim, with the curves of the two arms that meet there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Arms {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    pub program: String,
    pub dim: String,
    /// A path as in `--metric`.
    pub metric: String,
    pub switches: Vec<Switch>,
}

/// Where a `match` goes over from one arm to the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Switch {
    /// The `match`.
    pub site: Site,
    /// The first size of the later arm.
    pub at: i64,
    /// Both arms at every size, each as if the `match` took it there: `program` is the arm before,
    /// `against` the one behind.
    pub curves: Crossings,
}

/// Two arms that meet.
pub struct Meeting {
    pub span: Span,
    /// The first size of the later arm.
    pub at: i64,
    /// The sizes of each, the earlier first, as text.
    pub names: [String; 2],
    /// The function with either arm for all sizes.
    pub graphs: [Graph; 2],
}

/// Where the arms of each `match` on `dim` meet, in program order.
pub fn meetings(graph: &Graph, dim: VarId) -> Vec<Meeting> {
    let mut out: Vec<Meeting> = vec![];
    let mut seen: Vec<Span> = vec![];
    for (_, n) in graph.nodes() {
        let NodeKind::Match { value, arms } = &n.kind else { continue };
        // a call that is pasted several times has one match
        if *value != Expr::var(dim) || seen.contains(&n.span) {
            continue;
        }
        seen.push(n.span);
        let env = Env::default();
        let mut by: Vec<(i64, i64, usize)> = vec![];
        for (i, a) in arms.iter().enumerate() {
            by.extend(a.lo.eval(&env).zip(a.hi.eval(&env)).map(|(lo, hi)| (lo, hi, i)));
        }
        by.sort_unstable();
        for w in by.windows(2) {
            let [a, b] = w else { continue };
            if a.1.checked_add(1) != Some(b.0) || a.2 == b.2 {
                continue;
            }
            let name = |x: &(i64, i64, usize)| format!("arm {} to {}", x.0, x.1);
            let graphs = [only(graph, n.span, a.2), only(graph, n.span, b.2)];
            out.push(Meeting { span: n.span, at: b.0, names: [name(a), name(b)], graphs });
        }
    }
    out
}

/// The function with one arm of a `match` for all values.
fn only(graph: &Graph, span: Span, arm: usize) -> Graph {
    let mut g = graph.clone();
    let of = |(id, n): (NodeId, &crate::graph::Node)| match &n.kind {
        NodeKind::Match { value, arms } if n.span == span => {
            Some((id, value.clone(), arms.get(arm)?.region))
        }
        _ => None,
    };
    let found: Vec<(NodeId, Expr, RegionId)> = graph.nodes().filter_map(of).collect();
    for (id, value, region) in found {
        let all = Arm { lo: Expr::int(i64::MIN), hi: Expr::int(i64::MAX), region };
        g.node_mut(id).kind = NodeKind::Match { value, arms: vec![all] };
    }
    g
}
