//! Analyses of whole programs: every figure that a file of the corpus states as
//! `// cost: gmem.read = 123`, and every function of the samples at a few sizes. Files are found,
//! never listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tilefoundry::analysis::record::Ratio;
use tilefoundry::analysis::{
    Analysis, Certainty, Options, Show, analyze, data_vars, refusals, text,
};
use tilefoundry::graph::Graph;
use tilefoundry::hir::load::Sources;
use tilefoundry::session::{MemorySources, Selection, Session, Targets, points};
use tilefoundry::target::{RateSet, Target};
use tilefoundry::types::dim::Env;

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|e| e.to_string())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut out = vec![];
    let mut todo = vec![root().join(folder)];
    while let Some(dir) = todo.pop() {
        for e in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match e.path() {
                p if p.is_dir() => todo.push(p),
                p if p.extension().is_some_and(|x| x == "tf") => out.push(p),
                _ => {}
            }
        }
    }
    out.sort();
    out
}

/// The functions of a file that compile, with their targets.
fn with_graphs(path: &Path, f: &mut dyn FnMut(&Session, &Graph, Option<&Target>)) {
    let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
    let s = Session::open(&Disk, name, &[], Targets::default());
    for r in s.roots() {
        let c = s.compile(r);
        let module =
            r.module.map(|m| tilefoundry::hir::ItemRef { file: r.file, module: None, item: m });
        let target = module.and_then(|m| s.target(m));
        if let Some(g) = &c.graph {
            f(&s, g, target.as_deref());
        }
    }
}

/// Values of `// key: a = b`.
fn comments(src: &str, key: &str) -> Vec<(String, String)> {
    let lines = src.lines().filter_map(|l| l.trim().strip_prefix("// ")?.strip_prefix(key));
    let pairs = lines.filter_map(|l| l.strip_prefix(": ")?.split_once('='));
    pairs.map(|(a, b)| (a.trim().to_string(), b.trim().to_string())).collect()
}

