//! Values that differ between positions: tiles, shared buffers, collecting.

use super::build::*;
use crate::diag::Code;
use crate::types::dim::Expr;
use crate::types::placement::{AxisSplit, Factor};
use crate::types::value::Tensor;

const M: i64 = 6;
const N: i64 = 8;
const K: i64 = 4;

/// A product by tiles of 2 x 4: position (m, n) walks over k, and a loop over halves of its rows.
fn gemm(overlap: bool) -> Build {
    let mut b = Build::new();
    let a = b.param("a", f32s(&[M, K]));
    let w = b.param("b", f32s(&[K, N]));
    let c = b.op(&EMPTY, &[], f32s(&[M, N]));
    let c = b.named(c, "c");
    let out = b.mesh(&[("m", 3), ("n", 2)], |b, _, x| {
        let row = x[0].scale(2);
        let col = x[1].scale(if overlap { 3 } else { 4 });
        b.each((0.into(), 2.into(), 1), &[c], |b, i, p| {
            let r = row.add(&i);
            let acc = b.op(&ZEROS, &[], f32s(&[1, 4]));
            let acc = b.each((0.into(), K.into(), 2), &[acc], |b, k, q| {
                let at = b.slice(a, vec![win(r.clone(), 1), win(k.clone(), 2)], f32s(&[1, 2]));
                let bt = b.slice(w, vec![win(k, 2), win(col.clone(), 4)], f32s(&[2, 4]));
                let at = b.op(&RESHARD, &[at], f32s(&[1, 2]));
                let t = b.op(&MATMUL, &[at, bt], f32s(&[1, 4]));
                vec![b.op(&ADD, &[q[0], t], f32s(&[1, 4]))]
            });
            vec![b.write(p[0], vec![win(r.clone(), 1), win(col.clone(), 4)], acc[0])]
        })
    });
    b.output("output", out[0]);
    b
}

fn product() -> (Vec<Tensor>, Vec<f64>) {
    let (a, w) = (iota(&[M as usize, K as usize], 1.0), iota(&[K as usize, N as usize], 0.5));
    let mut b = Build::new();
    let (x, y) = (b.param("a", f32s(&[M, K])), b.param("b", f32s(&[K, N])));
    let o = b.op(&MATMUL, &[x, y], f32s(&[M, N]));
    b.output("output", o);
    let want = only(b.run(&[a.clone(), w.clone()]));
    (vec![a, w], want)
}

#[test]
fn tiles_of_a_mesh_make_the_whole_product() {
    let (inputs, want) = product();
    assert_eq!(only(gemm(false).run(&inputs)), want);
}

#[test]
fn thread_count_does_not_matter() {
    let (inputs, want) = product();
    for n in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| {
            assert_eq!(only(gemm(false).run(&inputs)), want);
            let d = gemm(true).run(&inputs).unwrap_err();
            let first =
                "positions (g.m=0, g.n=0) and (g.m=0, g.n=1) both write element [0, 3] of `c`";
            assert_eq!((d.code, d.message.as_str()), (Code::WriteConflict, first));
        });
    }
}

/// More positions than run at once; each adds up a different number of rows.
#[test]
fn trips_vary_between_positions() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[150]));
    let e = b.op(&EMPTY, &[], f32s(&[150]));
    let out = b.mesh(&[("p", 150)], |b, _, c| {
        let acc = b.op(&ZEROS, &[], f32s(&[]));
        let sum = b.each((0.into(), c[0].clone(), 1), &[acc], |b, i, p| {
            let v = b.slice(x, vec![at(i)], f32s(&[]));
            vec![b.op(&ADD, &[p[0], v], f32s(&[]))]
        });
        vec![b.write(e, vec![at(c[0].clone())], sum[0])]
    });
    b.output("output", out[0]);
    let t = iota(&[150], 1.0);
    let v = t.to_f64s().into_owned();
    let want: Vec<f64> = (0..150).map(|n| v[..n].iter().sum()).collect();
    assert_eq!(only(b.run(&[t])), want);
}

