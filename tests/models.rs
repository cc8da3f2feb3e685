//! The models of `examples/models` at small sizes, against the classes of `transformers` in f32.
//! Folders of `tests/models` are found, never listed; `make.py` there writes them.
//!
//! A decoder runs greedily from the first token on: its tokens must be those of the class, and the
//! output of every layer and the logits of every step within a bound. An encoder runs once.
//!
//! The bound is what `check --suggest` derives for one op, over all ops on the way: a sum of N terms
//! in f32 is off by `sqrt(N) u` of its norm, `u = 2^-24`, any other op by u, such errors are
//! independent, so they add up to the root of the sum of their squares, and each side has them. Of
//! the ways to the output the one with the largest sum counts, those through the states that the
//! steps before left among them, and each layer has its share of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use tilefoundry::check::inputs::{Wanted, key_at, wanted};
use tilefoundry::cli::Disk;
use tilefoundry::eval::{Options, evaluate};
use tilefoundry::graph::{Graph, Node, NodeKind, ParamKind, RegionId, ValueId};
use tilefoundry::hir::load::Settings;
use tilefoundry::ops::{Call, Role};
use tilefoundry::session::{Selection, Session, Targets};
use tilefoundry::tensorio::Checkpoint;
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

type Result<T> = std::result::Result<T, Failed>;

#[derive(serde::Deserialize)]
struct Case {
    model: String,
    module: String,
    entry: String,
    /// Of all weights at the published config.
    bytes: u64,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A compiled function with its weights.
struct Program {
    graph: Graph,
    weights: Vec<(String, Tensor)>,
    /// The tensors of the checkpoint that they are.
    keys: Vec<String>,
}

/// A case with what the class computed.
struct Run {
    case: Case,
    session: Session,
    dir: PathBuf,
    checkpoint: Checkpoint,
    expected: Checkpoint,
}

impl Run {
    fn open(dir: &Path) -> Result<Run> {
        let case: Case = serde_json::from_slice(&std::fs::read(dir.join("case.json"))?)?;
        let expected = Checkpoint::open(&dir.join("expected.safetensors"))?;
        let checkpoint = Checkpoint::open(&dir.join("model.safetensors"))?;
        let file = root().join(format!("examples/models/{0}/{0}.tf", case.model));
        let configs = [("cfg".to_string(), dir.join("config.json").display().to_string())];
        // caches as long as the run
        let steps = expected.shape("tokens").map(|t| t.iter().sum::<usize>() - 1);
        let consts: Vec<_> = steps.iter().map(|n| ("MAX".to_string(), n.to_string())).collect();
        let settings = Settings { consts: &consts, configs: &configs };
        let file = file.display().to_string();
        let session = Session::open_with(&Disk, &file, &settings, Targets::default());
        if !session.wrong_settings.is_empty() {
            return Err(session.wrong_settings.join("\n").into());
        }
        Ok(Run { case, session, dir: dir.to_path_buf(), checkpoint, expected })
    }

    fn expected(&self, name: &str) -> Result<Tensor> {
        Ok(self.expected.get(name)?.ok_or_else(|| format!("no `{name}` is expected"))?)
    }

    fn program(&self, func: &str, dims: &[(&str, i64)]) -> Result<Program> {
        let module = Some(self.case.module.clone());
        let sel = Selection { file: String::new(), module, func: Some(func.to_string()) };
        let f = self.session.select(&sel)?;
        let said = self.session.diagnostics_of(f).into_iter().map(|d| d.message);
        let said: Vec<String> = said.collect();
        let graph = self.session.compile(f).graph.clone().ok_or_else(|| said.join("\n"))?;
        let env = env(&graph, dims)?;
        let (mut weights, mut keys) = (vec![], vec![]);
        for w in wanted(&graph, &env).map_err(|d| d.message)? {
            if let ParamKind::Weight { key: Some(key) } = &w.kind {
                weights.push((w.name.clone(), self.weight(key, &w)?));
                keys.extend(names(key, &w.shape[..key.matches('{').count()]));
            }
        }
        Ok(Program { graph, weights, keys })
    }

    /// Every tensor of the checkpoint has its weight.
    fn all_used(&self, programs: &[&Program]) -> Result<()> {
        let used = |n: &&str| programs.iter().any(|p| p.keys.iter().any(|k| k == n));
        let left: Vec<&str> = self.checkpoint.names().filter(|n| !used(n)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("no weight takes {left:?}").into()) }
    }

