//! Counts held against enumeration of every position, trip and element.

use super::build::*;
use crate::analysis::{Analysis, Certainty, Options, analyze};
use crate::base::HashSet;
use crate::graph::Graph;
use crate::types::dim::{Env, Expr, VarKind};
use crate::types::dtype::DType;
use crate::types::placement::Storage;

fn run(g: &Graph) -> Analysis {
    analyze(g, &Env::default(), Some(&h200()), &Options::default()).unwrap()
}

/// Each of `p` positions sums windows of `x` from its own start, by `trips(position)`.
fn ragged(p: i64, tile: i64, n: i64, causal: bool) -> Graph {
    let mut b = Build::new();
    let x = b.param("x", ty(DType::F32, &[n]));
    let (g, gx) = b.mesh("cta", 2, &[("g.p", p), ("g.h", 3)]);
    let stop = if causal {
        b.coord(gx[0]).add(&Expr::one()).scale(tile)
    } else {
        b.coord(gx[0]).scale(2 * tile).min_of(&Expr::int(n))
    };
    let mut t = placed(DType::F32, &[tile], Storage::Rmem, &[&[]]);
    t.place.varying = vec![gx[0]];
    let mut window = ty(DType::F32, &[tile]);
    window.place.varying = vec![gx[0]];
    let out = b.in_mesh(&[g], |b| {
        let acc = b.op(&ZEROS, &[], t.clone());
        let last = b.repeat((Expr::zero(), stop, tile), &[acc], |b, k, carried| {
            let w = b.read(x, &[(k, tile)], window.clone());
            vec![b.op(&ADD, &[carried[0], w], t.clone())]
        });
        last[0]
    });
    b.finish(out)
}

#[test]
fn trips_are_summed_over_the_coordinates_used() {
    for (p, tile, n, causal) in [(4, 8, 32, true), (5, 4, 24, false), (1, 2, 2, true)] {
        let a = run(&ragged(p, tile, n, causal));
        let (mut runs, mut touched) = (0u128, HashSet::default());
        let mut busiest = 0;
        for c in 0..p {
            let stop = if causal { (c + 1) * tile } else { (c * 2 * tile).min(n) };
            let mut here = 0;
            let mut k = 0;
            while k < stop {
                here += 1;
                touched.extend(k..(k + tile).min(n));
                k += tile;
            }
            runs += here;
            busiest = busiest.max(here);
        }
        let w = a.costs.work("fma.f32").map_or(0, |w| w.total);
        // 3 positions along h repeat what p does
        assert_eq!(w, runs * 3 * tile as u128);
        let logical = a.costs.work("fma.f32").map_or(0, |w| w.logical);
        assert_eq!(logical, runs * tile as u128);
        let unit = &a.costs.work("fma.f32").unwrap().per_unit[0];
        assert_eq!((unit.max, unit.units), (busiest * tile as u128, (p * 3) as u128));
        let f = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
        assert_eq!((f.read, f.read_is), (touched.len() as u128 * 4, Certainty::Exact));
    }
}

#[test]
fn nested_trips_that_depend_on_each_other() {
    let mut b = Build::new();
    let (g, gx) = b.mesh("cta", 2, &[("g.p", 3)]);
    let t = placed(DType::F32, &[2], Storage::Rmem, &[&[]]);
    let c = b.coord(gx[0]);
    let out = b.in_mesh(&[g], |b| {
        let z = b.op(&ZEROS, &[], t.clone());
        b.repeat((c, Expr::int(7), 2), &[z], |b, i, outer| {
            let r = b.repeat((Expr::zero(), i, 3), &[outer[0]], |b, _, v| {
                vec![b.op(&ADD, &[v[0], v[0]], t.clone())]
            });
            vec![r[0]]
        })[0]
    });
    let a = run(&b.finish(out));
    let mut n = 0u128;
    for p in 0..3 {
        for i in (p..7).step_by(2) {
            n += (0..i).step_by(3).count() as u128;
        }
    }
    assert_eq!(a.costs.work("fma.f32").unwrap().total, 2 * n);
    assert!(a.ops.iter().all(|o| o.costs.work.iter().all(|w| w.amount.is == Certainty::Exact)));
}

