//! Predicted times against closed forms: rings, roles, waves, chains, long loops.
//!
//! Times are those of the target's facts: `c` of a copy at the device's rate shared by its units,
//! `m` of an op on one unit, and `L`, the latency of `gmem`.

use super::build::*;
use crate::analysis::timeline::record::Prediction;
use crate::analysis::{Certainty, Options, analyze};
use crate::graph::{Graph, HintArg, ValueId};
use crate::target::{RateSet, Target};
use crate::types::dim::{Env, Expr};
use crate::types::dtype::DType;
use crate::types::placement::{AxisId, Storage};

fn predict(g: &Graph) -> Prediction {
    predict_on(g, &h200())
}

fn predict_on(g: &Graph, t: &Target) -> Prediction {
    analyze(g, &Env::default(), Some(t), &Options::default()).unwrap().prediction.unwrap()
}

const UNITS: i64 = 132;

/// Nanoseconds of the facts.
struct Facts {
    gmem: f64,
    sfu: f64,
    fma: f64,
    smem: f64,
    latency: f64,
    /// Of `smem`.
    near: f64,
    launch: f64,
}

fn facts() -> Facts {
    let t = h200();
    let rate = |r: &str| {
        let set = t.rate(RateSet::Sustained, r).or_else(|| t.rate(RateSet::Peak, r));
        set.map_or(f64::INFINITY, |f| f.value / 1e9)
    };
    let latency = |s: &str| {
        let known = t.storage(s).and_then(|s| s.latency.as_ref()?.known());
        known.map_or(0.0, |f| f.value)
    };
    Facts {
        gmem: rate("gmem"),
        sfu: rate("sfu"),
        fma: rate("fma.f32"),
        smem: rate("smem"),
        latency: latency("gmem"),
        near: latency("smem"),
        launch: t.cost("launch").map_or(0.0, |f| f.value),
    }
}

impl Facts {
    /// A copy of `n` floats while `positions` run.
    fn copy(&self, n: i64, positions: i64) -> f64 {
        (4 * n * positions) as f64 / self.gmem
    }

    /// `n` floats through the port of one unit, into its `smem` or its registers.
    fn port(&self, n: i64) -> f64 {
        (4 * n * UNITS) as f64 / self.smem
    }

    /// `k` ops of which the first reads `smem`.
    fn staged(&self, n: i64, k: i64) -> f64 {
        self.near + self.sfu(n, k)
    }

    /// `k` ops of `n` special functions on one unit.
    fn sfu(&self, n: i64, k: i64) -> f64 {
        (n * k * UNITS) as f64 / self.sfu
    }
}

#[track_caller]
fn near(p: &Prediction, ns: f64) {
    let got = p.ps.as_f64() / 1000.0 - facts().launch;
    assert!((got - ns).abs() <= 1e-6 * ns.max(1.0), "{got} ns instead of {ns} ns");
}

/// A tile of `n` floats in a storage, one for each position.
fn tile(n: i64, s: Storage, g: AxisId) -> crate::types::ty::TensorTy {
    let mut t = placed(DType::F32, &[n], s, &[&[]]);
    t.place.varying = vec![g];
    t
}

/// What each position of `p` does: `trips` times copy `n` floats and work `k` times on them.
struct Staged {
    p: i64,
    trips: i64,
    n: i64,
    k: i64,
    /// Depth of an asynchronous ring; 0 loads into registers and waits.
    ring: i64,
}

fn staged(s: &Staged) -> Graph {
    let mut b = Build::new();
    let (trips, n) = (s.trips, s.n);
    let x = b.param("x", ty(DType::F32, &[s.p * trips.max(1) * n]));
    let (g, gx) = b.mesh("cta", 2, &[("g.p", s.p)]);
    let out = b.in_mesh(&[g], |b| {
        let z = b.op(&ZEROS, &[], tile(n, Storage::Rmem, gx[0]));
        let base = b.coord(gx[0]).scale(trips * n);
        let last = b.repeat((Expr::zero(), Expr::int(trips * n), n), &[z], |b, i, _| {
            let w = b.read(x, &[(base.add(&i), n)], tile(n, Storage::Gmem, gx[0]));
            let v = copy(b, w, s.ring, n, gx[0]);
            vec![work(b, v, s.k, tile(n, Storage::Rmem, gx[0]))]
        });
        last[0]
    });
    b.finish(out)
}

