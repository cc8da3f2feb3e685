//! Matches, data read as numbers, roles.

use super::build::*;
use crate::diag::Code;
use crate::graph::{Arm, NodeKind};
use crate::types::dim::Env;

#[test]
fn a_match_takes_the_arm_of_the_size() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[2]));
    let n = b.dim("n", 100);
    let (lo, hi) = (b.g.add_region(), b.g.add_region());
    b.inside(lo, |b| vec![b.op(&ADD, &[x, x], f32s(&[2]))]);
    b.inside(hi, |_| vec![x]);
    let arms = vec![
        Arm { lo: 1.into(), hi: 4.into(), region: lo },
        Arm { lo: 5.into(), hi: 9.into(), region: hi },
    ];
    let out = b.node(NodeKind::Match { value: n, arms }, &[], vec![f32s(&[2])]);
    b.output("output", out[0]);
    let t = iota(&[2], 1.0);
    let run = |n: i64| {
        let mut env = Env::default();
        env.set(b.g.dims[0], n);
        b.run_with(&env, std::slice::from_ref(&t), &Default::default())
    };
    assert_eq!(only(run(5)), t.to_f64s().as_ref());
    assert_eq!(only(run(4)), t.to_f64s().iter().map(|v| v * 2.0).collect::<Vec<_>>());
    assert_eq!(run(10).unwrap_err().code, Code::NoArm);
}

/// `out[g.e] = sum of x[offsets[g.e]..offsets[g.e + 1]]`, walked in padded tiles of 2.
fn segments() -> Build {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[8]));
    let mut offsets = i32s(&[4]);
    offsets.range = Some((0.into(), 8.into()));
    let offsets = b.param("offsets", offsets);
    let e = b.op(&EMPTY, &[], f32s(&[3]));
    let e = b.named(e, "sums");
    let out = b.mesh(&[("e", 3)], |b, _, c| {
        let mut ty = i32s(&[]);
        ty.range = Some((0.into(), 8.into()));
        let lo = b.slice(offsets, vec![at(c[0].clone())], ty.clone());
        let hi = b.slice(offsets, vec![at(c[0].add(&1.into()))], ty);
        let (lo, hi) = (b.data(lo, "lo"), b.data(hi, "hi"));
        let acc = b.op(&ZEROS, &[], f32s(&[]));
        let sum = b.each((lo, hi.clone(), 2), &[acc], |b, i, p| {
            let t = b.slice(x, vec![padded(i, 2, Some(hi), 0.0)], f32s(&[2]));
            let t = b.op(&SUM0, &[t], f32s(&[]));
            vec![b.op(&ADD, &[p[0], t], f32s(&[]))]
        });
        vec![b.write(e, vec![at(c[0].clone())], sum[0])]
    });
    b.output("output", out[0]);
    b
}

#[test]
fn data_bounds_a_loop_of_each_position() {
    let b = segments();
    let x = iota(&[8], 1.0);
    let v = x.to_f64s().into_owned();
    let want = vec![v[0..3].iter().sum::<f64>(), 0.0, v[3..8].iter().sum()];
    assert_eq!(only(b.run(&[x.clone(), ints(&[0, 3, 3, 8])])), want);
    let d = b.run(&[x, ints(&[0, 3, 9, 8])]).unwrap_err();
    assert_eq!(d.code, Code::ValueOutOfRange);
    assert!(d.message.contains("`hi` is 9") && d.message.contains("0..=8"), "{}", d.message);
    assert_eq!(d.notes, ["at g.e=1"]);
}

#[test]
fn roles_pass_values_and_buffers_through() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4, 2]));
    let e = b.op(&EMPTY, &[], f32s(&[4, 2]));
    let out = b.mesh(&[("p", 4)], |b, axes, c| {
        let part = b.g.meshes.axis(axes[0]).unwrap().mesh;
        let tile = b.on(part, |b| vec![b.slice(x, vec![at(c[0].clone())], f32s(&[2]))]);
        b.on(part, |b| {
            let twice = b.op(&ADD, &[tile[0], tile[0]], f32s(&[2]));
            vec![b.write(e, vec![at(c[0].clone())], twice)]
        })
    });
    b.output("output", out[0]);
    let t = iota(&[4, 2], 1.0);
    let want: Vec<f64> = t.to_f64s().iter().map(|v| v * 2.0).collect();
    assert_eq!(only(b.run(&[t])), want);
}

#[test]
fn only_the_positions_of_a_part_write() {
    // wg = warpgroup[w: 3], mma = wg[1..3]: inside `on mma`, wg.w is 1 or 2
    let mut b = Build::new();
    let x = b.param("x", f32s(&[3]));
    let z = b.op(&ZEROS, &[], f32s(&[4, 3]));
    let out = b.mesh(&[("w", 3)], |b, axes, c| {
        let whole = b.g.meshes.axis(axes[0]).unwrap().mesh;
        let (part, own) = b.part(whole, 1, 2);
        let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
        let w = b.on(part, |b| vec![b.write(z, vec![at(0), at(c[0].clone())], v)]);
        // both coordinates name one position
        b.on(part, |b| vec![b.write(w[0], vec![at(own.add(&1.into())), at(c[0].clone())], v)])
    });
    b.output("output", out[0]);
    let t = iota(&[3], 1.0);
    let v = t.to_f64s().into_owned();
    let want = [0.0, v[1], v[2], 0.0, v[1], 0.0, 0.0, 0.0, v[2], 0.0, 0.0, 0.0];
    assert_eq!(only(b.run(&[t])), want);
}
