//! Verdicts, what would fit, bounds.

use super::build::*;
use crate::analysis::{Options, analyze, largest_fitting, refusals};
use crate::diag::Code;
use crate::graph::{Graph, HintArg};
use crate::types::dim::{Env, Expr, VarId};
use crate::types::dtype::DType;
use crate::types::placement::Storage;

/// One head's keys and values, `ctx` rows each, held in `smem`.
fn cache(b: &mut Build) -> VarId {
    b.dim("ctx", 1, 8192)
}

fn cached() -> (Graph, VarId) {
    let mut b = Build::new();
    let ctx = cache(&mut b);
    let n = Expr::var(ctx);
    let mut t = ty(DType::Bf16, &[1, 1, 32]);
    t.shape[1] = n;
    t.shape[0] = Expr::int(2);
    let x = b.param("cache", t.clone());
    let (g, _) = b.mesh("cta", 2, &[("g.h", 8)]);
    let mut s = t.clone();
    s.place.storage = Storage::Smem;
    let out = b.in_mesh(&[g], |b| {
        let xs = b.op(&RESHARD, &[x], s.clone());
        b.op(&RESHARD, &[xs], t.clone())
    });
    (b.finish(out), ctx)
}

#[test]
fn names_the_largest_dim_that_fits() {
    let (g, ctx) = cached();
    let t = h200();
    // 128 bytes a row: 232,448 B hold 1816 of them
    let env = at(&[(ctx, 1816)]);
    assert!(analyze(&g, &env, Some(&t), &Options::default()).unwrap().fits());
    let env = at(&[(ctx, 1817)]);
    let a = analyze(&g, &env, Some(&t), &Options::default()).unwrap();
    let p = a.peak("smem", "cta").unwrap();
    assert_eq!((p.exceeded, p.limit), (true, Some(232_448)));
    assert!(p.would_fit.contains(&"`ctx` up to 1816".to_string()), "{:?}", p.would_fit);
    for v in [1817, 4000, 8192] {
        assert_eq!(largest_fitting(&g, &at(&[(ctx, v)]), ctx, Some(&t)), Some(1816));
    }
    let d = refusals(&g, &a);
    assert_eq!(d[0].code, Code::CapacityExceeded);
    assert!(d[0].message.contains("232448 B"), "{}", d[0].message);
}

#[test]
fn dims_need_a_value_in_range() {
    let (g, ctx) = cached();
    let code = |e: &Env| analyze(&g, e, None, &Options::default()).unwrap_err().code;
    assert_eq!(code(&Env::default()), Code::UnboundDim);
    assert_eq!(code(&at(&[(ctx, 9000)])), Code::DimOutOfRange);
}

#[test]
fn rings_count_and_a_shallower_one_is_named() {
    let mut b = Build::new();
    let x = b.param("x", ty(DType::Bf16, &[1024, 512]));
    let (g, _) = b.mesh("cta", 2, &[("g.p", 4)]);
    let z = ty(DType::F32, &[1]);
    let out = b.in_mesh(&[g], |b| {
        let s = b.op(&ZEROS, &[], z.clone());
        b.repeat((Expr::zero(), Expr::int(1024), 64), &[s], |b, k, c| {
            let w = b.read(x, &[(k, 64), (Expr::zero(), 512)], ty(DType::Bf16, &[64, 512]));
            b.hints = vec![
                hint("via", &[HintArg::Word("tma".into())]),
                hint("buffers", &[HintArg::Int(4)]),
            ];
            let _ =
                b.op(&RESHARD, &[w], placed(DType::Bf16, &[64, 512], Storage::Smem, &[&[], &[]]));
            b.hints.clear();
            vec![b.op(&ADD, &[c[0]], z.clone())]
        })[0]
    });
    let a = analyze(&b.finish(out), &Env::default(), Some(&h200()), &Options::default()).unwrap();
    let p = a.peak("smem", "cta").unwrap();
    assert_eq!(p.allocated_in_place, 4 * 65_536);
    assert!(p.exceeded);
    assert!(p.would_fit[0].starts_with("`buffers(3)` instead of 4"), "{:?}", p.would_fit);
}

