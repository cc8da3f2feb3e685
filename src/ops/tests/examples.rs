//! The examples of the documents, for ops that need no engine: calls, possibly nested, and a tuple
//! taken apart.

use super::run::{Case, close, op, same};
use crate::ops::registry::{OPS, find};
use crate::ops::{Attr, Example, ParamKind, Role};
use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};
use crate::types::value::Tensor;

/// What stands in an argument.
#[derive(Clone, Debug)]
enum Arg {
    Tensor(Tensor),
    Number(f64, bool),
    Word(String),
    Text(String),
    List(Vec<Arg>),
    Type(DType, Vec<usize>),
}

struct Reader<'a> {
    text: &'a str,
    names: Vec<(String, Tensor)>,
    wide: bool,
}

pub fn parse_type(text: &str) -> (DType, Vec<usize>) {
    let (d, rest) = text.split_once('[').unwrap_or((text, "]"));
    let dims = rest.trim_end_matches(']').split(',').filter(|s| !s.trim().is_empty());
    (DType::parse(d).unwrap(), dims.map(|s| s.trim().parse().unwrap()).collect())
}

impl Reader<'_> {
    fn space(&mut self) {
        self.text = self.text.trim_start();
    }

    fn eat(&mut self, what: &str) -> bool {
        self.space();
        let rest = self.text.strip_prefix(what);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    fn expect(&mut self, what: &str) {
        assert!(self.eat(what), "`{what}` expected before `{}`", self.text);
    }

    fn take(&mut self, f: impl Fn(char) -> bool) -> String {
        self.space();
        let end = self.text.find(|c| !f(c)).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word.to_string()
    }

    fn word(&mut self) -> String {
        self.take(|c| c.is_alphanumeric() || c == '_')
    }

    fn list(&mut self, close: &str) -> Vec<Arg> {
        let mut out = vec![];
        while !self.eat(close) {
            out.push(self.arg());
            self.eat(",");
        }
        out
    }

    fn arg(&mut self) -> Arg {
        if self.eat("[") {
            return Arg::List(self.list("]"));
        }
        if self.eat("\"") {
            let text = self.take(|c| c != '"');
            self.expect("\"");
            return Arg::Text(text);
        }
        self.space();
        let negative = self.eat("-");
        if negative || self.text.starts_with(|c: char| c.is_ascii_digit()) {
            let text = self.take(|c| c.is_alphanumeric() || c == '.');
            let v: f64 = text.parse().unwrap();
            return Arg::Number(if negative { -v } else { v }, !text.contains(['.', 'i']));
        }
        let word = self.word();
        if let Some((_, t)) = self.names.iter().find(|(n, _)| *n == word) {
            return Arg::Tensor(t.clone());
        }
        if let Some(d) = DType::parse(&word) {
            if !self.eat("[") {
                return Arg::Word(word);
            }
            let extent = |a: &Arg| match a {
                Arg::Number(v, _) => *v as usize,
                a => panic!("{a:?} as extent"),
            };
            return Arg::Type(d, self.list("]").iter().map(extent).collect());
        }
        if self.eat("(") {
            return Arg::Tensor(self.call(&word).remove(0));
        }
        Arg::Word(word)
    }

    /// The results of a call whose `(` was read.
    fn call(&mut self, name: &str) -> Vec<Tensor> {
        let params = find(name).unwrap_or_else(|| panic!("no op `{name}`")).params();
        let mut given: Vec<(&'static str, ParamKind, Arg)> = vec![];
        let mut positional = params.iter().filter(|p| p.positional);
        while !self.eat(")") {
            let before = self.text;
            let word = self.word();
            let named = params.iter().find(|p| p.name == word && !p.positional);
            let (p, arg) = match named {
                Some(p) if self.eat("=") => (p, self.arg()),
                _ => {
                    self.text = before;
                    let arg = self.arg();
                    (
                        positional.clone().next().unwrap_or_else(|| panic!("argument of `{name}`")),
                        arg,
                    )
                }
            };
            given.push((p.name, p.kind, arg));
            // a list parameter takes every tensor that is left
            if p.positional && p.kind != ParamKind::Tensors {
                positional.next();
            }
            self.eat(",");
        }
        let case = build(name, &given, self.wide);
        super::domains::check(&case);
        case.results().unwrap_or_else(|e| panic!("`{name}`: {e}"))
    }
}

/// A case of these arguments.
fn build(name: &str, given: &[(&'static str, ParamKind, Arg)], wide: bool) -> Case {
    let mut operands: Vec<Arg> = vec![];
    let mut optional: Vec<(&'static str, usize)> = vec![];
    for (name, kind, arg) in given {
        match (kind, arg) {
            (ParamKind::OptTensor, a) => {
                optional.push((*name, operands.len()));
                operands.push(a.clone());
            }
            (ParamKind::Tensors, Arg::List(v)) => operands.extend(v.iter().cloned()),
            (ParamKind::Tensor | ParamKind::Tensors, a) => operands.push(a.clone()),
            _ => {}
        }
    }
    let dtypes: Vec<Option<DType>> = operands
        .iter()
        .map(|a| if let Arg::Tensor(t) = a { Some(t.dtype()) } else { None })
        .collect();
    let literal = find(name).unwrap().number_dtype(&dtypes);
    let tensors: Vec<Tensor> = operands
        .iter()
        .map(|a| match a {
            Arg::Tensor(t) => t.clone(),
            Arg::Number(v, _) => Tensor::scalar(literal.unwrap(), *v),
            a => panic!("{a:?} as operand of `{name}`"),
        })
        .collect();
    let mut case = op(name, &tensors.iter().collect::<Vec<_>>());
    case.wide = wide;
    let rank = tensors.first().map_or(0, Tensor::rank) as i64;
    for (name, at) in optional {
        case = case.attr(name, Attr::Operand(at));
    }
    for (name, kind, arg) in given {
        if !matches!(kind, ParamKind::Tensor | ParamKind::Tensors | ParamKind::OptTensor) {
            case = case.attr(name, attr(*kind, arg, rank));
        }
    }
    case
}

fn attr(kind: ParamKind, arg: &Arg, rank: i64) -> Attr {
    let axis = |v: &f64| if *v < 0.0 { *v as i64 + rank } else { *v as i64 };
    let number = |a: &Arg| match a {
        Arg::Number(v, _) => *v,
        a => panic!("{a:?} as number"),
    };
    match (kind, arg) {
        (ParamKind::Int, Arg::Number(v, _)) => Attr::Int(Expr::int(*v as i64)),
        (ParamKind::Number, Arg::Number(v, true)) => Attr::Num(Num::Int(Expr::int(*v as i64))),
        (ParamKind::Number, Arg::Number(v, false)) => Attr::Num(Num::Float(Float::Const(*v))),
        (ParamKind::Bool, Arg::Word(w)) => Attr::Bool(w == "true"),
        (ParamKind::Str, Arg::Text(t)) => Attr::Str(t.clone()),
        (ParamKind::DType, Arg::Word(w)) => Attr::DType(DType::parse(w).unwrap()),
        (ParamKind::Type, Arg::Type(d, dims)) => Attr::Type(*d, super::run::exprs(dims)),
        (ParamKind::Type, Arg::Word(w)) => Attr::Type(DType::parse(w).unwrap(), vec![]),
        (ParamKind::Dims, Arg::Number(v, _)) => Attr::Ints(vec![axis(v)]),
        (ParamKind::Dims, Arg::List(v)) => Attr::Ints(v.iter().map(|a| axis(&number(a))).collect()),
        (ParamKind::Ints, Arg::List(v)) => Attr::Ints(v.iter().map(|a| number(a) as i64).collect()),
        (ParamKind::PerAxis, Arg::Number(v, _)) => Attr::Shape(vec![Expr::int(*v as i64)]),
        (ParamKind::Shape | ParamKind::PerAxis, Arg::List(v)) => {
            Attr::Shape(v.iter().map(|a| Expr::int(number(a) as i64)).collect())
        }
        (k, a) => panic!("{a:?} as {k:?}"),
    }
}

/// The result of an example, or `None` where it needs more than calls.
pub fn run(e: &Example, wide: bool) -> Option<Tensor> {
    let names = e
        .inputs
        .iter()
        .map(|(n, t, v)| {
            let (d, shape) = parse_type(t);
            (n.to_string(), Tensor::from_f64s(d, shape, v.to_vec()))
        })
        .collect();
    if e.code.contains(['&', '|', '!', '@', '{']) || e.code.contains("mut ") {
        return None;
    }
    let mut r = Reader { text: e.code, names, wide };
    if !r.eat("let (") {
        return match r.arg() {
            Arg::Tensor(t) => Some(t),
            a => panic!("{a:?} as result"),
        };
    }
    let (a, _, b) = (r.word(), r.expect(","), r.word());
    r.expect(")");
    r.expect("=");
    let name = r.word();
    r.expect("(");
    let results = r.call(&name);
    r.expect(";");
    let want = r.word();
    [a, b].iter().position(|n| *n == want).map(|i| results[i].clone())
}

fn by_engines(role: Role) -> bool {
    matches!(
        role,
        Role::Read | Role::Write | Role::Reshard | Role::Local | Role::Collect | Role::Empty
    )
}

#[test]
fn examples_give_what_they_say() {
    let mut checked = 0;
    for op in OPS.iter().filter(|o| !by_engines(o.role())) {
        for e in op.doc().examples {
            let Some(got) = run(e, false) else { continue };
            let (d, shape) = parse_type(e.result.0);
            assert_eq!((got.dtype(), got.shape()), (d, &shape[..]), "{}", e.code);
            let want = Tensor::from_f64s(d, shape, e.result.1.to_vec());
            for (i, (g, w)) in got.to_f64s().iter().zip(want.to_f64s().iter()).enumerate() {
                // one unit in the last place of f32, where the truth is no f32
                let ok = same(*g, *w) || (d == DType::F32 && (g - w).abs() <= w.abs() * 1.2e-7);
                assert!(ok, "{}: element {i} is {g}, not {w}", e.code);
            }
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

/// In wide mode every op gives the same up to rounding, with floats in f64.
#[test]
fn examples_hold_in_f64() {
    for op in OPS.iter().filter(|o| !by_engines(o.role())) {
        for e in op.doc().examples {
            let Some(got) = run(e, true) else { continue };
            let (d, _) = parse_type(e.result.0);
            assert_eq!(got.dtype(), if d.is_float() { DType::F64 } else { d }, "{}", e.code);
            close(&got.to_f64s(), e.result.1, 2e-2);
        }
    }
}
