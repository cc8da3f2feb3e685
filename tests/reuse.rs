//! What the last cache keeps: a matrix product in three orders of its tiles against a simulation of
//! the cache tile by tile, and programs whose reuse can be told by hand.

use std::collections::{BTreeMap, HashMap};

use tilefoundry::analysis::reuse::{Between, Held, Reuse, ReuseRow};
use tilefoundry::analysis::{Analysis, Certainty, Options, analyze};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::target::Target;
use tilefoundry::types::dim::Env;

fn analysed(text: &str, module: &str) -> Analysis {
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    for r in session.roots() {
        let compiled = session.compile(r);
        let Some(g) = compiled.graph.as_ref() else {
            let messages: Vec<String> =
                session.diagnostics_of(r).into_iter().map(|d| d.message).collect();
            panic!("{messages:#?}")
        };
        if g.module.as_deref() == Some(module) {
            let target = Target::builtin("nvidia.h200_sxm").unwrap();
            return analyze(g, &Env::default(), Some(&target), &Options::default()).unwrap();
        }
    }
    panic!("no module {module}")
}

fn row<'a>(r: &'a Reuse, buffer: &str, between: Between) -> Option<&'a ReuseRow> {
    r.rows.iter().find(|x| x.buffer == buffer && x.between == between)
}

fn bound(a: &Analysis, name: &str, resource: &str) -> u128 {
    let b = a.roofline.as_ref().unwrap().bound(name, "cold").unwrap();
    b.rows.iter().find(|r| r.resource == resource).unwrap().amount
}

/// 8192 x 17408 x 5120 in tiles of 128 x 256, row by row, a CTA for each.
const ROW_MAJOR: &str = "
const M = 8192; const N = 17408; const K = 5120; const BM = 128; const BN = 256; const BK = 64;
module Rows {
    target \"nvidia.h200_sxm\";
    topology cta, thread = 256;
    entry func gemm(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        let mut c = empty(bf16[M, N]);
        mesh g = cta[m: M / BM, n: N / BN] {
            let rows = g.m * BM..(g.m + 1) * BM;
            let cols = g.n * BN..(g.n + 1) * BN;
            let mut acc = zeros(f32[BM, BN]);
            for k in tile(K, BK) {
                #[via(tma), buffers(4)]
                let at = reshard(a[rows, k], smem);
                #[via(tma), buffers(4)]
                let bt = reshard(b[cols, k], smem);
                #[atom(wgmma, n = 256)]
                acc = acc + matmul(at, bt, transpose_b = true, out = f32);
            }
            c[rows, cols] = cast(acc, bf16);
        }
        c
    }
}";

const TILES: usize = 64 * 68;
/// Bytes of a row of tiles of `a`, a column of tiles of `b`, and a tile of `c`.
const PANELS: [u128; 3] = [128 * 5120 * 2, 256 * 5120 * 2, 128 * 256 * 2];

/// Bytes of `a` and of `b` that are read in an earlier wave too and that a cache of this capacity
/// has dropped, all that is read in an earlier wave, and the bytes at memory. 132 tiles at a time
/// read their panels, then write their tiles.
fn simulate(order: &dyn Fn(usize) -> (usize, usize), capacity: u128) -> ([[u128; 2]; 2], u128) {
    let mut last: HashMap<(usize, usize), usize> = HashMap::new();
    let (mut found, mut memory, mut step) = ([[0u128; 2]; 2], 0, 0);
    for wave in (0..TILES).collect::<Vec<_>>().chunks(132) {
        let tiles: Vec<(usize, usize)> = wave.iter().map(|i| order(*i)).collect();
        let mut reads: Vec<(usize, usize)> =
            tiles.iter().flat_map(|(m, n)| [(0, *m), (1, *n)]).collect();
        reads.sort_unstable();
        reads.dedup();
        // distinct bytes whose last use is in each step
        let mut by_step: BTreeMap<usize, u128> = BTreeMap::new();
        last.iter().for_each(|((kind, _), s)| *by_step.entry(*s).or_default() += PANELS[*kind]);
        for r in &reads {
            let n = PANELS[r.0];
            let missed = last.get(r).is_none_or(|s| {
                let distance: u128 = by_step.range(*s..).map(|(_, n)| n).sum();
                found[r.0][1] += n;
                found[r.0][0] += if distance > capacity { n } else { 0 };
                distance > capacity
            });
            memory += if missed { n } else { 0 };
        }
        reads.into_iter().for_each(|r| _ = last.insert(r, step));
        for i in wave {
            memory += PANELS[2];
            last.insert((2, *i), step + 1);
        }
        step += 2;
    }
    (found, memory)
}

