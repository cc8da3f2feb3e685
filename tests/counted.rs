//! What is easily counted wrongly: unfinished reductions, tails, padding, gathers, replication.

use tilefoundry::analysis::{Analysis, Certainty, Options, analyze, data_vars};
use tilefoundry::session::{MemorySources, Selection, Session, Targets};
use tilefoundry::target::Target;
use tilefoundry::types::dim::Env;

fn open<T>(body: &str, f: impl FnOnce(Result<Analysis, Vec<String>>) -> T) -> T {
    let text = format!("module M {{ target \"nvidia.h200_sxm\";\n{body} }}");
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    let root = session.roots()[0];
    let compiled = session.compile(root);
    let Some(g) = compiled.graph.as_ref() else {
        return f(Err(session.diagnostics_of(root).into_iter().map(|d| d.message).collect()));
    };
    let target = Target::builtin("nvidia.h200_sxm").unwrap();
    f(Ok(analyze(g, &Env::default(), Some(&target), &Options::default()).unwrap()))
}

fn analysed(body: &str) -> Analysis {
    open(body, |a| a.unwrap())
}

fn figure(a: &Analysis, path: &str) -> u128 {
    a.figure(path).unwrap()
}

/// A row sum over 128 CTAs of 32 threads, `end` of it.
fn reduced(end: &str) -> String {
    format!(
        "topology cta = 128, thread = 32;
         entry func f(x: f32[4, 4096]) -> f32[4] {{
             mesh g = cta[p: 128], t = thread[x: 32] {{
                 let s = reshard(x, rmem[4, 4096 @ (g.p, t.x)]);
                 let total = sum(s, dim = 1);
                 {end}
             }}
         }}"
    )
}

#[test]
fn a_reduction_over_ctas_is_neither_complete_nor_free() {
    // what needs the whole sum refuses the shares
    let refused = open(&reduced("reshard(exp(total), gmem)"), |a| a.unwrap_err());
    assert!(refused.iter().any(|m| m.contains("partial") && m.contains("g.p")), "{refused:?}");

    // finished by name: every CTA sends and receives, and the grid waits for itself
    let a = analysed(&reduced("reshard(complete(total), gmem)"));
    // an all-reduce of b = 16 B over n = 128: each sends at least 2 b (n - 1) / n = 31.75 B
    assert_eq!(figure(&a, "communication.cta"), 32 * 128);
    assert!(a.launches[0].barrier.is_some());

    // the same bytes reach a CTA however many threads share them: of 2048 B each of 8 CTAs lacks 7/8
    let split = "topology cluster = 33, cta = 8, thread = 128;
         entry func f(w: bf16[1024]) -> f32[264, 1024] {
             let mut o = empty(f32[264, 1024]);
             mesh c = cluster[i: 33], g = cta[row: 8], t = thread[l: 128] {
                 let ws = reshard(w, smem[1024 @ g.row]);
                 o[c.i * 8 + g.row, ..] = cast(reshard(ws, rmem[1024 @ t.l]), f32);
             }
             o
         }";
    assert_eq!(figure(&analysed(split), "communication.cta"), 264 * 2048 / 8 * 7);

    // finished by the copy: 4096 threads hold 16 B each, and each CTA adds its share to the result
    let a = analysed(&reduced("reshard(total, gmem)"));
    assert_eq!(figure(&a, "gmem.write.total"), 128 * 16);
    assert_eq!(figure(&a, "gmem.write"), 16);
    let copy = a.ops.iter().rfind(|o| o.op == "reshard").unwrap();
    assert_eq!(copy.costs.traffic("rmem").unwrap().read.total, 4096 * 16);
    // 32 threads of a CTA: each sends at least b (n - 1) / n = 15.5 B
    assert_eq!(figure(&a, "communication.thread"), 16 * 4096);
    let c = a.costs.communication.iter().find(|c| c.level == "thread").unwrap();
    assert_eq!(c.is, Certainty::LowerBound);
    // shares are no copies of one another
    assert!(a.ops.iter().all(|o| o.replicated_over.is_empty()));
}

