//! Which tensor goes to which parameter.
//!
//! Files bind by position, one tensor for each parameter; or one file of named tensors binds by
//! name. What is found is held against what is declared.

use super::complaint;
use super::random::{Draw, draw};
use super::report::Source;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::eval::shape_of;
use crate::graph::{Graph, ParamKind};
use crate::types::dim::Env;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// A parameter at stated sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub name: String,
    pub kind: ParamKind,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Inclusive.
    pub range: Option<(i64, i64)>,
}

/// The tensors of one file.
#[derive(Clone, Debug)]
pub struct Given {
    /// As messages name it.
    pub file: String,
    pub tensors: Vec<(Option<String>, Tensor)>,
}

/// Tensors in the order of the parameters, and where each came from.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    pub tensors: Vec<Tensor>,
    pub sources: Vec<Source>,
}

/// The name of one tensor of a key: `{}` is the index, `{1,3}` is the number in its place.
pub fn key_at(key: &str, index: &[usize]) -> String {
    let (mut out, mut rest) = (String::new(), key);
    for i in index {
        let Some((head, (list, tail))) =
            rest.split_once('{').and_then(|(h, t)| Some((h, t.split_once('}')?)))
        else {
            break;
        };
        let number = list.split(',').nth(*i).filter(|n| !n.is_empty());
        out += head;
        out += &number.map_or_else(|| i.to_string(), str::to_string);
        rest = tail;
    }
    out + rest
}

/// The parameters of a graph at the sizes of `env`.
///
/// # Errors
/// A shape or range that has no value at these sizes.
pub fn wanted(graph: &Graph, env: &Env) -> Result<Vec<Wanted>, Box<Diagnostic>> {
    let one = |p: &crate::graph::Param| {
        let ty = graph.ty(p.value);
        let open = |what: &str| {
            let text = format!("the {what} of `{}` has no value at these sizes", p.name);
            Box::new(Diagnostic::new(Code::UnboundDim, graph.value(p.value).span, text))
        };
        let shape = shape_of(graph, p.value, env).ok_or_else(|| open("shape"))?;
        let range = match &ty.range {
            None => None,
            Some((lo, hi)) => {
                let bounds = lo.eval(env).zip(hi.eval(env));
                Some(bounds.ok_or_else(|| open("range"))?)
            }
        };
        Ok(Wanted { name: p.name.clone(), kind: p.kind.clone(), dtype: ty.dtype, shape, range })
    };
    graph.params.iter().map(one).collect()
}

impl Wanted {
    /// `bf16[4, 8]`
    pub fn show(&self) -> String {
        show(self.dtype, &self.shape)
    }
}

fn show(dtype: DType, shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    if dims.is_empty() { dtype.to_string() } else { format!("{dtype}[{}]", dims.join(", ")) }
}

/// Random tensors for parameters.
pub fn random(wanted: &[Wanted], seed: u64, scale: f64) -> Bound {
    let mut out = Bound::default();
    for w in wanted {
        let shape = w.shape.clone();
        let d = Draw { seed, name: &w.name, dtype: w.dtype, shape, range: w.range, scale };
        out.push(w, draw(&d), format!("random:{seed}"));
    }
    out
}