fn copy(b: &mut Build, w: ValueId, ring: i64, n: i64, g: AxisId) -> ValueId {
    if ring == 0 {
        return b.op(&RESHARD, &[w], tile(n, Storage::Rmem, g));
    }
    b.hints =
        vec![hint("via", &[HintArg::Word("tma".into())]), hint("buffers", &[HintArg::Int(ring)])];
    let v = b.op(&RESHARD, &[w], tile(n, Storage::Smem, g));
    b.hints.clear();
    v
}

fn work(b: &mut Build, v: ValueId, k: i64, t: crate::types::ty::TensorTy) -> ValueId {
    (0..k).fold(v, |v, _| b.op(&RSQRT, &[v], t.clone()))
}

/// A slot is free when the first op has read it; the rest of the work runs beside the next copy.
#[test]
fn a_ring_of_one_copies_when_the_tile_was_read() {
    let f = facts();
    for (n, k, trips) in [(8192, 2, 20), (512, 2, 7), (8192, 6, 5)] {
        let p = predict(&staged(&Staged { p: UNITS, trips, n, k, ring: 1 }));
        let each = f.copy(n, UNITS) + f.latency + f.staged(n, 1);
        assert!(f.sfu(n, k) < each);
        near(&p, trips as f64 * each + f.sfu(n, k - 1));
        assert_eq!(p.is, Certainty::Exact);
    }
}

#[test]
fn a_deep_ring_is_as_fast_as_the_slower_side() {
    let f = facts();
    for ring in [2, 4] {
        // the copies take longer: they follow each other
        let (n, k, trips) = (8192, 2, 20);
        let (c, m) = (f.copy(n, UNITS), f.staged(n, k));
        assert!(c > (c + f.latency + m) / 2.0 && c > m);
        let p = predict(&staged(&Staged { p: UNITS, trips, n, k, ring }));
        near(&p, trips as f64 * c + f.latency + m);
        // the work takes longer: it waits for the first copy only
        let (k, trips) = (8, 9);
        let m = f.staged(n, k);
        assert!(m > (c + f.latency + m) / 2.0);
        let p = predict(&staged(&Staged { p: UNITS, trips, n, k, ring }));
        near(&p, c + f.latency + trips as f64 * m);
    }
}

/// With little to copy, a slot is free again one round trip after it was: a ring of two makes two
/// trips, one of four makes four, in the time of one.
#[test]
fn a_shallow_ring_waits_for_the_latency() {
    let f = facts();
    let (n, k) = (512, 2);
    let (c, m) = (f.copy(n, UNITS), f.staged(n, k));
    for ring in [2i64, 4] {
        let round = c + f.latency + f.staged(n, 1);
        assert!(round / ring as f64 > c.max(m));
        let rounds = 5;
        let p = predict(&staged(&Staged { p: UNITS, trips: rounds * ring, n, k, ring }));
        // the last round's slots follow each other at the rate of the copies
        near(&p, rounds as f64 * round + (ring - 1) as f64 * c + f.sfu(n, k - 1));
    }
}

#[test]
fn a_chain_of_loads_takes_a_latency_each() {
    let f = facts();
    let (n, k, trips) = (256, 1, 12);
    let p = predict(&staged(&Staged { p: 4, trips, n, k, ring: 0 }));
    // few positions have more of `gmem` than a unit can take
    assert!(f.port(n) > f.copy(n, 4));
    near(&p, trips as f64 * (f.port(n) + f.latency + f.sfu(n, k)));
}

#[test]
fn a_loop_without_trips_costs_nothing() {
    let p = predict(&staged(&Staged { p: UNITS, trips: 0, n: 256, k: 3, ring: 1 }));
    assert_eq!(p.ps, p.launches[0].overhead_ps);
}