    /// The tensors of a key, one under the other.
    fn weight(&self, key: &str, w: &Wanted) -> Result<Tensor> {
        let (lead, rest) = w.shape.split_at(key.matches('{').count());
        let mut parts = vec![];
        for name in names(key, lead) {
            let t = self.checkpoint.get(&name)?.ok_or_else(|| format!("no tensor `{name}`"))?;
            if (t.dtype(), t.shape()) != (w.dtype, rest) {
                return Err(format!("`{name}` is {}{:?}", t.dtype(), t.shape()).into());
            }
            parts.push(t);
        }
        Ok(if lead.is_empty() { parts.remove(0) } else { Tensor::stacked(lead, parts)? })
    }
}

/// The names that a key stands for, in row-major order of its indices.
fn names(key: &str, lead: &[usize]) -> Vec<String> {
    let mut at = vec![vec![]];
    for n in lead {
        at =
            at.iter().flat_map(|p: &Vec<usize>| (0..*n).map(|i| [&p[..], &[i]].concat())).collect();
    }
    at.iter().map(|i| key_at(key, i)).collect()
}

fn env(graph: &Graph, dims: &[(&str, i64)]) -> Result<Env> {
    let mut env = Env::default();
    for d in &graph.dims {
        let size = dims.iter().find(|(n, _)| graph.vars.name(*d) == *n);
        env.set(*d, size.ok_or("a dim has no size")?.1);
    }
    Ok(env)
}

impl Program {
    /// Runs on the arguments given by name, and gives the outputs by name.
    fn run(
        &self,
        dims: &[(&str, i64)],
        args: &[(String, Tensor)],
    ) -> Result<Vec<(String, Tensor)>> {
        let find = |n: &str| args.iter().chain(&self.weights).find(|(k, _)| k == n);
        let params = self.graph.params.iter();
        let inputs: Vec<Tensor> =
            params.filter_map(|p| find(&p.name).map(|(_, t)| t.clone())).collect();
        let env = env(&self.graph, dims)?;
        let out = evaluate(&self.graph, &env, &inputs, &Options::default());
        let out = out.map_err(|d| d.message)?.outputs;
        Ok(self.graph.outputs.iter().map(|o| o.name.clone()).zip(out).collect())
    }

    /// States as a run begins with them.
    fn states(&self, dims: &[(&str, i64)]) -> Result<Vec<(String, Tensor)>> {
        let all = wanted(&self.graph, &env(&self.graph, dims)?).map_err(|d| d.message)?;
        let states = all.into_iter().filter(|w| w.kind == ParamKind::Inout);
        Ok(states.map(|w| (w.name, Tensor::zeros(w.dtype, w.shape))).collect())
    }
}

/// How far two tensors are apart, over the norm of the second.
fn distance(c: &Tensor, r: &Tensor) -> f64 {
    assert_eq!((c.dtype(), c.len()), (r.dtype(), r.len()));
    let (c, r) = (c.to_f64s(), r.to_f64s());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut c.iter().zip(r.iter()).map(|(a, b)| a - b)) / norm(&mut r.iter().copied())
}

/// The i-th part along the first axis.
fn part(t: &Tensor, i: usize) -> Tensor {
    let (starts, mut lens) = (vec![0; t.rank() - 1], t.shape().to_vec());
    lens[0] = 1;
    t.slice_block(&[&[i], &starts[..]].concat(), &lens)
}

/// Squares of errors, in units of `u^2`, on the way to each value.
struct Errors<'a> {
    graph: &'a Graph,
    env: &'a Env,
    of: HashMap<ValueId, u64>,
}