#[test]
fn data_dependent_trips_take_the_end_of_the_range() {
    let mut b = Build::new();
    let v = b.var("len", VarKind::Data(0), Expr::one(), Expr::int(100));
    let t = ty(DType::F32, &[4]);
    let z = b.op(&ZEROS, &[], t.clone());
    let out = b.repeat((Expr::zero(), Expr::var(v), 8), &[z], |b, _, c| {
        vec![b.op(&ADD, &[c[0], c[0]], t.clone())]
    });
    let g = b.finish(out[0]);
    let w = |e: &Env| {
        let a = analyze(&g, e, None, &Options::default()).unwrap();
        let w = a.costs.work("fma.f32").unwrap();
        (w.total, w.is)
    };
    assert_eq!(w(&Env::default()), (13 * 4, Certainty::UpperBound));
    assert_eq!(w(&at(&[(v, 17)])), (3 * 4, Certainty::Exact));
}

#[test]
fn padding_runs_but_is_not_logical() {
    // pad(11, 256 @ t.x) of 2688
    let mut b = Build::new();
    let x = b.param("x", ty(DType::Bf16, &[4, 2688]));
    let (g, gx) = b.mesh("cta", 2, &[("g.r", 4)]);
    let (m, tx) = b.mesh("thread", 5, &[("t.x", 256)]);
    let t = placed(
        DType::Bf16,
        &[4, 2688],
        Storage::Rmem,
        &[&[(4, Some(gx[0]))], &[(11, None), (256, Some(tx[0]))]],
    );
    let out = b.in_mesh(&[g, m], |b| {
        let xr = b.op(&RESHARD, &[x], t.clone());
        let y = b.op(&ADD, &[xr, xr], t.clone());
        b.op(&RESHARD, &[y], ty(DType::Bf16, &[4, 2688]))
    });
    let a = run(&b.finish(out));
    let w = a.costs.work("fma.bf16").unwrap();
    assert_eq!((w.logical, w.total), (4 * 2688, 4 * 2816));
    let g = a.costs.traffic("gmem").unwrap();
    assert_eq!((g.read.total, g.write.total), (4 * 2688 * 2, 4 * 2688 * 2));
    let thread = w.per_unit.iter().find(|u| u.level == "thread").unwrap();
    assert_eq!((thread.units, thread.max), (1024, 11));
}

#[test]
fn tiles_in_grouped_order_cover_the_result_once() {
    // 6 CTAs walk 4 x 8 tiles, in groups of 2 rows, column by column
    let (mt, nt, group, bm, bn, ctas) = (4, 8, 2, 4, 2, 6);
    let mut b = Build::new();
    let x = b.param("x", ty(DType::F32, &[mt * bm, nt * bn]));
    let y = b.op(&EMPTY, &[], ty(DType::F32, &[mt * bm, nt * bn]));
    let (g, gx) = b.mesh("cta", 2, &[("g.p", ctas)]);
    let p = b.coord(gx[0]);
    let mut tile = placed(DType::F32, &[bm, bn], Storage::Rmem, &[&[], &[]]);
    tile.place.varying = vec![gx[0]];
    let mut window = ty(DType::F32, &[bm, bn]);
    window.place.varying = vec![gx[0]];
    let out = b.in_mesh(&[g], |b| {
        b.repeat((p, Expr::int(mt * nt), ctas), &[y], |b, i, c| {
            let r = i.rem(&Expr::int(group * nt));
            let row =
                i.floor_div(&Expr::int(group * nt)).scale(group).add(&r.rem(&Expr::int(group)));
            let col = r.floor_div(&Expr::int(group));
            let at = [(row.scale(bm), bm), (col.scale(bn), bn)];
            let w = b.read(x, &at, window.clone());
            let v = b.op(&ADD, &[w, w], tile.clone());
            vec![b.write(c[0], v, &at)]
        })[0]
    });
    let a = run(&b.finish(out));
    let size = (mt * bm * nt * bn * 4) as u128;
    for f in &a.footprints {
        let n = if f.buffer == "x" { f.read } else { f.write };
        assert_eq!((n, f.read_is.and(f.write_is)), (size, Certainty::Exact), "{f:?}");
    }
    assert_eq!(a.footprints.len(), 2);
    assert!(a.footprints.iter().all(|f| f.persistent));
    let g = a.costs.traffic("gmem").unwrap();
    assert_eq!((g.read.total, g.write.total, g.write.logical), (2 * size, size, size));
    // written in place: the input and one result
    assert_eq!(a.peak("gmem", "gpu").unwrap().live, 2 * size);
    let w = &a.costs.work("fma.f32").unwrap().per_unit[0];
    assert_eq!(w.max, (6 * bm * bn) as u128);
}

