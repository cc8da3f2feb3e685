//! The sets held against the enumeration of their points.

use proptest::prelude::*;

use super::*;
use crate::base::{FileId, HashSet, Span};
use crate::types::dim::{Env, Expr, VarId, VarInfo, VarKind, VarTable};

type Raw = (i64, i64, i64, i64);

fn strip((start, len, stride, count): Raw) -> Option<Strip> {
    Strip::new(start.into(), len.into(), stride.into(), count.into())
}

fn points_of((start, len, stride, count): Raw) -> HashSet<i128> {
    let one = |i: i64| start + i * stride..start + i * stride + len;
    (0..count).flat_map(one).map(i128::from).collect()
}

fn points(s: &[Strip]) -> HashSet<i128> {
    let all: Vec<i128> = s.iter().flat_map(|s| (-200..200).filter(|x| s.contains(*x))).collect();
    let set: HashSet<i128> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "pieces overlap: {s:?}");
    set
}

fn raw() -> impl Strategy<Value = Raw> {
    (-20i64..20, 0i64..7, -9i64..10, 0i64..8)
}

fn plane(b: &[Raw; 2]) -> HashSet<[i128; 2]> {
    let (x, y) = (points_of(b[0]), points_of(b[1]));
    x.iter().flat_map(|x| y.iter().map(move |y| [*x, *y])).collect()
}

fn block(b: &[Raw; 2]) -> Option<Block> {
    b.iter().map(|r| strip(*r)).collect()
}

fn set(b: &[[Raw; 2]]) -> Set {
    Set::of(b.iter().filter_map(block).collect(), &mut Fuel(1 << 20)).unwrap()
}

fn held(s: &Set, want: &HashSet<[i128; 2]>) {
    assert_eq!(s.size(), want.len() as u128, "{s:?}");
    assert!(want.iter().all(|p| s.contains(p)), "{s:?}");
}

proptest! {
    #[test]
    fn strips_hold_their_points(a in raw()) {
        let want = points_of(a);
        let got = strip(a);
        prop_assert_eq!(got.map_or(0, |s| s.size()), want.len() as u128);
        prop_assert_eq!(points(&got.into_iter().collect::<Vec<_>>()), want);
    }

    #[test]
    fn strips_meet_and_differ(a in raw(), b in raw(), lo in -30i128..30, n in 0i128..40) {
        let (Some(x), Some(y)) = (strip(a), strip(b)) else { return Ok(()) };
        let (p, q) = (points_of(a), points_of(b));
        prop_assert_eq!(points(&x.intersect(&y)), p.intersection(&q).copied().collect());
        prop_assert_eq!(points(&x.subtract(&y)), p.difference(&q).copied().collect());
        let cut = p.iter().copied().filter(|v| (lo..lo + n).contains(v)).collect();
        prop_assert_eq!(points(&x.clip(lo, lo + n)), cut);
    }

    #[test]
    fn strips_repeat(a in raw(), by in -40i64..40, n in 0i64..6) {
        let Some(x) = strip(a) else { return Ok(()) };
        let p = points_of(a);
        let want: HashSet<i128> =
            (0..n).flat_map(|i| p.iter().map(move |v| v + i128::from(i * by))).collect();
        let pieces: Vec<Block> =
            x.repeat(by.into(), n.into()).into_iter().map(|s| vec![s]).collect();
        let got = Set::of(pieces, &mut Fuel(1 << 20)).unwrap();
        prop_assert_eq!(got.size(), want.len() as u128);
        prop_assert!(want.iter().all(|v| got.contains(&[*v])));
    }

    #[test]
    fn sets_hold_their_points(
        a in prop::collection::vec([raw(), raw()], 0..6),
        b in prop::collection::vec([raw(), raw()], 0..5),
    ) {
        let (p, q) = (a.iter().flat_map(plane).collect(), b.iter().flat_map(plane).collect());
        let (x, y) = (set(&a), set(&b));
        held(&x, &p);
        held(&y, &q);
        let fuel = &mut Fuel(1 << 20);
        held(&x.union(&y, fuel).unwrap(), &p.union(&q).copied().collect());
        held(&x.subtract(&y, fuel).unwrap(), &p.difference(&q).copied().collect());
        held(&x.intersect(&y, fuel).unwrap(), &p.intersection(&q).copied().collect());
    }

    /// A window whose starts are affine, or not, in two coordinates and a loop.
    #[test]
    fn images_hold_what_runs_touch(
        c in prop::array::uniform6(-3i64..5), len in prop::array::uniform2(0i64..5),
        n in prop::array::uniform2(1i64..5), step in 1i64..4, bounds in 0usize..4,
        odd in 0usize..4, cut in 0i64..30,
    ) {
        let mut table = VarTable::default();
        let span = Span::new(FileId(0), 0, 0);
        let mut var = |kind, hi: i64| table.add(VarInfo {
            name: "v".into(), kind, lo: Expr::zero(), hi: Expr::int(hi), span,
        });
        let p = var(VarKind::Coord(0), n[0] - 1);
        let q = var(VarKind::Coord(1), n[1] - 1);
        let i = var(VarKind::Loop, 100);
        let (ep, eq, ei) = (Expr::var(p), Expr::var(q), Expr::var(i));
        let (start, stop) = match bounds {
            0 => (Expr::zero(), Expr::int(7)),
            1 => (ep.clone(), Expr::int(9)),
            2 => (Expr::zero(), eq.scale(2)),
            _ => (ep.clone(), ep.scale(2)),
        };
        let sum = |a: i64, b: i64, c: i64| ep.scale(a).add(&eq.scale(b)).add(&ei.scale(c));
        let (mut x, y) = (sum(c[0], c[1], c[2]).add(&Expr::int(3)), sum(c[3], c[4], c[5]));
        if odd == 1 {
            x = x.add(&ei.rem(&Expr::int(3)).scale(5));
        }
        let end = (odd == 2).then(|| ei.add(&Expr::int(cut)));
        let axis = |start: &Expr, len, end: &Option<Expr>| Axis {
            start: start.clone(), len, end: end.clone(), steps: vec![], size: 25,
        };
        let axes = [axis(&x, len[0], &end), axis(&y, len[1], &None)];
        let loops =
            vec![Loop { var: i, start: start.clone(), stop: stop.clone(), step: Expr::int(step) }];
        let vars = Vars { coords: vec![(p, 0, n[0]), (q, 0, n[1])], loops, table: &table };
        let parts = image(&axes, &vars, &Env::default(), &mut Fuel(1 << 20)).unwrap();
        let mut want = HashSet::default();
        for (a, b) in (0..n[0]).flat_map(|a| (0..n[1]).map(move |b| (a, b))) {
            let mut env = Env::default();
            env.set(p, a);
            env.set(q, b);
            let mut k = start.eval(&env).unwrap();
            while k < stop.eval(&env).unwrap() {
                env.set(i, k);
                let (sx, sy) = (x.eval(&env).unwrap(), y.eval(&env).unwrap());
                let stop = end.as_ref().map_or(25, |e| e.eval(&env).unwrap());
                let clip = move |at: i64, n: i64, end: i64| at.max(0)..(at + n).min(end).min(25);
                for u in clip(sx, len[0], stop) {
                    want.extend(clip(sy, len[1], 25).map(|v| [i128::from(u), i128::from(v)]));
                }
                env.unset(i);
                k += step;
            }
        }
        prop_assert_eq!(size(&parts), want.len() as u128);
        let all = together(&parts, &mut Fuel(1 << 20)).unwrap();
        held(&all, &want);
    }
}

