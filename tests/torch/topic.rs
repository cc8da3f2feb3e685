//! Committed cases: reading and running them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tilefoundry::diag::{Diagnostic, render_short};
use tilefoundry::eval::{Options, evaluate};
use tilefoundry::hir::load::Sources;
use tilefoundry::session::{MemorySources, Selection, Session, Targets, points};
use tilefoundry::tensorio;
use tilefoundry::types::value::Tensor;

use crate::judge::{Rule, Verdict, judge};

/// One program, as a topic's list has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// The text of a whole file.
    #[serde(default)]
    pub source: String,
    /// Or a file below the repository's root.
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub module: String,
    #[serde(default = "main")]
    pub func: String,
    #[serde(default)]
    pub dims: BTreeMap<String, i64>,
    #[serde(default)]
    pub consts: BTreeMap<String, serde_json::Value>,
    /// How often a tensor, such as `in/x`, is repeated along each of its axes: programs whose
    /// sizes are literals take more elements than are committed.
    #[serde(default)]
    pub repeat: BTreeMap<String, Vec<usize>>,
    /// An earlier case, whose tensors stand in for those that this one lacks.
    #[serde(default)]
    pub like: String,
    pub ops: Vec<String>,
    pub dtype: String,
    pub inputs: Vec<String>,
    pub rules: Vec<Rule>,
    /// Why the reference is what it is.
    #[serde(default)]
    pub note: String,
}

fn main() -> String {
    "main".into()
}

/// A topic's cases and their tensors.
pub struct Topic {
    pub cases: Vec<Case>,
    tensors: HashMap<String, Tensor>,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn folder() -> PathBuf {
    root().join("tests/torch")
}

/// The names of all topics that are committed.
pub fn topics() -> Vec<String> {
    let list = std::fs::read_dir(folder().join("data")).into_iter().flatten().flatten();
    let mut names: Vec<String> = list
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|x| x == "json"))
        .filter_map(|p| Some(p.file_stem()?.to_str()?.to_string()))
        .collect();
    names.sort();
    names
}

impl Topic {
    pub fn read(name: &str) -> Result<Topic, String> {
        let data = folder().join("data");
        let list = data.join(format!("{name}.json"));
        let text = std::fs::read(&list).map_err(|e| format!("{}: {e}", list.display()))?;
        let cases =
            serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", list.display()))?;
        let named =
            tensorio::read(&data.join(format!("{name}.safetensors"))).map_err(|e| e.to_string())?;
        let tensors = named.into_iter().filter_map(|t| Some((t.name?, t.tensor))).collect();
        Ok(Topic { cases, tensors })
    }

    /// A case's own tensor, or that of the case it is like, which may have it from another.
    fn stored(&self, c: &Case, which: &str) -> Option<&Tensor> {
        let earlier = || self.cases.iter().find(|o| o.name == c.like);
        let own = self.tensors.get(&format!("{}/{which}", c.name));
        own.or_else(|| self.stored(earlier()?, which))
    }

    /// An input or expected result of a case, repeated as the case says.
    fn value(&self, c: &Case, which: &str) -> Result<Tensor, String> {
        let t = self.stored(c, which);
        let t = t.ok_or_else(|| format!("there is no tensor `{}/{which}`", c.name))?;
        match c.repeat.get(which) {
            None => Ok(t.clone()),
            Some(times) if times.len() == t.rank() => Ok(repeat(t, times)),
            Some(times) => Err(format!("`{which}` {:?} repeated {times:?}", t.shape())),
        }
    }

    /// Compiles and evaluates a case, and judges each of its results.
    ///
    /// # Errors
    /// It does not compile or evaluate, or its results are of other types.
    pub fn run(&self, c: &Case) -> Result<Vec<Verdict>, String> {
        let got = self.evaluate(c)?;
        if got.len() != c.rules.len() {
            return Err(format!("got {} results, expected {}", got.len(), c.rules.len()));
        }
        let one = |(i, (t, rule)): (usize, (&Tensor, &Rule))| {
            let expected = self.value(c, &format!("out/{i}"))?;
            judge(rule, t, &expected).map_err(|e| format!("result {i}: {e}"))
        };
        got.iter().zip(&c.rules).enumerate().map(one).collect()
    }

    fn evaluate(&self, c: &Case) -> Result<Vec<Tensor>, String> {
        let s = c.open();
        let lines = |d: &[Diagnostic]| {
            let lines: Vec<String> = d.iter().map(|d| render_short(d, s.sources())).collect();
            lines.join("\n")
        };
        if !s.wrong_settings.is_empty() {
            return Err(s.wrong_settings.join("\n"));
        }
        let (module, func) = match c.module.as_str() {
            "" => (c.func.clone(), None),
            m => (m.to_string(), Some(c.func.clone())),
        };
        let func = s.select(&Selection { file: c.path(), module: Some(module), func })?;
        let compiled = s.compile(func);
        let Some(g) = &compiled.graph else {
            return Err(lines(&s.diagnostics_of(func)));
        };
        let names: BTreeSet<&str> = g.params.iter().map(|p| p.name.as_str()).collect();
        let given: BTreeSet<&str> = c.inputs.iter().map(String::as_str).collect();
        if names != given {
            return Err(format!("parameters are {names:?}, inputs {given:?}"));
        }
        let inputs: Vec<Tensor> = g
            .params
            .iter()
            .map(|p| self.value(c, &format!("in/{}", p.name)))
            .collect::<Result<_, _>>()?;
        let sizes: Vec<(String, Vec<i64>)> =
            c.dims.iter().map(|(n, v)| (n.clone(), vec![*v])).collect();
        let [point] = &points(g, &sizes)?[..] else {
            return Err("more than one size".into());
        };
        let run = evaluate(g, &point.env, &inputs, &Options::default());
        run.map(|o| o.outputs).map_err(|d| lines(&[*d]))
    }
}

/// A tensor side by side with itself along each axis.
fn repeat(t: &Tensor, times: &[usize]) -> Tensor {
    let shape: Vec<usize> = t.shape().iter().zip(times).map(|(d, n)| d * n).collect();
    let mut out = Tensor::zeros(t.dtype(), shape);
    let blocks: usize = times.iter().product();
    for mut k in 0..blocks {
        let mut starts = vec![0; times.len()];
        for ((s, n), d) in starts.iter_mut().zip(times).zip(t.shape()).rev() {
            *s = k % n * d;
            k /= n;
        }
        out.write_block(&starts, t);
    }
    out
}

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|e| e.to_string())
    }
}

impl Case {
    fn path(&self) -> String {
        if self.file.is_empty() { format!("{}.tf", self.name) } else { self.file.clone() }
    }

    fn open(&self) -> Session {
        let consts: Vec<(String, String)> =
            self.consts.iter().map(|(n, v)| (n.clone(), v.to_string())).collect();
        let targets = Targets::default();
        if self.file.is_empty() {
            let held = MemorySources::one(self.path(), self.source.as_bytes());
            return Session::open(&held, &self.path(), &consts, targets);
        }
        Session::open(&Disk, &self.path(), &consts, targets)
    }
}