impl Errors<'_> {
    fn at(&self, v: &ValueId) -> u64 {
        self.of.get(v).copied().unwrap_or(0)
    }

    fn region(&mut self, r: RegionId) {
        let graph = self.graph;
        for n in &graph.region(r).nodes {
            let node = graph.node(*n);
            match &node.kind {
                NodeKind::Op { .. } => {
                    let before = node.inputs.iter().map(|v| self.at(v)).max().unwrap_or(0);
                    let own = self.own(node);
                    self.of.extend(node.outputs.iter().map(|o| (*o, before + own)));
                }
                NodeKind::Const(_) => {}
                NodeKind::Loop { start, stop, body, .. } => {
                    let trips = stop.sub(start).eval(self.env).unwrap_or(0);
                    let inner = graph.region(*body);
                    let mut carried: Vec<u64> = node.inputs.iter().map(|v| self.at(v)).collect();
                    for _ in 0..trips {
                        self.of.extend(inner.params.iter().copied().zip(carried));
                        self.region(*body);
                        carried = inner.results.iter().map(|v| self.at(v)).collect();
                    }
                    self.of.extend(node.outputs.iter().copied().zip(carried));
                }
                _ => panic!("a model has no `{}`", node.label()),
            }
        }
    }

    /// Of one op: the terms that it sums, or 1.
    fn own(&self, node: &Node) -> u64 {
        let NodeKind::Op { op, attrs } = &node.kind else { return 0 };
        let outs: Vec<_> = node.outputs.iter().map(|v| self.graph.ty(*v).clone()).collect();
        if op.role() != Role::Compute || outs.iter().any(|o| !o.dtype.is_float()) {
            return 0;
        }
        let inputs: Vec<_> = node.inputs.iter().map(|v| self.graph.ty(*v).clone()).collect();
        let domain = op.domain(&Call { inputs: &inputs, attrs, vars: &self.graph.vars }, &outs);
        let summed = domain.dims.iter().filter(|d| d.reduce.is_some());
        summed.map(|d| d.extent.eval(self.env).unwrap_or(1).max(1) as u64).product()
    }
}

/// The bound of an output; states bring the errors that they had after the run before, in `states`.
fn bound(
    p: &Program,
    output: usize,
    dims: &[(&str, i64)],
    states: &mut HashMap<String, u64>,
) -> Result<f64> {
    let env = env(&p.graph, dims)?;
    let of = p.graph.params.iter().map(|q| (q.value, states.get(&q.name).copied().unwrap_or(0)));
    let mut e = Errors { graph: &p.graph, env: &env, of: of.collect() };
    e.region(p.graph.root);
    *states = p.graph.outputs.iter().map(|o| (o.name.clone(), e.at(&o.value))).collect();
    Ok(2.0 * 2f64.powi(-24) * (e.at(&p.graph.outputs[output].value) as f64).sqrt())
}

/// Holds an output against its bound; gives the part of it that is used.
fn hold(what: &str, got: &Tensor, want: &Tensor, bound: f64) -> Result<f64> {
    let d = distance(got, want);
    if d <= bound {
        return Ok(d / bound);
    }
    Err(format!("{what}: {d:.3e} of its norm off, at most {bound:.3e} allowed").into())
}

/// Holds the outputs of all layers against their parts of the bound.
fn hold_layers(what: &str, got: &Tensor, want: &Tensor, bound: f64) -> Result<f64> {
    let n = want.shape()[0];
    let each = |l: usize| {
        let share = ((l + 1) as f64 / n as f64).sqrt();
        hold(&format!("{what}, layer {l}"), &part(got, l), &part(want, l), bound * share)
    };
    (0..n).try_fold(0.0, |w: f64, l| Ok(w.max(each(l)?)))
}

