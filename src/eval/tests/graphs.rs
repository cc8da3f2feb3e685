//! Verification and the printed forms of graphs.

use super::build::*;
use crate::graph::print::print;
use crate::graph::verify::verify;
use crate::graph::{Hint, HintArg, NodeKind, ValueId};
use crate::types::dim::Expr;
use crate::types::num::Num;
use crate::types::placement::AxisId;

fn sample() -> Build {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[8]));
    let e = b.op(&EMPTY, &[], f32s(&[8]));
    let e = b.named(e, "out");
    let out = b.mesh(&[("p", 4)], |b, _, c| {
        b.each((0.into(), 2.into(), 1), &[e], |b, i, p| {
            let i = c[0].scale(2).add(&i);
            let v = b.slice(x, vec![win(i.clone(), 1)], f32s(&[1]));
            vec![b.write(p[0], vec![win(i, 1)], v)]
        })
    });
    b.output("output", out[0]);
    b
}

#[test]
fn print_is_stable() {
    let mut b = sample();
    let span = b.span();
    let (id, _) = b.g.nodes().find(|(_, n)| n.label() == "slice").unwrap();
    let args = vec![(None, HintArg::Word("tma".into())), (Some("stages".into()), HintArg::Int(2))];
    b.g.node_mut(id).hints.push(Hint { name: "via".into(), args, span });
    let want = "\
graph f
  param %x.0: f32[8] in gmem
  %out.1: f32[8] in gmem = empty()
  %6: f32[8] in gmem = mesh g = cta[p: 4]
    %5: f32[8] in gmem = for i in 0..2 step 1 carry (%2: f32[8] in gmem = %out.1)
      %3: f32[1] in gmem = slice(%x.0, subs = [2 * g.p + i:+1]) #[via(tma, stages = 2)]
      %4: f32[8] in gmem = window_write(%2, %3, subs = [2 * g.p + i:+1])
      yield %4
    yield %5
  output = %6
";
    assert_eq!(print(&b.g), want);
    let dot = crate::graph::dot::dot(&b.g);
    assert_eq!(dot.matches("subgraph cluster_").count(), 2);
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert_eq!(dot, crate::graph::dot::dot(&b.g));
    let json = crate::graph::json::json(&b.g);
    assert_eq!(json["body"]["nodes"][1]["body"]["nodes"][0]["op"], "for");
    assert_eq!(json["values"][3]["shape"][0], 1);
    assert_eq!(json["meshes"][0]["axes"][0]["name"], "g.p");
}

/// What `verify` says of a sample after a change.
fn broken(change: impl FnOnce(&mut Build)) -> String {
    let mut b = sample();
    change(&mut b);
    verify(&b.g).unwrap_err().join("\n")
}

#[test]
fn broken_graphs_are_refused() {
    assert_eq!(verify(&sample().g), Ok(()));
    // a value of a region used outside
    let e = broken(|b| b.output("second", ValueId(3)));
    assert!(e.contains("not visible at the end"), "{e}");
    // used before its definition
    let e = broken(|b| {
        let (id, _) = b.g.nodes().find(|(_, n)| n.label() == "slice").unwrap();
        b.g.node_mut(id).inputs[0] = ValueId(4);
    });
    assert!(e.contains("not defined before it"), "{e}");
    let e = broken(|b| {
        let (id, _) = b.g.nodes().find(|(_, n)| n.label() == "slice").unwrap();
        b.g.node_mut(id).inputs[0] = ValueId(99);
    });
    assert!(e.contains("does not exist"), "{e}");
    // a loop whose result has another type
    let e = broken(|b| b.g.value_mut(ValueId(5)).ty = f32s(&[9]));
    assert!(e.contains("`f32[8]` as one of type `f32[9]`"), "{e}");
    let e = broken(|b| {
        let (id, _) = b.g.nodes().find(|(_, n)| n.label() == "for").unwrap();
        b.g.node_mut(id).inputs.clear();
    });
    assert!(e.contains("passes 0 values where there are 1"), "{e}");
    // placements
    let e = broken(|b| b.g.value_mut(ValueId(1)).ty.place.axes.clear());
    assert!(e.contains("has 1 axes and a placement of 0"), "{e}");
    let e = broken(|b| b.g.value_mut(ValueId(1)).ty.place.varying.push(AxisId(7)));
    assert!(e.contains("varies over a mesh axis that does not exist"), "{e}");
    // numbers read from data must be listed as used
    let e = broken(|b| {
        let n = b.param("n", i32s(&[]));
        let n = b.data(n, "n");
        let node = b.number(n);
        let (id, _) = b.g.nodes().last().unwrap();
        b.g.node_mut(id).uses.clear();
        b.output("n", node);
    });
    assert!(e.contains("reads `n` and does not list its value"), "{e}");
    // a loop variable outside its loop
    let e = broken(|b| {
        let var = b.g.vars.iter().find(|(_, i)| i.name == "i").unwrap().0;
        let v = b.number(Expr::var(var));
        b.output("v", v);
    });
    assert!(e.contains("loop variable `i` outside"), "{e}");
    // operands and results
    let e = broken(|b| {
        let v = b.op(&ADD, &[ValueId(0)], f32s(&[8]));
        b.output("v", v);
    });
    assert!(e.contains("has 1 operands and takes 2 to 2"), "{e}");
    let e = broken(|b| {
        let kind = NodeKind::Const(Num::Int(1.into()));
        let v = b.node(kind, &[], vec![f32s(&[2])]);
        b.output("v", v[0]);
    });
    assert!(e.contains("one result of rank 0"), "{e}");
    let e = broken(|b| {
        let kind = NodeKind::Match { value: 1.into(), arms: vec![] };
        b.node(kind, &[], vec![]);
    });
    assert!(e.contains("has no arm"), "{e}");
}
