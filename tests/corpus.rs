//! Evaluates the programs of `tests/programs`: each function at a few sizes, and those that
//! `// agrees: f = g` names against each other on the same random inputs. Files are found, never
//! listed. The parity programs, whose figures are stated, are too large to evaluate.

use std::path::{Path, PathBuf};

use tilefoundry::check::inputs::{random, wanted};
use tilefoundry::eval::{Options, evaluate};
use tilefoundry::graph::Graph;
use tilefoundry::hir::load::Sources;
use tilefoundry::session::{Session, Targets, points};
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|e| e.to_string())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files() -> Vec<PathBuf> {
    let mut out = vec![];
    let mut todo = vec![root().join("tests/programs")];
    while let Some(dir) = todo.pop() {
        for e in std::fs::read_dir(dir).unwrap().flatten() {
            match e.path() {
                p if p.ends_with("parity") => {}
                p if p.is_dir() => todo.push(p),
                p if p.extension().is_some_and(|x| x == "tf") => out.push(p),
                _ => {}
            }
        }
    }
    out.sort();
    out
}

/// The least, a middle and the largest size of each dim, all dims together; none reads more than a
/// few hundred.
fn sizes(g: &Graph) -> Vec<Env> {
    let pick = |f: fn(i64, i64) -> i64| -> Vec<(String, Vec<i64>)> {
        let one = |d: &tilefoundry::types::dim::VarId| {
            let i = g.vars.get(*d).unwrap();
            let (lo, hi) = (g.vars.lower(&i.lo).unwrap(), g.vars.upper(&i.hi).unwrap());
            (i.name.clone(), vec![f(lo, hi.min(300))])
        };
        g.dims.iter().map(one).collect()
    };
    let all = [pick(|l, _| l), pick(|l, h| l + (h - l) / 3), pick(|_, h| h)];
    all.iter().flat_map(|s| points(g, s).unwrap()).map(|p| p.env).collect()
}

/// Outputs on random inputs, which are the same for parameters of one name.
fn run(path: &Path, g: &Graph, env: &Env, wide: bool) -> Vec<Tensor> {
    let inputs = random(&wanted(g, env).unwrap(), 1, 1.0).tensors;
    match evaluate(g, env, &inputs, &Options { wide, ..Options::default() }) {
        Ok(o) => o.outputs,
        Err(d) => panic!("{} {}: {d:#?}", path.display(), g.name),
    }
}

fn graphs(path: &Path) -> Vec<Graph> {
    let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
    let s = Session::open(&Disk, name, &[], Targets::default());
    s.roots().into_iter().filter_map(|r| s.compile(r).graph.clone()).collect()
}

/// Distance over the reference's size, both as vectors.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    let (mut d, mut n) = (0.0, 0.0);
    for (x, y) in a.to_f64s().iter().zip(b.to_f64s().iter()) {
        if x != y {
            d += (x - y) * (x - y);
        }
        n += if y.is_finite() { y * y } else { 0.0 };
    }
    d.sqrt() / n.sqrt().max(1.0)
}

/// A few roundings of bf16, or one of the narrowest float where a program has narrower ones.
fn roundings(g: &Graph) -> f64 {
    let of = |d: DType| match d {
        DType::F4e2m1 => 0.25,
        DType::F8e5m2 => 0.125,
        DType::F8e4m3 => 0.0625,
        _ => 0.03,
    };
    g.values().map(|(_, v)| of(v.ty.dtype)).fold(0.0, f64::max)
}

#[test]
fn programs_evaluate() {
    let mut seen = 0;
    for path in files() {
        for g in graphs(&path) {
            for env in sizes(&g) {
                let (a, b) = (run(&path, &g, &env, false), run(&path, &g, &env, true));
                for (i, (x, y)) in a.iter().zip(&b).enumerate() {
                    let (d, at) = (distance(x, y), path.display());
                    let most = roundings(&g);
                    assert!(d <= most, "{at} {} output {i}: {d} from the f64 evaluation", g.name);
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn stated_pairs_agree() {
    let mut seen = 0;
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let pairs = text.lines().filter_map(|l| l.strip_prefix("// agrees: ")?.split_once(" = "));
        let all = graphs(&path);
        for (f, g) in pairs {
            let find = |n: &str| {
                let at = path.display();
                all.iter().find(|g| g.name == n).unwrap_or_else(|| panic!("{at} has no `{n}`"))
            };
            let (f, g) = (find(f), find(g));
            for env in sizes(f) {
                let (a, b) = (run(&path, f, &env, false), run(&path, g, &env, false));
                assert_eq!(a.len(), b.len(), "{}", path.display());
                for (i, (x, y)) in a.iter().zip(&b).enumerate() {
                    let at = path.display();
                    assert_eq!((x.dtype(), x.shape()), (y.dtype(), y.shape()), "{at}");
                    // the order of a sum may differ, and with it the last place of bf16
                    let (d, most) =
                        (distance(x, y), if x.dtype().bits() < 32 { 4e-3 } else { 2e-6 });
                    assert!(d <= most, "{at}: output {i} of {} is {d} from {}", f.name, g.name);
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
