//! Tests of the arithmetic and of the prover, by brute force.

use super::*;
use crate::base::FileId;

fn table(vars: &[(&str, Expr, Expr)]) -> (VarTable, Vec<Expr>) {
    let mut t = VarTable::default();
    let ids = vars
        .iter()
        .map(|(n, lo, hi)| {
            Expr::var(t.add(VarInfo {
                name: n.to_string(),
                kind: VarKind::Dim,
                lo: lo.clone(),
                hi: hi.clone(),
                span: Span::new(FileId(0), 0, 0),
            }))
        })
        .collect();
    (t, ids)
}

#[test]
fn polynomials_are_canonical() {
    let (t, v) = table(&[("m", 1.into(), 8.into()), ("n", 1.into(), 8.into())]);
    let (m, n) = (&v[0], &v[1]);
    assert_eq!(m.add(n).mul(&m.add(n)), m.mul(m).add(&m.mul(n).scale(2)).add(&n.mul(n)));
    assert_eq!(m.scale(8).add(&Expr::int(3)).floor_div(&8.into()), *m);
    assert_eq!(m.scale(8).mul(n).exact_div(&m.scale(4)), Some(n.scale(2)));
    assert_eq!(m.scale(3).exact_div(&2.into()), None);
    assert_eq!(t.show(&m.scale(2).sub(&n.mul(m)).add(&1.into())), "2 * m - m * n + 1");
}

#[test]
fn tile_windows_stay_in_bounds() {
    // lo = min(s * ceil_div(ctx, 8), ctx), hi = min(lo + ceil_div(ctx, 8), ctx)
    let (t, v) = table(&[("ctx", 1.into(), 8192.into()), ("s", 0.into(), 7.into())]);
    let (ctx, s) = (&v[0], &v[1]);
    let size = ctx.ceil_div(&8.into());
    let lo = s.mul(&size).min_of(ctx);
    let hi = lo.add(&size).min_of(ctx);
    assert_eq!(t.ge(ctx, &hi), Decision::Yes);
    assert_eq!(t.ge(&hi, &lo), Decision::Yes);
    assert_eq!(t.ge(&lo, &Expr::zero()), Decision::Yes);
    assert_eq!(t.ge(&lo, &Expr::one()), Decision::Unknown);
}

#[test]
fn bounds_of_divisions_and_coordinates() {
    let (t, v) = table(&[("i", 0.into(), 4351.into())]);
    let i = &v[0];
    let r = i.rem(&544.into());
    let row = i.floor_div(&544.into()).scale(8).add(&r.rem(&8.into()));
    assert_eq!(t.lower(&row), Some(0));
    assert_eq!(t.upper(&row), Some(63));
    assert_eq!(t.upper(&r.floor_div(&8.into())), Some(67));
    let mut env = Env::default();
    env.set(VarId(0), 4351);
    assert_eq!(row.eval(&env), Some(63));
}

proptest::proptest! {
    /// Whatever the prover bounds, brute force agrees with.
    #[test]
    fn lower_is_sound(a in -3i64..4, b in -3i64..4, k in 1i64..5, c in -4i64..5, which in 0usize..5) {
        let (t, v) = table(&[("x", 0.into(), 5.into()), ("y", 0.into(), Expr::var(VarId(0)))]);
        let base = v[0].scale(a).add(&v[1].scale(b)).add(&Expr::int(c));
        let e = match which {
            0 => base.floor_div(&k.into()),
            1 => base.ceil_div(&k.into()).sub(&v[0]),
            2 => base.rem(&k.into()).scale(a),
            3 => base.min_of(&v[1]).scale(b),
            _ => base.max_of(&v[0].scale(b)).sub(&v[1]),
        };
        let mut least = i64::MAX;
        for x in 0..=5 { for y in 0..=x {
            let mut env = Env::default();
            env.set(VarId(0), x);
            env.set(VarId(1), y);
            least = least.min(e.eval(&env).unwrap());
        } }
        if let Some(l) = t.lower(&e) { proptest::prop_assert!(l <= least, "{} {} {}", t.show(&e), l, least); }
    }
}