/// Too long to be run whole, and continued exactly.
#[test]
fn a_long_loop_is_continued() {
    let f = facts();
    let (n, k) = (512, 2);
    for ring in [1i64, 4] {
        let rounds = 30_000;
        let p = predict(&staged(&Staged { p: UNITS, trips: rounds * ring, n, k, ring }));
        let c = f.copy(n, UNITS);
        let round = c + f.latency + f.staged(n, 1);
        near(&p, rounds as f64 * round + (ring - 1) as f64 * c + f.sfu(n, k - 1));
        assert_eq!(p.is, Certainty::Exact);
        let lane = &p.launches[0].lanes[0];
        assert_eq!(lane.gaps[0].trips as i64, rounds * ring - 2);
    }
}

/// 128 KiB in a position: one on a unit. Waves are whole, and the last one has the device's `gmem`
/// to itself.
#[test]
fn positions_beyond_the_places_wait_for_the_next_wave() {
    let f = facts();
    let (n, k) = (32_768, 4);
    let one = |p: i64| f.copy(n, p).max(f.port(n)) + f.latency + f.staged(n, k);
    for (p, last) in [(1, 1), (UNITS, UNITS), (UNITS + 1, 1), (3 * UNITS, UNITS)] {
        let waves = (p + UNITS - 1) / UNITS;
        let got = predict(&staged(&Staged { p, trips: 1, n, k, ring: 1 }));
        let l = &got.launches[0];
        assert_eq!((l.waves as i64, l.resident, l.tail as i64), (waves, 1, last));
        near(&got, (waves - 1) as f64 * one(UNITS) + one(last));
    }
}

/// Two roles that use different units of hardware run side by side; on one, they take turns.
#[test]
fn roles_overlap_where_their_resources_differ() {
    let f = facts();
    let n = 4096;
    let build = |same: bool| {
        let mut b = Build::new();
        let (g, gx) = b.mesh("cta", 2, &[("g.p", UNITS)]);
        let (wg, _) = b.mesh("warpgroup", 3, &[("wg.w", 2)]);
        let (first, _) = b.part("warpgroup", 3, &[("a.w", 1)], Some(wg), 0);
        let (second, _) = b.part("warpgroup", 3, &[("b.w", 1)], Some(wg), 1);
        let t = tile(n, Storage::Rmem, gx[0]);
        let out = b.in_mesh(&[g, wg], |b| {
            b.on(first, |b| {
                let z = b.op(&ZEROS, &[], t.clone());
                work(b, z, 3, t.clone())
            });
            b.on(second, |b| {
                let z = b.op(&ZEROS, &[], t.clone());
                if same {
                    return work(b, z, 5, t.clone());
                }
                (0..5).fold(z, |v, _| b.op(&ADD, &[v, v], t.clone()))
            })
        });
        b.finish(out)
    };
    let fma = (n * 5 * UNITS) as f64 / f.fma;
    near(&predict(&build(false)), f.sfu(n, 3).max(fma));
    near(&predict(&build(true)), f.sfu(n, 8));
}

/// Positions whose trips differ take as long as the longest, where each has a unit of its own.
#[test]
fn the_longest_position_decides() {
    let f = facts();
    let (n, k) = (512, 3);
    let mut b = Build::new();
    let x = b.param("x", ty(DType::F32, &[UNITS * UNITS * n]));
    let (g, gx) = b.mesh("cta", 2, &[("g.p", UNITS)]);
    let out = b.in_mesh(&[g], |b| {
        let z = b.op(&ZEROS, &[], tile(n, Storage::Rmem, gx[0]));
        let stop = b.coord(gx[0]).add(&Expr::one()).scale(n);
        let base = b.coord(gx[0]).scale(UNITS * n);
        let last = b.repeat((Expr::zero(), stop, n), &[z], |b, i, _| {
            let w = b.read(x, &[(base.add(&i), n)], tile(n, Storage::Gmem, gx[0]));
            let v = copy(b, w, 1, n, gx[0]);
            vec![work(b, v, k, tile(n, Storage::Rmem, gx[0]))]
        });
        last[0]
    });
    let p = predict(&b.finish(out));
    let each = f.copy(n, UNITS) + f.latency + f.staged(n, 1);
    near(&p, UNITS as f64 * each + f.sfu(n, k - 1));
}