#[test]
fn tails_and_padding_run() {
    // 90 columns by 3 slots on each of 32 threads: 96 run, 90 exist
    let a = analysed(
        "topology cta = 1, thread = 32;
         entry func f(x: f32[4, 90]) -> f32[4, 90] {
             mesh g = cta[r: 1], t = thread[x: 32] {
                 reshard(exp(reshard(x, rmem[4, pad(3, 32 @ t.x)])), gmem)
             }
         }",
    );
    assert_eq!((figure(&a, "work.sfu"), figure(&a, "work.sfu.total")), (360, 384));
    assert_eq!((figure(&a, "gmem.read.total"), figure(&a, "gmem.write.total")), (1440, 1440));
    // tiles of 4 over 10: the third runs whole, and 10 elements are touched
    let a = analysed(
        "topology cta = 1;
         entry func f(x: f32[10]) -> f32[4] {
             let mut y = empty(f32[4]);
             mesh g = cta[r: 1] {
                 let mut acc = zeros(f32[4]);
                 for k in tile(10, 4, pad = 0.0) { acc = acc + x[k]; }
                 y[0..4] = acc;
             }
             y
         }",
    );
    assert_eq!(figure(&a, "work.fma.f32.total"), 12);
    assert_eq!(figure(&a, "footprint.x.read"), 40);
}

#[test]
fn gathers_are_bounds() {
    let a = analysed(
        "topology cta = 4;
         entry func f(pool: f32[64, 8], ids: i32[16] range 0..64) -> f32[16, 8] {
             index_select(pool, ids, dim = 0)
         }",
    );
    let pool = a.footprints.iter().find(|f| f.buffer == "pool").unwrap();
    // 16 rows at most, of 64
    assert_eq!((pool.read, pool.read_is), (16 * 32, Certainty::UpperBound));
    let ids = a.footprints.iter().find(|f| f.buffer == "ids").unwrap();
    assert_eq!((ids.read, ids.read_is), (64, Certainty::Exact));
    assert_eq!(a.costs.traffic("gmem").unwrap().read.is, Certainty::UpperBound);
    assert_eq!(a.reuse.unwrap().is, Certainty::UpperBound);
    // pages by a table
    let a = analysed(
        "topology cta = 4;
         entry func f(pool: f32[64, 4, 8], table: i32[4, 3] range 0..64) -> f32[4, 8] {
             let mut y = empty(f32[4, 8]);
             mesh g = cta[s: 4] {
                 let mut acc = zeros(f32[8]);
                 for p in 0..3 { acc = acc + sum(pool[table[g.s, p]], dim = 0); }
                 y[g.s] = acc;
             }
             y
         }",
    );
    let pool = a.footprints.iter().find(|f| f.buffer == "pool").unwrap();
    // 12 pages of 128 B at most
    assert_eq!((pool.read, pool.read_is), (12 * 128, Certainty::UpperBound));
}

#[test]
fn replication_is_told_apart_from_work() {
    let split = |place: &str| {
        analysed(&format!(
            "topology cta = 2, thread = 8;
             entry func f(x: f32[16, 4]) -> f32[16, 4] {{
                 mesh g = cta[a: 2], t = thread[x: 8] {{
                     let v = reshard(x, rmem[{place}, 4]);
                     reshard(exp(v), gmem)
                 }}
             }}"
        ))
    };
    let of = |a: &Analysis| {
        let o = a.ops.iter().find(|o| o.op == "exp").unwrap();
        (figure(a, "work.sfu"), figure(a, "work.sfu.total"), o.replicated_over.clone())
    };
    assert_eq!(of(&split("16 @ (g.a, t.x)")), (64, 64, vec![]));
    assert_eq!(of(&split("16 @ g.a")), (64, 64 * 8, vec!["t.x".to_string()]));
    let all = vec!["g.a".to_string(), "t.x".to_string()];
    assert_eq!(of(&split("16")), (64, 64 * 16, all));
}

