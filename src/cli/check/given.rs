//! Tensors that the command names: random ones, files, checkpoints.

use std::path::Path;

use crate::base::SourceMap;
use crate::check::inputs::{self, Bound, Given, Wanted};
use crate::cli::common::{Common, Reply};
use crate::diag::{Diagnostic, did_you_mean};
use crate::graph::{Graph, ParamKind};
use crate::tensorio::{self, Checkpoint, NamedTensor};
use crate::types::dim::Env;
use crate::types::value::Tensor;

/// What a command says of the tensors of parameters.
#[derive(clap::Args)]
pub struct Stated {
    /// `random[:seed]`, or files: one tensor each in order, or one with tensors named like the
    /// parameters (.safetensors, .npy, .npz, .pt)
    #[arg(long, num_args = 1.., value_name = "random[:SEED]|FILE")]
    pub inputs: Vec<String>,
    /// `random[:seed]`, a file, or `ckpt:DIR` with a checkpoint
    #[arg(long, value_name = "random[:SEED]|FILE|ckpt:DIR")]
    pub weights: Option<String>,
    /// Standard deviation of random floats
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = deviation)]
    pub scale: f64,
}

pub fn deviation(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        _ => Err("expected a number that is not negative".into()),
    }
}

/// Why there are no tensors.
pub enum Lack {
    /// A file is not there.
    File(String),
    /// A file does not hold what it should.
    Content(String),
    Usage(String),
    Diagnostics(Vec<Diagnostic>),
}

impl Lack {
    /// As a command's answer.
    pub fn reply(self, common: &Common, map: &SourceMap) -> Reply {
        match self {
            Lack::File(text) => Reply::lacks(text),
            Lack::Content(text) => Reply::refused(text),
            Lack::Usage(text) => Reply::usage(text),
            Lack::Diagnostics(d) => {
                Reply { out: String::new(), err: common.tell(&d, map), status: 1 }
            }
        }
    }
}

/// Where tensors come from.
pub enum From {
    Random(u64),
    Files(Vec<String>),
    Checkpoint(String),
    /// `random:x`
    BadSeed(String),
}

const SEED: u64 = 0;

fn random(text: &str) -> Option<From> {
    let rest = text.strip_prefix("random")?;
    if rest.is_empty() {
        return Some(From::Random(SEED));
    }
    let seed = rest.strip_prefix(':')?;
    Some(seed.parse().map_or_else(|_| From::BadSeed(text.into()), From::Random))
}

impl From {
    pub fn inputs(texts: &[String]) -> Option<From> {
        match texts {
            [] => None,
            [one] => Some(random(one).unwrap_or_else(|| From::Files(vec![one.clone()]))),
            many => Some(From::Files(many.to_vec())),
        }
    }

    pub fn weights(text: &str) -> From {
        match text.strip_prefix("ckpt:") {
            Some(dir) => From::Checkpoint(dir.into()),
            None => random(text).unwrap_or_else(|| From::Files(vec![text.into()])),
        }
    }
}

/// Whether there is a file, and one that may be opened.
fn readable(path: &Path, file: &str) -> Result<(), Lack> {
    std::fs::File::open(path).map(drop).map_err(|e| {
        let why = match e.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            _ => e.to_string(),
        };
        Lack::File(format!("cannot read `{file}`: {why}"))
    })
}

fn read(file: &str) -> Result<Given, Lack> {
    let path = Path::new(file);
    readable(path, file)?;
    if path.is_dir() {
        return Err(Lack::File(format!("cannot read `{file}`: it is a directory")));
    }
    let all = tensorio::read(path).map_err(|e| Lack::Content(e.to_string()))?;
    let tensors = all.into_iter().map(|NamedTensor { name, tensor }| (name, tensor)).collect();
    Ok(Given { file: file.into(), tensors })
}

fn inputs(from: &From, wanted: &[Wanted], scale: f64) -> Result<Bound, Lack> {
    match from {
        From::Random(seed) => Ok(inputs::random(wanted, *seed, scale)),
        From::Files(files) => {
            let given: Result<Vec<Given>, Lack> = files.iter().map(|f| read(f)).collect();
            inputs::bind(wanted, &given?).map_err(Lack::Diagnostics)
        }
        From::Checkpoint(_) => Err(Lack::Usage("inputs are random or files".into())),
        From::BadSeed(text) => {
            Err(Lack::Usage(format!("`{text}`: a seed is a whole number below 2^64")))
        }
    }
}