#[test]
fn collect_stacks_and_reduces() {
    // sum over s of (row s of x times its number), for each b; and the same through a loop
    let mut b = Build::new();
    let x = b.param("x", f32s(&[3, 2, 4]));
    let e = b.op(&EMPTY, &[], f32s(&[3, 4]));
    let out = b.mesh(&[("b", 3), ("s", 2)], |b, axes, c| {
        let row = b.slice(x, vec![at(c[0].clone()), at(c[1].clone())], f32s(&[4]));
        let k = b.number(c[1].add(&Expr::one()));
        let row = b.op(&MUL, &[row, k], f32s(&[4]));
        let all = b.collect(row, &axes[1..], f32s(&[2, 4]));
        let sum = b.op(&SUM0, &[all], f32s(&[4]));
        let total = b.collect(sum, &axes[..1], f32s(&[3, 4]));
        let total = b.op(&SUM0, &[total], f32s(&[4]));
        let shown = b.op(&ADD, &[sum, total], f32s(&[4]));
        vec![b.write(e, vec![at(c[0].clone())], shown)]
    });
    b.output("output", out[0]);
    let t = iota(&[3, 2, 4], 1.0);
    let v = t.to_f64s().into_owned();
    let part = |i: usize, j: usize| v[i * 8 + j] + 2.0 * v[i * 8 + 4 + j];
    let want: Vec<f64> =
        (0..12).map(|n| part(n / 4, n % 4) + (0..3).map(|i| part(i, n % 4)).sum::<f64>()).collect();
    assert_eq!(only(b.run(&[t])), want);
}

/// All positions exchange what they have in every trip: a loop in lockstep.
#[test]
fn collect_inside_a_loop_runs_in_lockstep() {
    let build = |varying: bool| {
        let mut b = Build::new();
        let x = b.param("x", f32s(&[4]));
        let e = b.op(&EMPTY, &[], f32s(&[4]));
        let out = b.mesh(&[("p", 4)], |b, axes, c| {
            let mine = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
            let stop = if varying { c[0].clone() } else { 3.into() };
            let last = b.each((0.into(), stop, 1), &[mine], |b, _, p| {
                let all = b.collect(p[0], axes, f32s(&[4]));
                let sum = b.op(&SUM0, &[all], f32s(&[]));
                vec![b.op(&ADD, &[p[0], sum], f32s(&[]))]
            });
            vec![b.write(e, vec![at(c[0].clone())], last[0])]
        });
        b.output("output", out[0]);
        b
    };
    let t = iota(&[4], 1.0);
    let mut want = t.to_f64s().into_owned();
    for _ in 0..3 {
        let sum: f64 = want.iter().sum();
        want.iter_mut().for_each(|v| *v += sum);
    }
    assert_eq!(only(build(false).run(std::slice::from_ref(&t))), want);
    assert_eq!(build(true).run(&[t]).unwrap_err().code, Code::CollectInLoop);
}

#[test]
fn local_gives_each_position_its_piece() {
    let mut b = Build::new();
    let out = b.mesh(&[("a", 2), ("b", 3)], |b, axes, c| {
        // (2 @ a, 2, 3 @ b) of an axis of 12
        let mut ty = f32s(&[12, 2]);
        let f = |n: i64, axis| Factor { extent: n.into(), axis };
        ty.place.axes[0] = AxisSplit {
            factors: vec![f(2, Some(axes[0])), f(2, None), f(3, Some(axes[1]))],
            padded: false,
        };
        let x = b.op(&ZEROS, &[], f32s(&[12, 2]));
        let x = b.each((0.into(), 12.into(), 1), &[x], |b, i, p| {
            let n = b.number(i.clone());
            let row = b.op(&ZEROS, &[], f32s(&[2]));
            let row = b.op(&ADD, &[row, n], f32s(&[2]));
            vec![b.write(p[0], vec![at(i)], row)]
        });
        let x = b.op(&RESHARD, &[x[0]], ty);
        let piece = b.op(&LOCAL, &[x], f32s(&[2, 2]));
        let one = b.number(c[0].scale(100));
        let piece = b.op(&ADD, &[piece, one], f32s(&[2, 2]));
        vec![b.collect(piece, axes, f32s(&[2, 3, 2, 2]))]
    });
    b.output("output", out[0]);
    let want: Vec<f64> = (0..24)
        .map(|n| {
            let (a, s, q) = (n / 12, n / 4 % 3, n / 2 % 2);
            (a * 6 + q * 3 + s + 100 * a) as f64
        })
        .collect();
    assert_eq!(only(b.run(&[])), want);
}