/// Windows of one buffer: halves that overlap, and windows of different loops.
#[test]
fn unions_of_windows_are_exact() {
    let a = analysed(
        "topology cta = 4;
         entry func f(x: f32[100]) -> f32[60] {
             let y = x[..60] + x[40..];
             y
         }",
    );
    let x = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
    assert_eq!((x.read, x.read_is), (400, Certainty::Exact));
    let a = analysed(
        "topology cta = 4;
         entry func f(x: f32[100]) -> f32[4, 2] {
             let mut y = empty(f32[4, 2]);
             mesh g = cta[p: 4] {
                 let mut acc = zeros(f32[2]);
                 for i in 0..3 { acc = acc + x[i * 8..i * 8 + 2]; }
                 for i in 0..5 { acc = acc + x[i * 6 + g.p..i * 6 + g.p + 2]; }
                 y[g.p] = acc;
             }
             y
         }",
    );
    // 0 1, 8 9, 16 17; and i * 6 + 0..5 for i < 5: 0..5, 6..11, 12..17, 18..23, 24..29: 25 with 17
    let mut seen = std::collections::BTreeSet::new();
    (0..3).for_each(|i| seen.extend(i * 8..i * 8 + 2));
    (0..5).for_each(|i| (0..4).for_each(|p| seen.extend(i * 6 + p..i * 6 + p + 2)));
    let x = a.footprints.iter().find(|f| f.buffer == "x").unwrap();
    assert_eq!((x.read, x.read_is), (seen.len() as u128 * 4, Certainty::Exact));
}