/// Tensors of files for parameters: a file for each in order, or one file by names.
///
/// # Errors
/// Every parameter without a tensor, every tensor left over, every dtype, shape or value that is
/// not as declared.
pub fn bind(wanted: &[Wanted], given: &[Given]) -> Result<Bound, Vec<Diagnostic>> {
    let by_name = match given {
        [one] => one.tensors.len() != 1 && one.tensors.iter().all(|(n, _)| n.is_some()),
        _ => false,
    };
    let picked = match given {
        [one] if by_name => named(wanted, one)?,
        _ => positional(wanted, given)?,
    };
    let mut out = Bound::default();
    let mut problems = vec![];
    for (w, (file, t)) in wanted.iter().zip(picked) {
        problems.extend(fits(w, &t, &file));
        out.push(w, t, file);
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

impl Bound {
    fn push(&mut self, w: &Wanted, t: Tensor, from: String) {
        let actual = show(t.dtype(), t.shape());
        self.sources.push(Source { name: w.name.clone(), from, declared: w.show(), actual });
        self.tensors.push(t);
    }
}

type Picked = Vec<(String, Tensor)>;

fn named(wanted: &[Wanted], file: &Given) -> Result<Picked, Vec<Diagnostic>> {
    let (mut out, mut problems) = (vec![], vec![]);
    let names: Vec<&str> = file.tensors.iter().filter_map(|(n, _)| n.as_deref()).collect();
    for w in wanted {
        match file.tensors.iter().find(|(n, _)| n.as_deref() == Some(&w.name)) {
            Some((_, t)) => out.push((format!("{}:{}", file.file, w.name), t.clone())),
            None => {
                let text = format!("`{}` has no tensor `{}`", file.file, w.name);
                let mut d = complaint(Code::BindInput, text);
                d.help = Some(match did_you_mean(&w.name, names.iter().copied()) {
                    Some(n) => format!("did you mean `{n}`?"),
                    None => format!("it has: {}", names.join(", ")),
                });
                problems.push(d);
            }
        }
    }
    let left: Vec<&str> =
        names.iter().copied().filter(|n| wanted.iter().all(|w| w.name != *n)).collect();
    if !left.is_empty() {
        let text = format!("`{}` has tensors no parameter takes: {}", file.file, left.join(", "));
        problems.push(complaint(Code::BindInput, text));
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

fn positional(wanted: &[Wanted], given: &[Given]) -> Result<Picked, Vec<Diagnostic>> {
    // one file of unnamed tensors, such as a saved tuple, counts as a list
    let mut out = vec![];
    let single = given.len() == 1;
    for g in given {
        if g.tensors.len() != 1 && !single {
            let text = format!(
                "`{}` holds {} tensors; files bound by position hold one each",
                g.file,
                g.tensors.len()
            );
            return Err(vec![complaint(Code::BindInput, text)]);
        }
        for (i, (_, t)) in g.tensors.iter().enumerate() {
            let from = if single && g.tensors.len() > 1 {
                format!("{}[{i}]", g.file)
            } else {
                g.file.clone()
            };
            out.push((from, t.clone()));
        }
    }
    if out.len() == wanted.len() {
        return Ok(out);
    }
    let names: Vec<&str> = wanted.iter().map(|w| w.name.as_str()).collect();
    let text = format!("{} tensors are given for {} parameters", out.len(), wanted.len());
    let mut d = complaint(Code::BindInput, text);
    d.help = Some(format!("the parameters in order: {}", names.join(", ")));
    Err(vec![d])
}

/// What is wrong with a tensor for a parameter.
fn fits(w: &Wanted, t: &Tensor, from: &str) -> Option<Diagnostic> {
    if t.dtype() != w.dtype || t.shape() != w.shape {
        let text = format!(
            "`{}` is declared {}, `{from}` is {}",
            w.name,
            w.show(),
            show(t.dtype(), t.shape())
        );
        return Some(complaint(Code::BadInput, text));
    }
    let (lo, hi) = w.range?;
    let v = t.to_i64s();
    let (i, x) = v.iter().enumerate().find(|(_, x)| !(lo..=hi).contains(x))?;
    let text = format!(
        "element {i} of `{}` is {x}, outside its declared range {lo}..={hi} (`{from}`)",
        w.name
    );
    Some(complaint(Code::ValueOutOfRange, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(name: &str, dtype: DType, shape: &[usize], range: Option<(i64, i64)>) -> Wanted {
        Wanted { name: name.into(), kind: ParamKind::Arg, dtype, shape: shape.to_vec(), range }
    }

    fn file(name: &str, tensors: &[(Option<&str>, Tensor)]) -> Given {
        let tensors = tensors.iter().map(|(n, t)| (n.map(Into::into), t.clone())).collect();
        Given { file: name.into(), tensors }
    }

    #[test]
    fn binds_by_position_and_by_name() {
        let w = [want("a", DType::F32, &[2], None), want("b", DType::I32, &[1], Some((0, 3)))];
        let a = Tensor::zeros(DType::F32, vec![2]);
        let b = Tensor::from_i64s(DType::I32, vec![1], vec![3]);
        let files = [file("a.npy", &[(None, a.clone())]), file("b.npy", &[(None, b.clone())])];
        let got = bind(&w, &files).unwrap();
        assert_eq!(got.sources[1].from, "b.npy");
        let one = file("x.npz", &[(Some("b"), b.clone()), (Some("a"), a.clone())]);
        let got = bind(&w, std::slice::from_ref(&one)).unwrap();
        assert_eq!(got.tensors[0].dtype(), DType::F32);
        let tuple = file("t.pt", &[(None, a.clone()), (None, b.clone())]);
        assert_eq!(bind(&w, &[tuple]).unwrap().sources[1].from, "t.pt[1]");
        // a file of one tensor binds by position whatever its name
        let lone = file("l.safetensors", &[(Some("whatever"), a)]);
        assert!(bind(&w[..1], &[lone]).is_ok());
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let w = [
            want("hidden", DType::Bf16, &[2, 3], None),
            want("ids", DType::I32, &[2], Some((0, 3))),
        ];
        let h = Tensor::zeros(DType::F32, vec![2, 3]);
        let ids = Tensor::from_i64s(DType::I32, vec![2], vec![0, 4]);
        let files = [file("h.npy", &[(None, h.clone())]), file("i.npy", &[(None, ids.clone())])];
        let e = bind(&w, &files).unwrap_err();
        assert_eq!(e.len(), 2);
        assert!(e[0].message.contains("bf16[2, 3]") && e[0].message.contains("f32[2, 3]"));
        assert!(e[1].message.contains("element 1 of `ids` is 4"));
        let e = bind(&w, &files[..1]).unwrap_err();
        assert!(e[0].message.contains("1 tensors are given for 2"));
        let e = bind(&w, &[file("x.npz", &[(Some("hiden"), h), (Some("ids"), ids)])]).unwrap_err();
        assert_eq!(e[0].help.as_deref(), Some("did you mean `hiden`?"));
        assert!(e[1].message.contains("no parameter takes: hiden"));
    }

    #[test]
    fn keys_count_or_list() {
        assert_eq!(key_at("a.{}.b.{}.c", &[3, 12]), "a.3.b.12.c");
        assert_eq!(key_at("a.{0,5,7}.b.{}", &[2, 1]), "a.7.b.1");
        assert_eq!(key_at("a", &[]), "a");
    }

    #[test]
    fn random_inputs_honour_declarations() {
        let w = [want("x", DType::Bf16, &[3], None), want("i", DType::I32, &[50], Some((5, 6)))];
        let got = random(&w, 3, 1.0);
        assert!(got.tensors[1].to_i64s().iter().all(|x| (5..=6).contains(x)));
        // order does not matter
        let rev = [w[1].clone(), w[0].clone()];
        assert!(random(&rev, 3, 1.0).tensors[1].bit_equal(&got.tensors[0]));
        let scaled = random(&w[..1], 3, 2.0);
        assert_eq!(scaled.tensors[0].get_f64(0), 2.0 * got.tensors[0].get_f64(0));
    }
}