#[test]
fn a_position_reads_back_its_own_writes_only() {
    let build = |shift: i64| {
        let mut b = Build::new();
        let x = b.param("x", f32s(&[4]));
        let e = b.op(&EMPTY, &[], f32s(&[4]));
        let e = b.named(e, "buf");
        let out = b.mesh(&[("p", 4)], |b, _, c| {
            let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
            let w = b.write(e, vec![at(c[0].clone())], v);
            let from = c[0].add(&shift.into()).rem(&4.into());
            let back = b.slice(w, vec![at(from)], f32s(&[]));
            let twice = b.op(&ADD, &[back, v], f32s(&[]));
            // overwrites its own
            vec![b.write(w, vec![at(c[0].clone())], twice)]
        });
        b.output("output", out[0]);
        b
    };
    let t = iota(&[4], 1.0);
    let want: Vec<f64> = t.to_f64s().iter().map(|v| v * 2.0).collect();
    assert_eq!(only(build(0).run(std::slice::from_ref(&t))), want);
    let d = build(1).run(&[t]).unwrap_err();
    assert!(matches!(d.code, Code::UninitRead | Code::ReadBack), "{d:#?}");
}

#[test]
fn reading_what_another_position_writes_is_found_after_the_block() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4]));
    let z = b.op(&ZEROS, &[], f32s(&[4]));
    let z = b.named(z, "buf");
    let out = b.mesh(&[("p", 4)], |b, _, c| {
        let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
        let w = b.write(z, vec![at(c[0].clone())], v);
        let next = c[0].add(&Expr::one()).rem(&4.into());
        let back = b.slice(w, vec![at(next)], f32s(&[]));
        vec![b.write(w, vec![at(c[0].clone())], back)]
    });
    b.output("output", out[0]);
    let d = b.run(&[iota(&[4], 1.0)]).unwrap_err();
    assert_eq!(d.code, Code::ReadBack);
    assert!(d.message.starts_with("(g.p=0) reads element [1] of `buf`"), "{}", d.message);
}

#[test]
fn uniform_writes_happen_once_and_buffers_pass_statements() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4]));
    let e = b.op(&EMPTY, &[], f32s(&[2, 4]));
    let out = b.mesh(&[("p", 4)], |b, _, c| {
        // the first row by everyone, the second by each its element, in two statements
        let w = b.write(e, vec![at(0)], x);
        let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
        let w = b.write(w, vec![at(1), at(c[0].clone())], v);
        let twice = b.op(&ADD, &[v, v], f32s(&[]));
        vec![b.write(w, vec![at(1), at(c[0].clone())], twice)]
    });
    b.output("output", out[0]);
    let t = iota(&[4], 1.0);
    let v = t.to_f64s().into_owned();
    let want: Vec<f64> = v.iter().copied().chain(v.iter().map(|x| x * 2.0)).collect();
    assert_eq!(only(b.run(&[t])), want);
}

#[test]
fn conflicts_between_statements_and_rows_are_named() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[2]));
    let e = b.op(&EMPTY, &[], f32s(&[3, 3]));
    let e = b.named(e, "o");
    let mut writes = vec![];
    let out = b.mesh(&[("m", 2), ("n", 2)], |b, _, c| {
        let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
        let w = b.write(e, vec![at(c[0].clone()), at(c[1].clone())], v);
        // its neighbour's element
        let w2 = b.write(w, vec![at(c[0].add(&Expr::one())), at(c[1].clone())], v);
        writes = vec![w, w2];
        vec![w2]
    });
    b.output("output", out[0]);
    let d = b.run(&[iota(&[2], 1.0)]).unwrap_err();
    assert_eq!(d.code, Code::WriteConflict);
    let want = "positions (g.m=0, g.n=0) and (g.m=1, g.n=0) both write element [1, 0] of `o`";
    assert_eq!(d.message, want);
    let spans: Vec<_> = writes.iter().map(|w| b.g.value(*w).span).collect();
    assert_eq!(d.labels.iter().map(|l| l.span).collect::<Vec<_>>(), spans);
}

#[test]
fn registers_are_each_positions_own() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4]));
    let e = b.op(&EMPTY, &[], f32s(&[4, 2]));
    let out = b.mesh(&[("p", 4)], |b, _, c| {
        let mut ty = f32s(&[2]);
        ty.place.storage = crate::types::placement::Storage::Rmem;
        let r = b.op(&ZEROS, &[], ty);
        let v = b.slice(x, vec![at(c[0].clone())], f32s(&[]));
        let r = b.write(r, vec![at(1)], v);
        vec![b.write(e, vec![at(c[0].clone())], r)]
    });
    b.output("output", out[0]);
    let t = iota(&[4], 1.0);
    let want: Vec<f64> = t.to_f64s().iter().flat_map(|v| [0.0, *v]).collect();
    assert_eq!(only(b.run(&[t])), want);
}