#[test]
fn a_product_reuses_as_simulated() {
    let samples = include_str!("samples/gemm.tf");
    // groups of 8 rows, column by column
    let grouped = |i: usize| {
        let r = i % (8 * 68);
        (i / (8 * 68) * 8 + r % 8, r / 8)
    };
    let rows = |i: usize| (i / 68, i % 68);
    type Order<'a> = &'a dyn Fn(usize) -> (usize, usize);
    let cases: [(&str, &str, Order, Between); 3] = [
        (samples, "Position", &grouped, Between::Trips),
        (samples, "Global", &grouped, Between::Waves),
        (ROW_MAJOR, "Rows", &rows, Between::Waves),
    ];
    for (text, module, order, between) in cases {
        let a = analysed(text, module);
        let r = a.reuse.as_ref().unwrap();
        assert_eq!(r.is, Certainty::Exact, "{module}");
        let (found, memory) = simulate(order, r.capacity);
        for (name, [missed, again]) in ["a", "b"].iter().zip(found) {
            let x = row(r, name, between).unwrap();
            assert_eq!((x.again, x.missed), (again, missed), "{module} {name}");
        }
        assert_eq!(r.gmem_lru, Some(memory as u64), "{module}");
        // 4352 tiles x 80 steps x 48 KiB are read, and each tile of the result is written
        let read = 4352 * 80 * (128 + 256) * 64 * 2;
        assert_eq!(read, 17_112_760_320);
        let output = a.footprints.iter().map(|f| f.write).sum::<u128>();
        assert_eq!(r.through, read + output, "{module}");
        assert_eq!(bound(&a, "placed", "l2"), read + output, "{module}");
        // a and b once, c once; what is predicted lies between that and all that misses
        let distinct = 2 * (8192 * 5120 + 17408 * 5120 + 8192 * 17408);
        assert_eq!(distinct, 547_356_672);
        assert_eq!(bound(&a, "device", "gmem"), distinct, "{module}");
        assert_eq!(bound(&a, "placed", "gmem"), distinct, "{module}");
        let all: u128 = r.rows.iter().map(|x| x.again).sum();
        assert_eq!(all + distinct, r.through, "{module}");
        assert!(distinct <= memory && memory <= r.through, "{module}");
    }
}

#[test]
fn row_major_tiles_read_all_of_b_in_every_wave() {
    let a = analysed(ROW_MAJOR, "Rows");
    let r = a.reuse.unwrap();
    // 132 tiles in rows of 68 are all columns of b, in each of 33 waves
    let b = row(&r, "b", Between::Waves).unwrap();
    assert_eq!((b.again, b.missed, b.held), (32 * 68 * PANELS[1], 32 * 68 * PANELS[1], Held::No));
    // a wave begins inside a row of tiles unless 132 w is a multiple of 68: w = 17
    let a = row(&r, "a", Between::Waves).unwrap();
    assert_eq!((a.again, a.held), (31 * PANELS[0], Held::No));
}

/// One CTA reads `n` floats three times.
fn sweeps(n: usize) -> Analysis {
    let text = format!(
        "module M {{ target \"nvidia.h200_sxm\"; topology cta = 1, thread = 128;
         entry func f(x: f32[{n}]) -> f32[1024] {{
             let mut y = empty(f32[1024]);
             mesh g = cta[p: 1] {{
                 let mut acc = zeros(f32[1024]);
                 for t in 0..3 {{ for k in tile({n}, 1024) {{ acc = acc + x[k]; }} }}
                 y[0..1024] = acc;
             }}
             y }} }}"
    );
    analysed(&text, "M")
}