#[test]
fn a_window_put_back_where_it_was_moves_nothing() {
    use crate::graph::ParamKind;
    let mut b = Build::new();
    let (layers, n) = (5, 16);
    let kc = b.g.add_param("kc", ParamKind::Inout, ty(DType::F32, &[layers, n]), span());
    let last = b.repeat((Expr::zero(), Expr::int(layers), 1), &[kc], |b, i, c| {
        let at = [(i, 1), (Expr::zero(), n)];
        let w = b.read(c[0], &at, ty(DType::F32, &[1, n]));
        let new = b.op(&ADD, &[w, w], ty(DType::F32, &[1, n]));
        vec![b.write(c[0], new, &at)]
    });
    b.g.outputs.push(crate::graph::Output { name: "kc".into(), value: last[0] });
    let a = run(&b.g);
    let size = (layers * n * 4) as u128;
    let t = a.costs.traffic("gmem").unwrap();
    assert_eq!((t.read.total, t.write.total), (2 * size, size));
    let f = &a.footprints;
    assert_eq!((f.len(), f[0].buffer.as_str()), (1, "kc"));
    assert_eq!((f[0].read, f[0].write), (size, size));
    assert_eq!((f[0].read_is, f[0].write_is), (Certainty::Exact, Certainty::Exact));
    assert_eq!(a.peak("gmem", "gpu").unwrap().live, size);
    // elsewhere it is a copy
    let mut b = Build::new();
    let x = b.param("x", ty(DType::F32, &[4, n]));
    let w = b.read(x, &[(Expr::zero(), 1), (Expr::zero(), n)], ty(DType::F32, &[1, n]));
    let new = b.op(&ADD, &[w, w], ty(DType::F32, &[1, n]));
    let y = b.write(x, new, &[(Expr::int(2), 1), (Expr::zero(), n)]);
    let a = run(&b.finish(y));
    assert_eq!(a.costs.traffic("gmem").unwrap().write.total, 2 * 64);
}

#[test]
fn windows_of_a_view_are_counted_there() {
    let mut b = Build::new();
    let x = b.param("x", ty(DType::F32, &[6, 10]));
    let v = b.op(&VIEW, &[x], ty(DType::F32, &[60]));
    let (g, gx) = b.mesh("cta", 2, &[("g.p", 4)]);
    let start = b.coord(gx[0]).scale(9);
    let mut t = placed(DType::F32, &[12], Storage::Rmem, &[&[]]);
    t.place.varying = vec![gx[0]];
    let mut w = ty(DType::F32, &[12]);
    w.place.varying = vec![gx[0]];
    let out = b.in_mesh(&[g], |b| {
        let r = b.read(v, &[(start, 12)], w);
        b.op(&ADD, &[r, r], t.clone())
    });
    let a = run(&b.finish(out));
    let f = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
    // 0..12, 9..21, 18..30, 27..39
    assert_eq!((f.read, f.read_is), (39 * 4, Certainty::Exact));
}