fn decoder(r: &Run) -> Result<String> {
    let tokens = r.expected("tokens")?.to_i64s().to_vec();
    let (logits, hidden) = (r.expected("logits")?, r.expected("hidden")?);
    let one = [("ctx", 1)];
    let (step, each) = (r.program(&r.case.entry, &one)?, r.program("hidden", &one)?);
    r.all_used(&[&step, &each])?;
    let (mut a, mut b) = (step.states(&one)?, each.states(&one)?);
    let (mut of_step, mut of_each) = (HashMap::new(), HashMap::new());
    let (mut gap, mut used, mut far) = (f64::INFINITY, 0.0f64, 0.0f64);
    for (i, pair) in tokens.windows(2).enumerate() {
        let dims = [("ctx", i as i64 + 1)];
        let token = Tensor::from_i64s(DType::I32, vec![1], vec![pair[0]]);
        a.push(("token".to_string(), token.clone()));
        b.push(("token".to_string(), token));
        let (mut x, mut y) = (step.run(&dims, &a)?, each.run(&dims, &b)?);
        if x[0].1.get_i64(0) != pair[1] {
            let found = x[0].1.get_i64(0);
            return Err(format!("token {} is {found}, expected {}", i + 1, pair[1]).into());
        }
        let (found, want) = (&x[1].1, part(&logits, i));
        let at = format!("step {i}");
        used = used.max(hold(
            &format!("{at}, logits"),
            found,
            &want,
            bound(&step, 1, &dims, &mut of_step)?,
        )?);
        let h = part(&hidden, i).reshape(hidden.shape()[1..].to_vec());
        used = used.max(hold_layers(&at, &y[0].1, &h, bound(&each, 0, &dims, &mut of_each)?)?);
        let mut all = want.to_f64s().to_vec();
        far = found.to_f64s().iter().zip(&all).map(|(a, b)| (a - b).abs()).fold(far, f64::max);
        all.sort_by(f64::total_cmp);
        gap = gap.min(all[all.len() - 1] - all[all.len() - 2]);
        a = x.split_off(2);
        b = y.split_off(1);
    }
    // else the order of two tokens would be chance
    if gap <= 2.0 * far {
        return Err(format!("the best logits are {gap:.3e} apart, logits {far:.3e} off").into());
    }
    Ok(format!(
        "{} tokens, the best two logits {gap:.3e} apart or more, logits off by {far:.3e} at most, \
         {used:.2} of the bound used",
        tokens.len() - 1
    ))
}

fn encoder(r: &Run) -> Result<String> {
    let given = tilefoundry::tensorio::read(&r.dir.join("inputs.safetensors"))?;
    let args: Vec<_> = given.into_iter().map(|t| (t.name.unwrap_or_default(), t.tensor)).collect();
    let shape = args.first().map_or(&[][..], |(_, t)| t.shape());
    let dims: Vec<_> = ["B", "S"].into_iter().zip(shape.iter().map(|n| *n as i64)).collect();
    let (all, each) = (r.program(&r.case.entry, &dims)?, r.program("hidden", &dims)?);
    r.all_used(&[&all, &each])?;
    let (out, h) = (all.run(&dims, &args)?, each.run(&dims, &args)?);
    let last = hold(
        "output",
        &out[0].1,
        &r.expected("output")?,
        bound(&all, 0, &dims, &mut HashMap::new())?,
    )?;
    let hidden = r.expected("hidden")?;
    let used =
        hold_layers("hidden", &h[0].1, &hidden, bound(&each, 0, &dims, &mut HashMap::new())?)?;
    Ok(format!("{:.2} of the bound used", used.max(last)))
}

/// The weights of the published config take as many bytes as the tensors of the checkpoint.
fn published(case: &Case) -> Result<()> {
    let file = root().join(format!("examples/models/{0}/{0}.tf", case.model));
    let session = Session::open(&Disk, &file.display().to_string(), &[], Targets::default());
    let module = Some(case.module.clone());
    let sel = Selection { file: String::new(), module, func: Some(case.entry.clone()) };
    let compiled = session.compile(session.select(&sel)?);
    let graph = compiled.graph.as_ref().ok_or("it does not compile")?;
    let env = env(graph, &[("ctx", 1), ("B", 1), ("S", 1)])?;
    let all = wanted(graph, &env).map_err(|d| d.message)?;
    let weights = all.iter().filter(|w| matches!(w.kind, ParamKind::Weight { .. }));
    let bytes = |w: &Wanted| w.shape.iter().product::<usize>() as u64 * w.dtype.bits() / 8;
    let found: u64 = weights.map(bytes).sum();
    match found == case.bytes {
        true => Ok(()),
        false => Err(format!("weights of {found} bytes, the checkpoint has {}", case.bytes).into()),
    }
}

fn run(dir: &Path) -> Result<()> {
    let r = Run::open(dir)?;
    published(&r.case)?;
    let said = match r.expected.shape("tokens") {
        Some(_) => decoder(&r)?,
        None => encoder(&r)?,
    };
    println!("{}: {said}", r.case.model);
    Ok(())
}

fn main() {
    let here = root().join("tests/models");
    let all = std::fs::read_dir(here).into_iter().flatten().flatten().map(|e| e.path());
    let mut dirs: Vec<PathBuf> = all.filter(|p| p.join("case.json").is_file()).collect();
    dirs.sort();
    let trials = dirs.into_iter().map(|d| {
        let name = d.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || run(&d))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