#[test]
fn a_loop_that_sweeps_a_buffer_finds_it_if_it_fits() {
    let a = sweeps(1 << 20);
    let small = a.reuse.as_ref().unwrap();
    let x = row(small, "x", Between::Trips).unwrap();
    assert_eq!((x.again, x.nearest, x.farthest, x.held), (2 << 22, 1 << 22, 1 << 22, Held::Yes));
    assert_eq!(small.gmem_lru, Some((1 << 22) + 4096));
    assert_eq!(bound(&a, "placed", "gmem"), (1 << 22) + 4096);
    let a = sweeps(1 << 25);
    let large = a.reuse.as_ref().unwrap();
    let x = row(large, "x", Between::Trips).unwrap();
    assert_eq!((x.again, x.nearest, x.missed, x.held), (2 << 27, 1 << 27, 2 << 27, Held::No));
    assert_eq!(large.gmem_lru, Some((3 << 27) + 4096));
    // the best policy keeps what the caches hold: 60 MiB and 256 KiB
    let most = (1 << 27) - (60 << 20) - (256 << 10);
    assert_eq!(bound(&a, "placed", "gmem"), (1 << 27) + 2 * most + 4096);
}

#[test]
fn what_a_launch_writes_the_next_may_find() {
    for (rows, held) in [(1 << 12, Held::Yes), (1 << 18, Held::No)] {
        let text = format!(
            "module M {{ target \"nvidia.h200_sxm\"; topology cta, thread = 128;
             entry func f(x: f32[{rows}, 128]) -> f32[{rows}, 128] {{
                 let y = mesh g = cta[p: {rows}], t = thread[x: 128] {{
                     let v = reshard(x, rmem[{rows} @ g.p, 128 @ t.x]);
                     reshard(v * 2.0, gmem)
                 }};
                 mesh h = cta[p: {rows}], t = thread[x: 128] {{
                     let w = reshard(y, rmem[{rows} @ h.p, 128 @ t.x]);
                     reshard(w + 1.0, gmem)
                 }}
             }} }}"
        );
        let a = analysed(&text, "M");
        let r = a.reuse.as_ref().unwrap();
        let size: u128 = rows * 512;
        // x, y and the result once each, and y again where the first launch pushed it out; the
        // second launch begins with what the first left last, and meets its beginning first
        let [y] = r.rows.as_slice() else { panic!("{:?}", r.rows) };
        assert_eq!((y.between, y.again, y.held), (Between::Launches, size, held));
        let missed = if held == Held::Yes { 0 } else { size };
        assert_eq!(r.gmem_lru.map(u128::from), Some(3 * size + missed));
        assert!(bound(&a, "placed", "gmem") <= 3 * size + missed);
    }
}

/// The prediction is never below the bound that no policy can beat, nor above all traffic.
#[test]
fn predictions_lie_between_the_bound_and_all_traffic() {
    let mut seen = 0;
    for name in ["gemm", "gqa_prefill", "moe", "rms_norm_quant", "f8_block_quant", "mamba2"] {
        let path = format!("{}/tests/samples/{name}.tf", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let sources = MemorySources::one("m.tf", text.as_str());
        let session = Session::open(&sources, "m.tf", &[], Targets::default());
        for r in session.roots() {
            let compiled = session.compile(r);
            let Some(g) = compiled.graph.as_ref() else { continue };
            let mut env = Env::default();
            for d in &g.dims {
                let info = g.vars.get(*d).unwrap();
                let (lo, hi) = (g.vars.lower(&info.lo).unwrap(), g.vars.upper(&info.hi).unwrap());
                env.set(*d, lo + (hi - lo) / 3);
            }
            let target = Target::builtin("nvidia.h200_sxm").unwrap();
            let Ok(a) = analyze(g, &env, Some(&target), &Options::default()) else { continue };
            let Some(reuse) = &a.reuse else { continue };
            let Some(lru) = reuse.gmem_lru.map(u128::from) else { continue };
            assert!(lru <= reuse.through, "{name} {}: {lru} {}", g.name, reuse.through);
            let exact = a.footprints.iter().all(|f| f.read_is.and(f.write_is) == Certainty::Exact);
            if exact && reuse.is == Certainty::Exact {
                let least = bound(&a, "placed", "gmem");
                assert!(least <= lru, "{name} {}: {least} {lru}", g.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "{seen}");
}