/// The paged decode of `examples/`, all sequences of `len` tokens, or of as many as there can be.
fn paged(len: Option<i64>) -> Analysis {
    let path = format!("{}/examples/paged_decode/paged_decode.tf", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let s = Session::open(&MemorySources::one("m.tf", text), "m.tf", &[], Targets::default());
    let c = s.compile(s.select(&Selection::parse("m.tf:Placed")).unwrap());
    let g = c.graph.as_ref().unwrap();
    let mut env = Env::default();
    for v in data_vars(g, "lens") {
        len.into_iter().for_each(|n| env.set(v, n));
    }
    let target = Target::builtin("nvidia.h200_sxm").unwrap();
    analyze(g, &env, Some(&target), &Options::default()).unwrap()
}

/// 16 sequences, 8 KV heads and 8 parts are 1024 CTAs of 4 x 32 threads. A part takes every 8th of
/// the P = ceil(len / 16) pages of its sequence, so that all together make 16 x 8 x P trips.
///
/// A trip, by the CTA. Scores are f32[4, 16] with a row a warp, and every lane has its row, so that
/// 32 x 64 = 2048 are worked on; the row's maximum, sum and weight are 128, and the result, f32[4,
/// 128] with 4 columns a lane, 512.
///
/// * multiply-adds, on scalar units for each lane has products of its own: 4 x 16 x 128 for the
///   scores, as many for the result, 16,384
/// * other fma: scale, mask, row maximum, minus the maximum, row sum, 5 x 2048; maximum, its
///   difference, `l * c` and `+`, 4 x 128; `acc * c` and `+`, 2 x 512: 11,776
/// * int: the token numbers, 16 in each of 128 threads, and as many comparisons: 4096
/// * sfu: 2048 + 128; cvt: 2048
/// * gmem reads: a page of K and one of V, 4096 B each, the length for the mask and the page's number
///   in the table, 4 B each; and once in each CTA the length for the bound of the loop, 4 B
/// * smem: 8192 B written; each of 4 warps reads them, 32,768 B
/// * between threads: 64 B of scores a thread are summed over 32 lanes, 2 x 64 x 31/32 B = 124 B
///
/// The combine has 128 CTAs of as many threads. Its weights are 8 parts a lane, 1024: a maximum, a
/// difference, `* l` and a sum are 4096 fma, and 1024 sfu; the results 8 x 512, twice, and a
/// division: 8192 + 512 fma, 512 sfu, 512 cvt. It reads 16 + 16 + 2048 B for each of 1024 parts.
#[test]
fn what_data_decides_is_a_bound_and_exact_at_its_value() {
    let (kv, ctas) = (16 * 8, 1024);
    let all = paged(None);
    let some = paged(Some(1000));
    // 8192 / 16 and ceil(1000 / 16)
    for (a, pages, is) in [(&all, 512, Certainty::UpperBound), (&some, 63, Certainty::Exact)] {
        let trips = kv * pages;
        let work = |r: &str| a.costs.work(r).unwrap();
        for (r, trip, combine) in [
            ("fma.f32", 16_384 + 11_776, 4096 + 8192 + 512),
            ("int", 4096, 0),
            ("sfu", 2048 + 128, 1024 + 512),
            ("cvt", 2048, 512),
        ] {
            assert_eq!((work(r).total, work(r).is), (trip * trips + combine * kv, is), "{r}");
        }
        assert!(a.costs.work("tensor.bf16").is_none());
        // 2 flops a multiply-add
        let flops = figure(a, "flops.f32.total");
        assert_eq!(flops, work("fma.f32").total + 16_384 * trips);

        let gmem = a.costs.traffic("gmem").unwrap();
        let parts = (16 + 16 + 2048) * ctas;
        assert_eq!(gmem.read.total, trips * (2 * 4096 + 4 + 4) + ctas * (1024 + 4) + parts);
        // q is whole in the combine's results: 4 x 128 bf16 of each of 128 heads
        assert_eq!((gmem.write.total, gmem.write.is), (parts + kv * 1024, Certainty::Exact));
        let smem = a.costs.traffic("smem").unwrap();
        assert_eq!((smem.read.total, smem.write.total), (trips * 32_768, trips * 8192));
        let threads = a.costs.communication.iter().find(|c| c.level == "thread").unwrap();
        assert_eq!(threads.total, trips * 128 * 124);

        // which pages are read is the table's to say, whatever the lengths
        for name in ["kc", "vc"] {
            let f = a.footprints.iter().find(|f| f.buffer == name).unwrap();
            assert_eq!((f.read, f.read_is), (trips * 4096, Certainty::UpperBound), "{name}");
        }
        let placed = a.roofline.as_ref().unwrap().bound("placed", "cold").unwrap();
        assert_eq!((placed.binds.as_str(), placed.rows[0].is), ("gmem", Certainty::UpperBound));
    }
    // of 63 pages the first parts have 8 and the last 7
    let int = some.costs.work("int").unwrap();
    let cta = int.per_unit.iter().find(|u| u.level == "cta").unwrap();
    assert_eq!((cta.max, cta.mean.num), (8 * 4096, 63 * 4096 / 8));
    assert!(some.prediction.unwrap().ps < all.prediction.unwrap().ps);
}

/// x and the result, f32[64, 64], are 16,384 B each, whatever view of it the program gives.
#[test]
fn a_view_of_what_was_made_is_a_result() {
    for end in ["y", "reshape(y, [4096])", "transpose(reshape(y, [8, 8, 64]), [1, 0, 2])"] {
        let ty = ["f32[64, 64]", "f32[4096]", "f32[8, 8, 64]"][end.matches('(').count()];
        let a =
            analysed(&format!("entry func f(x: f32[64, 64]) -> {ty} {{ let y = exp(x); {end} }}"));
        let device = a.roofline.as_ref().unwrap().bound("device", "cold").unwrap();
        let gmem = device.rows.iter().find(|r| r.resource == "gmem").unwrap();
        assert_eq!(gmem.amount, 2 * 16_384, "{end}");
    }
}

/// 33 clusters of 4 CTAs: w is the same for all, its rows are one for each CTA.
fn loads(hints: &str, window: &str) -> Result<Analysis, Vec<String>> {
    let text = format!(
        "module M {{ target \"nvidia.h200_sxm\";
         topology cluster = 33, cta = 4, thread = 128;
         entry func f(w: bf16[132, 1000]) -> f32[132, 1000] {{
             let mut o = empty(f32[132, 1000]);
             mesh c = cluster[i: 33], g = cta[row: 4], t = thread[l: 128] {{
                 {hints}
                 let ws = reshard(w[{window}, ..], smem);
                 o[c.i * 4 + g.row, ..] = cast(ws, f32);
             }}
             o
         }} }}"
    );
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    let root = session.roots()[0];
    let said = |d: Vec<tilefoundry::diag::Diagnostic>| d.into_iter().map(|d| d.message).collect();
    let compiled = session.compile(root);
    let g = compiled.graph.as_ref().ok_or_else(|| said(session.diagnostics_of(root)))?;
    let wrong = session.diagnostics_of(root);
    if !wrong.is_empty() {
        return Err(said(wrong));
    }
    let target = Target::builtin("nvidia.h200_sxm").unwrap();
    let options = Options::default();
    analyze(g, &Env::default(), Some(&target), &options).map_err(|d| said(vec![d]))
}