/// A variable that only moves one axis costs nothing, however many values it has.
#[test]
fn affine_starts_are_not_enumerated() {
    let mut table = VarTable::default();
    let span = Span::new(FileId(0), 0, 0);
    let mut vars = vec![];
    for n in [1i64 << 40, 1 << 30] {
        let (kind, hi) = (VarKind::Coord(0), Expr::int(n - 1));
        vars.push((
            table.add(VarInfo { name: "v".into(), kind, lo: Expr::zero(), hi, span }),
            0,
            n,
        ));
    }
    let at = |v: (VarId, i64, i64), k| Expr::var(v.0).scale(k);
    let axis =
        |start: Expr, len: i64| Axis { start, len, end: None, steps: vec![], size: i64::MAX };
    let axes = [axis(at(vars[0], 4), 3), axis(at(vars[1], 8), 8)];
    let over = Vars { coords: vars, loops: vec![], table: &table };
    let parts = image(&axes, &over, &Env::default(), &mut Fuel(64)).unwrap();
    assert_eq!(size(&parts), (3u128 << 40) * (8 << 30));
}

/// 64 x 64 tiles in any order are one box; work that is too much is refused, not done.
#[test]
fn work_is_bounded() {
    let tile =
        |i: i64| vec![strip((i / 64 * 4, 4, 0, 1)).unwrap(), strip((i % 64, 1, 0, 1)).unwrap()];
    let all: Vec<Block> = (0..4096).map(|i| tile((i * 1001) % 4096)).collect();
    let set = Set::of(all, &mut Fuel(1 << 20)).unwrap();
    assert_eq!((set.blocks().len(), set.size()), (1, 256 * 64));
    let odd = |i: i64| block(&[(i, i % 7 + 1, 0, 1), (i * i % 977, 50, 0, 1)]).unwrap();
    assert_eq!(Set::of((0..4000).map(odd).collect(), &mut Fuel(1 << 16)), Err(Inexact));
    let coprime = |p: i64| vec![strip((0, 1, p, 1 << 30)).unwrap()];
    let two = vec![coprime(1_000_003), coprime(999_983)];
    assert_eq!(Set::of(two, &mut Fuel(1 << 16)), Err(Inexact));
}