#[test]
fn roles_hold_their_own_registers() {
    let mut b = Build::new();
    b.g.topology = vec![
        ("cta".into(), Some(Expr::int(4))),
        ("warpgroup".into(), Some(Expr::int(3))),
        ("thread".into(), Some(Expr::int(128))),
    ];
    let (g, _) = b.mesh("cta", 2, &[("g.p", 4)]);
    let (wg, _) = b.mesh("warpgroup", 3, &[("wg.w", 3)]);
    let (mma, mx) = b.part("warpgroup", 3, &[("mma.w", 2)], Some(wg), 1);
    let acc =
        placed(DType::F32, &[128, 256], Storage::Rmem, &[&[(2, Some(mx[0])), (64, None)], &[]]);
    let out = b.in_mesh(&[g, wg, mma], |b| {
        b.on(mma, |b| {
            let z = b.op(&ZEROS, &[], acc.clone());
            let y = b.op(&ADD, &[z, z], acc.clone());
            b.op(&RESHARD, &[y], ty(DType::F32, &[128, 256]))
        })
    });
    let a = analyze(&b.finish(out), &Env::default(), Some(&h200()), &Options::default()).unwrap();
    // 64 x 256 f32 over 128 threads: 128 registers
    let p = a.capacity.iter().find(|p| p.owner.starts_with("thread")).unwrap();
    assert_eq!((p.allocated_in_place, p.exceeded), (512, false));
    let cta = a.peak("rmem", "cta").unwrap();
    assert_eq!((cta.live_in_place, cta.allocated_in_place), (131_072, 131_072));
    let w = a.costs.work("fma.f32").unwrap();
    assert_eq!((w.logical, w.total), (128 * 256, 4 * 128 * 256));
    let unit = w.per_unit.iter().find(|u| u.level == "warpgroup").unwrap();
    assert_eq!((unit.units, unit.max), (12, 64 * 256));
}

#[test]
fn a_bound_is_the_slowest_resource() {
    let t = h200();
    let g = super::parity::k_tiles(false);
    let a = analyze(&g, &Env::default(), Some(&t), &Options::default()).unwrap();
    let r = a.roofline.as_ref().unwrap();
    for b in &r.bounds {
        let most = b.rows.iter().filter_map(|x| x.ps).max();
        assert_eq!(b.ps, most);
    }
    let placed = r.bound("placed", "cold").unwrap();
    let device = r.bound("device", "cold").unwrap();
    assert!(placed.ps > device.ps);
    // 16 CTAs of 132 SMs: the scalar adds of 16 of them, 262,144 a CTA at 128 a clock
    let row = |b: &crate::analysis::record::Bound, n: &str| {
        b.rows.iter().find(|r| r.resource == n).and_then(|r| r.ps).unwrap().as_f64()
    };
    let one = 262_144.0 / 128.0 / 1.982_717_803e9 * 1e12;
    assert!((row(placed, "fma.f32") / one - 1.0).abs() < 1e-3);
    // no vendor states the rate of the cache: what was measured stands in, and says so
    let l2 = placed.rows.iter().find(|r| r.resource == "l2").unwrap();
    assert!(l2.ps.is_some() && l2.note.as_ref().unwrap().contains("sustained"));
}

#[test]
fn an_all_reduce_over_devices_uses_the_link() {
    use crate::types::placement::Reduction;
    let mut b = Build::new();
    let (_, dx) = b.mesh("gpu", 0, &[("d.r", 2)]);
    let split: &[_] = &[(2, Some(dx[0])), (64, None)];
    let x = b.param("x", placed(DType::F32, &[16, 128], Storage::Gmem, &[&[], split]));
    let mut partial = ty(DType::F32, &[16, 1]);
    partial.place.set_partial(dx[0], Reduction::Sum);
    let s = b.op(&SUM, &[x], partial);
    let c = b.op(&COMPLETE, &[s], ty(DType::F32, &[16, 1]));
    let a = analyze(&b.finish(c), &Env::default(), Some(&h200()), &Options::default()).unwrap();
    let w = a.costs.work("fma.f32").unwrap();
    assert_eq!((w.logical, w.total), (16 * 128, 16 * 128));
    // 2 x 64 B x 1/2 sent by each of 2
    let comm = &a.costs.communication[0];
    assert_eq!((comm.level.as_str(), comm.per_unit, comm.total), ("gpu", 64, 128));
    // half of x in each device, and two copies of the sums
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 16 * 64 * 4 + 64 + 64);
    let placed = a.roofline.as_ref().unwrap().bound("placed", "cold").unwrap();
    assert!(placed.rows.iter().any(|r| r.resource == "link"));
}

#[test]
fn a_carried_value_dies_at_its_last_use() {
    let mut b = Build::new();
    let t = placed(DType::F32, &[1024], Storage::Smem, &[&[]]);
    let x = b.param("x", ty(DType::F32, &[1024]));
    let (g, _) = b.mesh("cta", 2, &[("g.p", 4)]);
    let out = b.in_mesh(&[g], |b| {
        let z = b.op(&ZEROS, &[], t.clone());
        let last = b.repeat((Expr::zero(), Expr::int(8), 1), &[z], |b, _, c| {
            let scaled = b.op(&MUL, &[c[0], c[0]], t.clone());
            let xs = b.op(&RESHARD, &[x], t.clone());
            let next = b.op(&ADD, &[scaled, xs], t.clone());
            // what follows needs no room for the old value
            let dead = b.op(&RESHARD, &[x], t.clone());
            let _ = b.op(&ADD, &[dead, next], t.clone());
            vec![next]
        });
        b.op(&RESHARD, &[last[0]], ty(DType::F32, &[1024]))
    });
    let a = analyze(&b.finish(out), &Env::default(), Some(&h200()), &Options::default()).unwrap();
    let p = a.peak("smem", "cta").unwrap();
    assert_eq!((p.live_in_place, p.live), (2 * 4096, 3 * 4096));
}
