//! Reuse in the last cache by persistent positions, by ops outside meshes, and by data.

use tilefoundry::analysis::reuse::{Between, Held, ReuseRow};
use tilefoundry::analysis::{Analysis, Certainty, Options, analyze};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::target::Target;
use tilefoundry::types::dim::Env;

fn run(text: &str, path: &str) -> Analysis {
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    let (module, func) = path.split_once('.').unwrap();
    let root = session
        .roots()
        .iter()
        .copied()
        .find(|r| {
            let compiled = session.compile(*r);
            compiled
                .graph
                .as_ref()
                .is_some_and(|g| g.module.as_deref() == Some(module) && g.name == func)
        })
        .unwrap_or_else(|| panic!("{:#?}", session.diagnostics_of(session.roots()[0])));
    let compiled = session.compile(root);
    let target = Target::builtin("nvidia.h200_sxm").unwrap();
    analyze(compiled.graph.as_ref().unwrap(), &Env::default(), Some(&target), &Options::default())
        .unwrap()
}

fn rows<'a>(a: &'a Analysis, name: &str) -> Vec<&'a ReuseRow> {
    a.reuse.as_ref().unwrap().rows.iter().filter(|r| r.buffer == name).collect()
}

fn predicted(a: &Analysis) -> u128 {
    a.reuse.as_ref().unwrap().gmem_lru.unwrap().into()
}

/// `again, together, later, missed` and the nearest and farthest later use of a buffer.
fn found(a: &Analysis, name: &str) -> ([u128; 4], Option<(u64, u64)>) {
    let all = rows(a, name);
    let again = |at_once: bool| {
        let of = all.iter().filter(|r| (r.between == Between::Positions) == at_once);
        of.map(|r| r.again).sum::<u128>()
    };
    let later = || all.iter().filter(|r| r.between != Between::Positions);
    let near = later().map(|r| r.nearest as u64).min();
    let far = later().map(|r| r.farthest as u64).max();
    let missed = all.iter().map(|r| r.missed).sum();
    ([again(true) + again(false), again(true), again(false), missed], near.zip(far))
}

#[test]
fn ops_outside_meshes_find_what_the_cache_still_has() {
    let chain = |n: u64| {
        format!(
            "module M {{ target \"nvidia.h200_sxm\"; entry func f(x: f32[{n}]) -> f32[{n}] {{
            let y = x * 2.0; let z = x + y; z }} }}"
        )
    };
    // x and y are touched, then both again: 20 MB or 200 MB later
    for (n, held) in [(2_500_000u64, Held::Yes), (25_000_000, Held::No)] {
        let a = run(&chain(n), "M.f");
        let bytes = u128::from(n * 4);
        for name in ["x", "y"] {
            let [r] = rows(&a, name)[..] else { panic!("{name}") };
            assert_eq!((r.between, r.again, r.held), (Between::Launches, bytes, held));
            assert_eq!((r.nearest, r.farthest), (u128::from(n) * 8, u128::from(n) * 8));
        }
        let again = if held == Held::Yes { 0 } else { 2 * bytes };
        assert_eq!(predicted(&a), 3 * bytes + again);
    }
}

#[test]
fn persistent_positions_keep_what_every_tile_reads() {
    let text = "module M { target \"nvidia.h200_sxm\"; topology cta = 132;
    entry func f(x: f32[1320, 4096], w: f32[4096]) -> f32[1320, 4096] {
    let mut y = empty(f32[1320, 4096]);
    mesh g = cta[p: 132] { for i in g.p..1320 step 132 { y[i] = x[i] * w; } }
    y } }";
    let a = run(text, "M.f");
    let row = 4096 * 4u64;
    let (got, distance) = found(&a, "w");
    assert_eq!(
        got,
        [(1320 - 1) * u128::from(row), 131 * 10 * u128::from(row), 9 * u128::from(row), 0]
    );
    // the rows of one trip are read and written, and w is read
    assert_eq!(distance, Some((265 * row, 265 * row)));
    assert!(rows(&a, "w").iter().all(|r| r.held == Held::Yes && r.between <= Between::Trips));
    assert_eq!(predicted(&a), (1320 * 2 + 1) * u128::from(row));
}

#[test]
fn what_data_decides_is_a_bound() {
    let text = "module M { target \"nvidia.h200_sxm\"; topology cta = 16;
    entry func f(x: f32[4096, 64], at: i32[16, 8] range 0..4096) -> f32[16, 8, 64] {
    mesh g = cta[p: 16] {
        let i = reshard(at, rmem[16 @ g.p, 8]);
        reshard(embedding(i, x), gmem)
    } } }";
    let a = run(text, "M.f");
    let reuse = a.reuse.as_ref().unwrap();
    let x = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
    assert_eq!(x.read_is, Certainty::UpperBound);
    assert!(x.read >= 16 * 8 * 64 * 4);
    assert_eq!(reuse.is, Certainty::UpperBound);
    assert!(predicted(&a) <= reuse.through);
}