#[test]
fn stated_figures_hold() {
    let (mut seen, mut wrong) = (0, vec![]);
    for path in files("tests/programs").into_iter().chain(files("tests/samples")) {
        let src = std::fs::read_to_string(&path).unwrap();
        let costs = comments(&src, "cost");
        if costs.is_empty() {
            continue;
        }
        let sizes: Vec<(String, Vec<i64>)> =
            comments(&src, "dim").into_iter().map(|(n, v)| (n, vec![v.parse().unwrap()])).collect();
        let mut found: Vec<(String, Analysis)> = vec![];
        with_graphs(&path, &mut |_, g, t| {
            for p in points(g, &sizes).unwrap_or_default() {
                found.push((g.name.clone(), analyze(g, &p.env, t, &Options::default()).unwrap()));
            }
        });
        for (figure, want) in costs {
            let (func, figure) = match figure.split_once(": ") {
                // `Module.func: figure`
                Some((f, p)) => (f.rsplit('.').next(), p),
                None => (None, figure.as_str()),
            };
            let mut named = found.iter().filter(|(n, _)| func.is_none_or(|f| f == n));
            let got = named.next().and_then(|(_, a)| a.figure(figure));
            seen += 1;
            if got.map(|n| n.to_string()) != Some(want.replace('_', "")) {
                wrong.push(format!("{}: {figure}: stated {want}, found {got:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 30, "{seen} figures");
}

/// Sizes of the samples' dims: the least, a middle and the largest.
fn sizes(g: &Graph) -> Vec<Vec<(String, Vec<i64>)>> {
    let bounds = |d: &tilefoundry::types::dim::VarId| {
        let i = g.vars.get(*d).unwrap();
        (i.name.clone(), g.vars.lower(&i.lo).unwrap(), g.vars.upper(&i.hi).unwrap())
    };
    let all: Vec<(String, i64, i64)> = g.dims.iter().map(bounds).collect();
    let at =
        |f: fn(i64, i64) -> i64| all.iter().map(|(n, l, h)| (n.clone(), vec![f(*l, *h)])).collect();
    vec![at(|l, _| l), at(|l, h| l + (h - l) / 3), at(|_, h| h)]
}

#[test]
fn samples_are_analysed_at_all_sizes() {
    let mut seen = 0;
    let show = std::env::var_os("SHOW_REPORTS").is_some();
    for path in files("tests/samples").into_iter().chain(files("tests/programs")) {
        with_graphs(&path, &mut |s, g, t| {
            for p in sizes(g).iter().filter_map(|z| points(g, z).ok()).flatten() {
                let mut a = match analyze(g, &p.env, t, &Options::default()) {
                    Ok(a) => a,
                    Err(d) => panic!("{} {}: {}", path.display(), g.name, d.message),
                };
                let short = text(&a, s.sources(), Show::all());
                assert!(short.lines().count() < 40, "{short}");
                if show {
                    println!("{}\n{}\n", path.display(), text(&a, s.sources(), Show::all()));
                    for d in refusals(g, &a) {
                        println!("{}\n  help: {:?}", d.message, d.help);
                    }
                }
                a.locate(s.sources());
                let json = serde_json::to_value(&a).unwrap();
                assert_eq!(json["schema"], "tilefoundry.analysis/1");
                assert_eq!(a.fits(), refusals(g, &a).is_empty());
                check(&a);
                seen += 1;
            }
        });
    }
    assert!(seen > 20, "{seen}");
}

/// Layers of two kinds, called in loops and written out: one program. Each of their weights, 12 x 2 x
/// 32 MiB and 4 x 2 x 64 MiB, comes from memory once in either.
#[test]
fn layers_written_out_cost_what_a_loop_of_them_costs() {
    let layer = |name: &str, n: i64| {
        format!(
            "module {name} {{ weight w: bf16[4096, {n}]; weight u: bf16[{n}, 4096]; \
             entry func f(x: bf16[1, 4096]) -> bf16[1, 4096] {{ x + matmul(relu(matmul(x, w)), u) }} }}\n"
        )
    };
    let model = |body: &str| {
        let src = format!(
            "{}{}module M {{ target \"nvidia.h200_sxm\"; child a: A[12]; child b: B[4]; \
             entry func f(x: bf16[1, 4096]) -> bf16[1, 4096] {{ let mut h = x; {body} h }} }}",
            layer("A", 4096),
            layer("B", 8192)
        );
        let s = Session::open(
            &MemorySources::one("m.tf", src.as_str()),
            "m.tf",
            &[],
            Targets::default(),
        );
        let c = s.compile(s.select(&Selection::parse("m.tf:M")).unwrap());
        let g = c.graph.as_ref().unwrap_or_else(|| panic!("{:?}", c.diags));
        let target = Target::builtin("nvidia.h200_sxm").unwrap();
        analyze(g, &Env::default(), Some(&target), &Options::default()).unwrap()
    };
    let looped = model("for i in 0..4 { for j in 0..3 { h = a[i * 3 + j](h); } h = b[i](h); }");
    let calls = |i: usize| {
        format!("h = a[{0}](h); h = a[{0} + 1](h); h = a[{0} + 2](h); h = b[{i}](h);", 3 * i)
    };
    let flat = model(&(0..4).map(calls).collect::<String>());
    let weights = 2.0 * f64::from(12 * 32 + 4 * 64) * f64::from(1 << 20);
    for a in [&looped, &flat] {
        let bound =
            |n: &str| a.roofline.as_ref().unwrap().bound(n, "cold").unwrap().ps.unwrap().as_f64();
        // 4.8e12 B/s
        let least = weights / 4.8;
        assert!(bound("device") >= least && bound("placed") >= bound("device"), "{}", a.program);
        assert!((bound("placed") / least - 1.0).abs() < 0.01, "{}", bound("placed"));
    }
    let time = |a: &Analysis| a.prediction.as_ref().unwrap().ps.as_f64();
    assert!((time(&flat) / time(&looped) - 1.0).abs() < 0.03, "{} {}", time(&flat), time(&looped));
}

/// The examples without the whole models.
fn kernels() -> Vec<PathBuf> {
    let mut all = files("examples");
    all.retain(|p| !p.components().any(|c| c.as_os_str() == "models"));
    all
}

/// Rows below the line that begins with `head`, and those that it says are left out.
fn rows(text: &str, head: &str) -> Option<(usize, usize)> {
    let mut lines = text.lines().skip_while(|l| !l.starts_with(head));
    let more = lines.next()?.split_once("  (").map_or(0, |(_, m)| {
        let (n, rest) = m.split_once(' ').unwrap();
        assert!(rest.starts_with("more with --full"), "{m}");
        n.parse().unwrap()
    });
    // the values below a capacity are no rows of it
    let deep = head == "capacity";
    let row = |l: &&str| !(deep && l.starts_with("    "));
    Some((lines.take_while(|l| l.starts_with("  ")).filter(row).count(), more))
}

/// What the short report leaves out is counted: with it, each part has the rows of the full one.
#[test]
fn rows_that_are_left_out_are_counted() {
    let mut cut = 0;
    for path in kernels() {
        with_graphs(&path, &mut |s, g, t| {
            let Some(p) = sizes(g).iter().find_map(|z| points(g, z).ok()?.pop()) else { return };
            let Ok(a) = analyze(g, &p.env, t, &Options::default()) else { return };
            let short = text(&a, s.sources(), Show::all());
            let full = text(&a, s.sources(), Show { full: true, ..Show::all() });
            for head in ["capacity", "compute", "calls", "bounds at", "largest ops"] {
                let Some((shown, more)) = rows(&short, head) else { continue };
                let of = if head == "largest ops" { "ops" } else { head };
                let all = rows(&full, of).unwrap();
                // a line over several resources is a row of the bounds
                let notes = |t: &str| {
                    rows(t, head).unwrap().0 - a.roofline.as_ref().map_or(0, |r| r.bounds.len())
                };
                let all = if head == "bounds at" { (all.0 - notes(&full), all.1) } else { all };
                let shown = if head == "bounds at" { 2 } else { shown };
                assert_eq!((shown + more, all.1), (all.0, 0), "{head}:\n{short}\n{full}");
                cut += more;
            }
            let findings = short.lines().find(|l| l.starts_with("advice"));
            let told = findings.map_or(0, |l| {
                l.split_once("  (")
                    .map_or(0, |(_, m)| m.split(' ').next().unwrap().parse().unwrap())
            });
            let shown = short
                .lines()
                .filter(|l| a.advice.iter().any(|f| l.starts_with(&format!("  {}: ", f.kind))));
            assert_eq!(shown.count() + told, a.advice.len(), "{short}");
        });
    }
    assert!(cut > 100, "{cut}");
}

/// What a report calls its figures: the columns of its tables, the words before a figure, and the
/// resources.
fn labels(report: &str, out: &mut BTreeSet<String>) {
    let mut table = "";
    for line in report.lines().skip(1).filter(|l| !l.is_empty()) {
        let plain = line.split("  (").next().unwrap();
        let columns: Vec<&str> =
            plain.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        if !line.starts_with(' ') {
            table = columns[0];
            let figure = |c: char| c.is_ascii_digit() || ":;(".contains(c);
            let named = ["launch", "one position of", "note", "at least", "about", "predicted"];
            match named.iter().find(|n| line.starts_with(*n)) {
                Some(n) => drop(out.insert(n.to_string())),
                None if columns.len() > 1 => out.extend(columns.iter().map(|c| c.to_string())),
                None => drop(out.insert(plain.split(figure).next().unwrap().trim().to_string())),
            }
        } else if ["compute", "memory"].contains(&table) && !line.starts_with("   ") {
            let first = columns[0].split(['.', ' ']).next().unwrap();
            out.insert(first.to_string());
        }
    }
}

/// The book says what each label of a full report means.
#[test]
fn labels_are_in_the_book() {
    let (mut all, mut seen) = (BTreeSet::new(), String::new());
    for path in kernels() {
        with_graphs(&path, &mut |s, g, t| {
            let Some(p) = sizes(g).iter().find_map(|z| points(g, z).ok()?.pop()) else { return };
            let Ok(a) = analyze(g, &p.env, t, &Options::default()) else { return };
            let full = text(&a, s.sources(), Show { full: true, ..Show::all() });
            labels(&full, &mut all);
            seen += &full;
        });
    }
    // those inside of lines
    let inside = [
        "time goes to",
        "most busy",
        "read again",
        "still there",
        "with all of it in cache",
        "fit a unit",
        "limited by",
        "bound by",
        "busiest",
        "distinct",
        "cold",
        "warm",
        "placed",
        "device",
        "gmem in flight",
        "rates",
        "sustained",
        "upper_bound",
        "the placement's bound",
    ];
    for label in inside {
        assert!(seen.contains(label), "no report says `{label}`");
        all.insert(label.to_string());
    }
    assert!(all.len() > 35, "{all:?}");
    let mut missing = vec![];
    for label in &all {
        let words: Vec<String> = label.split(' ').map(String::from).collect();
        let found = tilefoundry::book::find(&words).unwrap_or_default();
        let place = tilefoundry::book::spec(&["analyses".into(), "labels of a report".into()]);
        let row = format!("`{label}`");
        let first = found.lines().next().unwrap_or_default();
        if !place.is_ok_and(|t| t.contains(&row)) || !first.starts_with("tilefoundry spec") {
            missing.push(label);
        }
    }
    assert!(missing.is_empty(), "without a row: {missing:?}");
}

/// Thousandths of a launch that its bound may add to what was simulated.
const FILLED: u64 = 100;

/// A prediction is no less than the bound at its rates, and no more than all one after the other.
fn check_prediction(a: &Analysis) {
    let Some(p) = &a.prediction else { return };
    let name = (&a.program, &a.dims);
    assert!(p.bound_ps.is_none_or(|b| b <= p.ps), "{name:?}: {:?} < {:?}", p.ps, p.bound_ps);
    for l in &p.launches {
        // a bound takes the latency of `gmem` also for what the last cache has
        let bound = l.critical.iter().any(|c| c.resource.starts_with("bound of"));
        let most = bound || l.ps <= l.serial_ps;
        assert!(most, "{name:?} {}: {:?} > {:?}", l.name, l.ps, l.serial_ps);
        assert!(l.overhead_ps <= l.ps && l.tail >= 1 && l.waves >= 1, "{name:?} {}", l.name);
        let end = l.lanes.iter().flat_map(|x| &x.intervals).map(|i| (i.start_ps, i.end_ps)).max();
        assert!(end.is_some_and(|(s, e)| s <= e), "{name:?} {}: nothing is shown", l.name);
    }
    assert!(p.warm_ps <= p.ps, "{name:?}: {:?} > {:?}", p.warm_ps, p.ps);
    // the bound completes a simulation, it does not stand for one
    for c in p.launches.iter().flat_map(|l| &l.critical) {
        let filled = c.resource.starts_with("bound of") && c.per_mille > FILLED;
        assert!(!filled, "{name:?}: {} thousandths are the {}", c.per_mille, c.resource);
    }
    let all = p.stages.iter().map(|s| s.ps).fold(Ratio::ZERO, Ratio::plus);
    assert_eq!(all, p.ps, "{name:?}: the stages add up");
}

/// What holds of every analysis.
fn check(a: &Analysis) {
    check_prediction(a);
    for w in &a.costs.work {
        assert!(w.amount.grid <= w.amount.total, "{}: {w:?}", a.program);
        for u in &w.amount.per_unit {
            assert!(u.max as f64 >= u.mean.as_f64() * 0.999, "{}: {w:?}", a.program);
        }
        let ops: u128 =
            a.ops.iter().filter_map(|o| o.costs.work(&w.resource)).map(|x| x.total).sum();
        assert_eq!(ops, w.amount.total, "{}", a.program);
    }
    for f in &a.footprints {
        assert!(f.read <= f.size && f.write <= f.size, "{f:?}");
    }
    for p in &a.capacity {
        assert!(p.live_in_place <= p.live && p.allocated_in_place <= p.allocated, "{p:?}");
    }
    for r in a.roofline.iter().flat_map(|r| &r.bounds) {
        assert_eq!(r.ps, r.rows.iter().filter_map(|x| x.ps).max());
    }
}

#[test]
fn a_stated_value_replaces_the_end_of_a_range() {
    let mut seen = 0;
    with_graphs(&root().join("tests/samples/paged_decode.tf"), &mut |_, g, t| {
        let flops = |env: &Env| {
            let a = analyze(g, env, t, &Options::default()).unwrap();
            let w = a.costs.work("tensor.bf16").unwrap();
            (w.total, w.is)
        };
        let lens = data_vars(g, "lens");
        assert!(!lens.is_empty());
        let mut env = Env::default();
        let (all, is) = flops(&env);
        assert_eq!(is, Certainty::UpperBound);
        lens.iter().for_each(|v| env.set(*v, 8192 / 4));
        assert_eq!(flops(&env), (all / 4, Certainty::Exact));
        seen += 1;
    });
    assert_eq!(seen, 1);
}

/// 128 threads and 16 fit a unit by the limit of 2048 threads: 132 units hold 2112 positions.
#[test]
fn a_grid_that_waits_for_itself_is_resident_or_refused() {
    let text = |positions: u32| {
        format!(
            r#"module M {{
    target "nvidia.h200_sxm";
    topology cta, thread = 128;

    entry func f(x: f32[{positions}, 16]) -> f32[16] {{
        mesh g = cta[p: {positions}] {{
            let xr = reshard(x, rmem[{positions} @ g.p, 16]);
            reshard(complete(sum(xr, dim = 0)), gmem)
        }}
    }}
}}
"#
        )
    };
    for (positions, fits) in [(2112, true), (2113, false)] {
        let sources = tilefoundry::session::MemorySources::one("m.tf", text(positions));
        let s = Session::open(&sources, "m.tf", &[], Targets::default());
        let g = s.compile(s.roots()[0]);
        let g = g.graph.as_ref().unwrap();
        let t = Target::builtin("nvidia.h200_sxm").unwrap();
        let a = analyze(g, &Env::default(), Some(&t), &Options::default()).unwrap();
        let codes: Vec<_> = refusals(g, &a).iter().map(|d| d.code).collect();
        assert_eq!(a.fits(), fits, "{positions}");
        let want = if fits { vec![] } else { vec![tilefoundry::diag::Code::GridNotResident] };
        assert_eq!(codes, want);
    }
}

/// One product as 132 persistent CTAs with roles, as 4352 positions on the CTAs that are resident,
/// and as 4352 CTAs: the same work, so that times differ by waves, tails and reuse only.
#[test]
fn the_form_of_a_grid_changes_a_prediction_little() {
    let text = std::fs::read_to_string(root().join("tests/samples/gemm.tf")).unwrap();
    let plain = text.replace("#[persistent]\n", "\n");
    assert_ne!(text, plain);
    let predicted = |text: &str, module: &str| {
        let sources = MemorySources::one("m.tf", text);
        let s = Session::open(&sources, "m.tf", &[], Targets::default());
        let func = s.select(&Selection::parse(&format!("m.tf:{module}"))).unwrap();
        let c = s.compile(func);
        let t = Target::builtin("nvidia.h200_sxm").unwrap();
        let a = analyze(c.graph.as_ref().unwrap(), &Env::default(), Some(&t), &Options::default());
        a.unwrap().prediction.unwrap()
    };
    let all =
        [predicted(&text, "Position"), predicted(&text, "Global"), predicted(&plain, "Global")];
    let ps: Vec<f64> = all.iter().map(|p| p.ps.as_f64()).collect();
    // a tile: 2 x 128 x 256 x 5120 flop, (128 + 256) x 5120 values read and 128 x 256 written of
    // 2 bytes; 33 rounds of 132 tiles at the measured rates
    let t = Target::builtin("nvidia.h200_sxm").unwrap();
    let rate = |r: &str| t.rate(RateSet::Sustained, r).map_or(f64::INFINITY, |f| f.value);
    let flop = 2.0 * 128.0 * 256.0 * 5120.0 / rate("tensor.bf16");
    let bytes = 2.0 * ((128.0 + 256.0) * 5120.0 + 128.0 * 256.0) / rate("l2");
    let least = 33.0 * 132.0 * flop.max(bytes) * 1e12;
    for p in &ps {
        assert!((least..1.1 * least).contains(p), "{ps:?} and {least}");
    }
    assert_eq!(ps[1], ps[2]);
}