/// A random placement of `[6k, 4m]` on meshes of CTAs and threads, against enumeration.
fn enumerated(rows: i64, cols: i64, (a, b, t): (i64, i64, i64), pick: u32) -> (Graph, [u128; 3]) {
    let mut g = Build::new();
    let x = g.param("x", ty(DType::F32, &[rows, cols]));
    let (m, gx) = g.mesh("cta", 2, &[("g.a", a), ("g.b", b)]);
    let (th, tx) = g.mesh("thread", 5, &[("t.x", t)]);
    // bits choose which axis each mesh axis splits: rows, columns or none
    let axes = [(gx[0], a), (gx[1], b), (tx[0], t)];
    let (mut r, mut c) = (vec![], vec![]);
    let mut owner = vec![];
    for (i, (axis, n)) in axes.iter().enumerate() {
        let way = (pick / 3u32.pow(i as u32)) % 3;
        owner.push((way, *n));
        match way {
            0 => r.push((*n, Some(*axis))),
            1 => c.push((*n, Some(*axis))),
            _ => {}
        }
    }
    let product = |f: &[(i64, Option<_>)]| f.iter().map(|(n, _)| n).product::<i64>();
    let (lr, lc) = (rows / product(&r), cols / product(&c));
    r.push((lr, None));
    c.push((lc, None));
    let t = placed(DType::F32, &[rows, cols], Storage::Rmem, &[&r, &c]);
    let out = g.in_mesh(&[m, th], |g| {
        let xr = g.op(&RESHARD, &[x], t.clone());
        g.op(&ADD, &[xr, xr], t.clone())
    });
    // every position's points, and the elements that each CTA fetches
    let (mut points, mut fetched) = (0u128, 0u128);
    for i in 0..a * b {
        let mut here = HashSet::default();
        for z in 0..owner[2].1 {
            let coords = [i / b, i % b, z];
            let (mut rb, mut cb, mut rs, mut cs) = (0, 0, rows, cols);
            for ((way, n), at) in owner.iter().zip(coords) {
                match way {
                    0 => {
                        rs /= n;
                        rb += at * rs;
                    }
                    1 => {
                        cs /= n;
                        cb += at * cs;
                    }
                    _ => {}
                }
            }
            points += (rs * cs) as u128;
            here.extend((rb..rb + rs).flat_map(|y| (cb..cb + cs).map(move |x| (y, x))));
        }
        fetched += here.len() as u128;
    }
    (g.finish(out), [points, fetched * 4, (rows * cols) as u128])
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn placements_count_as_enumerated(
        a in 1i64..4, b in 1i64..4, t in 1i64..5, k in 1i64..3, pick in 0u32..27,
    ) {
        let (g, [points, fetched, logical]) = enumerated(a * b * t * k, a * b * t, (a, b, t), pick);
        let r = run(&g);
        let w = r.costs.work("fma.f32").unwrap();
        proptest::prop_assert_eq!((w.total, w.logical), (points, logical));
        proptest::prop_assert_eq!(r.costs.traffic("gmem").unwrap().read.total, fetched);
    }

    /// Trips of a triangular nest, and the union of its windows.
    #[test]
    fn nests_count_as_enumerated(p in 1i64..5, n in 1i64..30, step in 1i64..5, len in 1i64..6) {
        let mut b = Build::new();
        let x = b.param("x", ty(DType::F32, &[64]));
        let (g, gx) = b.mesh("cta", 2, &[("g.p", p)]);
        let c = b.coord(gx[0]);
        let mut t = placed(DType::F32, &[len], Storage::Rmem, &[&[]]);
        t.place.varying = gx.clone();
        let mut w = ty(DType::F32, &[len]);
        w.place.varying = gx;
        let out = b.in_mesh(&[g], |b| {
            let z = b.op(&ZEROS, &[], t.clone());
            b.repeat((c, Expr::int(n), step), &[z], |b, i, v| {
                let r = b.read(x, &[(i.scale(2), len)], w.clone());
                vec![b.op(&ADD, &[v[0], r], t.clone())]
            })[0]
        });
        let a = run(&b.finish(out));
        let (mut runs, mut seen) = (0u128, HashSet::default());
        for q in 0..p {
            for i in (q..n).step_by(step as usize) {
                runs += 1;
                seen.extend((2 * i..2 * i + len).filter(|e| *e < 64));
            }
        }
        let total = a.costs.work("fma.f32").map_or(0, |w| w.total);
        proptest::prop_assert_eq!(total, runs * len as u128);
        let f = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
        proptest::prop_assert_eq!(f.read, seen.len() as u128 * 4);
    }
}