/// What the target states of launches is part of the time; what it does not is said.
#[test]
fn a_launch_costs_what_the_target_states() {
    let g = staged(&Staged { p: UNITS, trips: 3, n: 512, k: 1, ring: 2 });
    let text = crate::target::builtin_device("nvidia.h200_sxm").unwrap();
    let line = text.lines().find(|l| l.starts_with("launch = ")).unwrap();
    let on = |fact: &str| {
        let text = text.replace(line, &format!("launch = {{ {fact} }}"));
        let t = Target::parse("nvidia.h200_sxm", &text, |_| None).unwrap();
        predict_on(&g, &t)
    };
    let without = on("absent = \"not measured\"");
    let with = on("value = 2500, unit = \"ns\", origin = \"estimated\", source = \"test\"");
    let unrated = |p: &Prediction| p.unrated.iter().any(|u| u.starts_with("launch: "));
    assert!(unrated(&without) && !unrated(&with));
    let later = without.ps.plus(crate::analysis::record::Ratio::new(2_500_000, 1));
    assert_eq!(with.ps, later);
}

/// That device with an `l2` of 8 TB/s that answers in 150 ns.
fn with_l2() -> Target {
    let fact = |value: &str, unit: &str| {
        let rest = "origin = \"estimated\", source = \"test\"";
        format!("{{ value = {value}, unit = \"{unit}\", {rest} }}")
    };
    let text = crate::target::builtin_device("nvidia.h200_sxm").unwrap();
    let mut section = "";
    let mut lines = vec![];
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(" = ").next().unwrap();
        lines.push(match (section, name) {
            ("[caches.l2]", "latency") => format!("latency = {}", fact("150", "ns")),
            ("[rates.sustained]", "l2") => format!("l2 = {}", fact("8e12", "B/s")),
            _ => line.to_string(),
        });
    }
    Target::parse("nvidia.h200_sxm", &lines.join("\n"), |_| None).unwrap()
}

/// One unit draws what its own port lets through: neither the whole device's rate nor only its
/// part of the last cache's, which the others do not use.
#[test]
fn one_unit_alone_is_bounded_by_its_port() {
    let (f, n) = (facts(), 1 << 14);
    let p = predict_on(&staged(&Staged { p: 1, trips: 1, n, k: 1, ring: 0 }), &with_l2());
    assert!(f.port(n) > f.copy(n, 1) && f.port(n) < (4 * n * UNITS) as f64 / 8000.0);
    near(&p, f.port(n) + f.latency + f.sfu(n, 1));
}

/// What stays in the last cache takes its rate and latency; what does not fit takes as long again.
#[test]
fn a_warm_program_does_not_wait_for_gmem() {
    let (f, n) = (facts(), 1 << 14);
    let warm = |p: &Prediction| p.warm_ps.as_f64() / 1000.0;
    let p = predict_on(&staged(&Staged { p: UNITS, trips: 1, n, k: 1, ring: 0 }), &with_l2());
    let bytes = (4 * n * UNITS) as f64;
    assert!(bytes / 8000.0 > f.port(n));
    near(&p, bytes / f.gmem + f.latency + f.sfu(n, 1));
    let want = bytes / 8000.0 + 150.0 + f.sfu(n, 1) + f.launch;
    assert!((warm(&p) - want).abs() <= 1e-6 * want, "{} instead of {want}", warm(&p));
    // 86 MB do not fit 62,914,560 B
    let p = predict_on(&staged(&Staged { p: UNITS, trips: 10, n, k: 1, ring: 0 }), &with_l2());
    assert_eq!(p.warm_ps, p.ps);
}