/// A cluster's CTAs that need the same part get it by one load: each fetches a quarter, for all. The
/// parts that arrive, and what is distinct, stay as they are.
#[test]
fn one_load_reaches_the_ctas_of_a_cluster() {
    let each = loads("#[via(tma)]", "c.i").unwrap();
    let one = loads("#[via(tma), multicast]", "c.i").unwrap();
    assert_eq!(figure(&each, "gmem.read.total"), 33 * 4 * 2000);
    assert_eq!(figure(&one, "gmem.read.total"), 33 * 2000);
    for a in [&each, &one] {
        let row = a.ops.iter().find(|o| o.op == "reshard").unwrap();
        assert_eq!(row.costs.traffic("gmem").unwrap().read.logical, 33 * 2000);
        assert_eq!(row.costs.traffic("smem").unwrap().write.total, 33 * 4 * 2000);
    }
}

#[test]
fn a_load_for_several_needs_several() {
    let refused = |hints: &str, window: &str| loads(hints, window).unwrap_err().join("; ");
    let own = refused("#[via(tma), multicast]", "c.i * 4 + g.row");
    assert!(own.contains("no two positions that this load could reach"), "{own}");
    let plain = refused("#[multicast]", "c.i");
    assert!(plain.contains("`multicast` needs the instruction that copies"), "{plain}");
    let one = refused("#[via(cp_async), multicast]", "c.i");
    assert!(one.contains("a copy by `cp_async` reaches one position only"), "{one}");
}

/// Bytes of `gmem` in the `placed` bound. The last cache of the device has 60 MiB.
fn at_least(body: &str) -> u128 {
    let a = analysed(body);
    let bound = a.roofline.as_ref().unwrap().bound("placed", "cold").unwrap();
    bound.rows.iter().find(|r| r.resource == "gmem").unwrap().amount
}

#[test]
fn a_bound_holds_for_the_best_of_caches() {
    const MIB: u128 = 1 << 20;
    // w is kept while s goes by, which nothing reads again
    let kept =
        "entry func f(w: f32[8, 1048576], s: f32[32, 1048576]) -> (f32[8], f32[32], f32[8]) {
        (sum(w, dim = 1), sum(s, dim = 1), sum(w * w, dim = 1)) }";
    let small = 4 * (8 + 32 + 8);
    // and so is w * w, of 32 MiB
    assert_eq!(at_least(kept), (32 + 128) * MIB + small);
    // 128 MiB made and read again: all but 60 are stored and fetched, and the input is read once
    let chain = "entry func f(x: f32[32, 1048576]) -> f32[32] { sum(x * x, dim = 1) }";
    assert_eq!(at_least(chain), (128 + 68 + 68) * MIB + 4 * 32);
    // an input that is read twice: all but 60 MiB come again
    let twice = "entry func f(x: f32[32, 1048576]) -> (f32[32], f32[32]) {
        (sum(x, dim = 1), max(x, dim = 1)) }";
    assert_eq!(at_least(twice), (128 + 68) * MIB + 4 * 64);
}