/// Weights by their checkpoint keys, or by the names they have in the program.
pub fn weights(from: &From, wanted: &[Wanted], scale: f64) -> Result<Bound, Lack> {
    let file = match from {
        From::Random(_) | From::BadSeed(_) => return inputs(from, wanted, scale),
        From::Files(files) => files.first().map_or("", String::as_str),
        From::Checkpoint(dir) => dir,
    };
    let path = Path::new(file);
    readable(path, file)?;
    let source = if path.is_dir() || path.extension().is_some_and(|e| e == "safetensors") {
        Store::Mapped(Checkpoint::open(path).map_err(|e| Lack::Content(e.to_string()))?)
    } else {
        Store::Read(read(file)?.tensors)
    };
    let mut given = Given { file: file.into(), tensors: vec![] };
    for w in wanted {
        given.tensors.push((Some(w.name.clone()), source.weight(w, file)?));
    }
    // by name even where there is one
    if wanted.len() == 1
        && let Some((name, _)) = given.tensors.first_mut()
    {
        *name = None;
    }
    inputs::bind(wanted, &[given]).map_err(Lack::Diagnostics)
}

enum Store {
    Mapped(Checkpoint),
    Read(Vec<(Option<String>, Tensor)>),
}

impl Store {
    fn get(&self, name: &str) -> Result<Option<Tensor>, Lack> {
        match self {
            Store::Mapped(c) => c.get(name).map_err(|e| Lack::Content(e.to_string())),
            Store::Read(all) => {
                Ok(all.iter().find(|(n, _)| n.as_deref() == Some(name)).map(|(_, t)| t.clone()))
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        match self {
            Store::Mapped(c) => c.names().collect(),
            Store::Read(all) => all.iter().filter_map(|(n, _)| n.as_deref()).collect(),
        }
    }

    /// The tensor of a weight. A key with braces names one tensor for each index of the
    /// leading axes, which are put together.
    fn weight(&self, w: &Wanted, file: &str) -> Result<Tensor, Lack> {
        let key = match &w.kind {
            ParamKind::Weight { key: Some(k) } => k.as_str(),
            _ => w.name.as_str(),
        };
        let parts = key.matches('{').count();
        if parts == 0 || self.names().contains(&w.name.as_str()) {
            for name in [key, w.name.as_str()] {
                if let Some(t) = self.get(name)? {
                    return Ok(t);
                }
            }
            if let (Store::Read(all), [_]) = (self, self.names().as_slice())
                && let [(_, t)] = all.as_slice()
            {
                return Ok(t.clone());
            }
            return Err(self.missing(key, file));
        }
        let (lead, rest) = w.shape.split_at(parts.min(w.shape.len()));
        let mut all = vec![];
        let count: usize = lead.iter().product();
        for i in 0..count {
            let at = index(i, lead);
            let name = inputs::key_at(key, &at);
            let t = self.get(&name)?.ok_or_else(|| self.missing(&name, file))?;
            if t.dtype() != w.dtype || t.shape() != rest {
                return Err(Lack::Content(format!(
                    "`{file}`, entry `{name}`: expected {}{rest:?}, found {}{:?}",
                    w.dtype,
                    t.dtype(),
                    t.shape()
                )));
            }
            all.push(t);
        }
        if all.is_empty() {
            return Ok(Tensor::zeros(w.dtype, w.shape.clone()));
        }
        Tensor::stacked(lead, all).map_err(|e| Lack::Content(format!("`{file}`: {e}")))
    }

    fn missing(&self, key: &str, file: &str) -> Lack {
        let names = self.names();
        let rest = match did_you_mean(key, names.iter().copied()) {
            Some(n) => format!("did you mean `{n}`?"),
            None => {
                let some: Vec<&str> = names.iter().copied().take(8).collect();
                let dots = if names.len() > some.len() { ", .." } else { "" };
                format!("it has {}{dots}", some.join(", "))
            }
        };
        Lack::Content(format!("`{file}` has no tensor `{key}`: {rest}"))
    }
}

/// The index of the i-th element of a shape.
pub fn index(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (slot, n) in out.iter_mut().zip(shape).rev() {
        *slot = i % n.max(&1);
        i /= n.max(&1);
    }
    out
}

impl Stated {
    /// The same, with random tensors for what is not stated.
    pub fn or_random(&self) -> Stated {
        let inputs = match self.inputs.as_slice() {
            [] => vec!["random".to_string()],
            some => some.to_vec(),
        };
        let weights = self.weights.clone().or_else(|| Some("random".into()));
        Stated { inputs, weights, scale: self.scale }
    }

    /// A tensor for each parameter of a graph, in order.
    ///
    /// # Errors
    /// Inputs or weights that are not stated, or not there, or not as declared.
    pub fn bind(&self, graph: &Graph, env: &Env) -> Result<Bound, Lack> {
        let one = |d: Box<Diagnostic>| Lack::Diagnostics(vec![*d]);
        let wanted = inputs::wanted(graph, env).map_err(one)?;
        let is_weight = |w: &Wanted| matches!(w.kind, ParamKind::Weight { .. });
        let (weights, args): (Vec<_>, Vec<_>) = wanted.iter().cloned().partition(is_weight);
        let mut a = if args.is_empty() {
            Bound::default()
        } else {
            let from = From::inputs(&self.inputs).ok_or_else(|| {
                Lack::Usage(format!(
                    "inputs must be stated: `--inputs random[:SEED]` or files for {}",
                    names(&args)
                ))
            })?;
            inputs(&from, &args, self.scale)?
        };
        let mut w = self.weights_of(&weights)?;
        // back in the order of the graph
        let mut out = Bound::default();
        for x in wanted.iter().rev() {
            let from = if is_weight(x) { &mut w } else { &mut a };
            if let (Some(t), Some(src)) = (from.tensors.pop(), from.sources.pop()) {
                out.tensors.push(t);
                out.sources.push(src);
            }
        }
        out.tensors.reverse();
        out.sources.reverse();
        Ok(out)
    }

    /// The tensors of weights.
    ///
    /// # Errors
    /// Weights that are not stated, or not there, or not as declared.
    pub fn weights_of(&self, wanted: &[Wanted]) -> Result<Bound, Lack> {
        if wanted.is_empty() {
            return Ok(Bound::default());
        }
        let from = self.weights.as_deref().map(From::weights).ok_or_else(|| {
            Lack::Usage(format!(
                "weights must be stated: `--weights random[:SEED]`, FILE or ckpt:DIR for {}",
                names(wanted)
            ))
        })?;
        weights(&from, wanted, self.scale)
    }
}

fn names(list: &[Wanted]) -> String {
    list.iter().map(|w| format!("`{}: {}`", w.name, w.show())).collect::<Vec<_>>().join(", ")
}

/// One tensor for each output: files in order, or one file by the outputs' names.
pub fn expected(files: &[String], outputs: &[&str]) -> Result<Vec<Tensor>, Lack> {
    let mut all = vec![];
    for f in files {
        all.push(read(f)?);
    }
    if let [one] = all.as_slice()
        && one.tensors.len() > 1
    {
        // a saved tuple names its parts `[0]`, `[1]`
        let find = |o: &str| {
            let short = o.strip_prefix("output").filter(|s| !s.is_empty());
            one.tensors
                .iter()
                .find(|(n, _)| n.as_deref().is_some_and(|n| n == o || Some(n) == short))
                .map(|(_, t)| t.clone())
        };
        let found: Option<Vec<Tensor>> = outputs.iter().map(|o| find(o)).collect();
        return found.ok_or_else(|| {
            let names: Vec<&str> =
                one.tensors.iter().map(|(n, _)| n.as_deref().unwrap_or("-")).collect();
            Lack::Content(format!(
                "`{}` has the tensors {}; the outputs are {}",
                one.file,
                names.join(", "),
                outputs.join(", ")
            ))
        });
    }
    let mut out = vec![];
    for g in all {
        match g.tensors.as_slice() {
            [(_, t)] => out.push(t.clone()),
            many => {
                return Err(Lack::Content(format!(
                    "`{}` holds {} tensors; files given in order hold one each",
                    g.file,
                    many.len()
                )));
            }
        }
    }
    if out.len() != outputs.len() {
        return Err(Lack::Content(format!(
            "{} tensors are expected for {} outputs: {}",
            out.len(),
            outputs.len(),
            outputs.join(", ")
        )));
    }
    Ok(out)
}
