//! Calls of every op of the registry through the whole front end: those of the documents, which
//! must give what is written there, and wrong ones made from them, which must work or be refused
//! by a diagnostic with a place. New ops are covered by their examples and their signature.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

use tilefoundry::diag::{Code, Diagnostic, Level};
use tilefoundry::eval::{Options, evaluate};
use tilefoundry::graph::{Graph, ValueId};
use tilefoundry::hir::ItemRef;
use tilefoundry::ops::registry::OPS;
use tilefoundry::ops::{Example, Op, Param, ParamKind};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::types::dim::{Env, Expr};
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

/// A program of one call, with the types and elements of its inputs.
#[derive(Clone)]
struct Case {
    code: String,
    inputs: Vec<(String, DType, Vec<usize>, Vec<f64>)>,
    /// The type of the result, where it is known.
    result: Option<&'static str>,
}

/// What became of a case.
#[derive(Debug)]
enum Fate {
    /// The result, where there is one that is small enough to make.
    Gives(Option<Tensor>),
    /// What the diagnostics say.
    Refused(Vec<String>),
}

fn parse_type(text: &str) -> (DType, Vec<usize>) {
    let (d, rest) = text.split_once('[').unwrap_or((text, "]"));
    let dims = rest.trim_end_matches(']').split(',').filter(|s| !s.trim().is_empty());
    (DType::parse(d).unwrap(), dims.map(|s| s.trim().parse().unwrap()).collect())
}

fn case(e: &Example) -> Case {
    let input = |(n, t, v): &(&str, &str, &[f64])| {
        let (d, shape) = parse_type(t);
        (n.to_string(), d, shape, v.to_vec())
    };
    Case { code: e.code.into(), inputs: e.inputs.iter().map(input).collect(), result: None }
}

/// Where the text of a bracketed group ends, and the commas, semicolons and `=` right inside it.
fn scan(text: &str, stop: impl Fn(char, usize) -> bool) -> Option<usize> {
    let (mut depth, mut quoted) = (0usize, false);
    for (i, c) in text.char_indices() {
        if !quoted && stop(c, depth) {
            return Some(i);
        }
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Pieces of a text between separators that stand in no bracket.
fn pieces(text: &str, separator: char) -> Vec<String> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(i) = scan(rest, |c, depth| c == separator && depth == 0) {
        out.push(rest[..i].trim().to_string());
        rest = &rest[i + 1..];
    }
    out.push(rest.trim().to_string());
    out.retain(|s| !s.is_empty());
    out
}

/// The first call of an op in a text: what stands before it, its arguments, what follows.
fn call<'a>(code: &'a str, name: &str) -> Option<(&'a str, Vec<String>, &'a str)> {
    let at = code.match_indices(&format!("{name}(")).map(|(i, _)| i).find(|i| {
        let before = code[..*i].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })?;
    let from = at + name.len() + 1;
    let end = from + scan(&code[from..], |c, depth| c == ')' && depth == 0)?;
    Some((&code[..at], pieces(&code[from..end], ','), &code[end + 1..]))
}

impl Case {
    /// The function. Where the type of the example's last expression is not known, that has the
    /// name `result_`; a variable has a name of its own, so an op stands around it.
    fn function(&self, n: usize) -> String {
        let ty = |d: DType, s: &[usize]| match s {
            [] => d.to_string(),
            _ => format!("{d}{s:?}"),
        };
        let params: Vec<String> =
            self.inputs.iter().map(|(n, d, s, _)| format!("{n}: {}", ty(*d, s))).collect();
        let (before, last) = self.parts();
        let list = params.join(", ");
        if let Some(ty) = self.result {
            return format!("    func case{n}({list}) -> {ty} {{ {before}{last} }}\n");
        }
        let variable = last.chars().all(|c| c.is_alphanumeric() || c == '_');
        let last = if variable { format!("stack([{last}], dim = 0)") } else { last };
        let comma = if params.is_empty() { "" } else { ", " };
        format!(
            "    func case{n}({list}{comma}unused_: f32) -> f32 {{ {before}let result_ = {last}; \
             unused_ }}\n"
        )
    }

    /// The statements, and the expression at the end.
    fn parts(&self) -> (String, String) {
        let mut statements = pieces(&self.code, ';');
        let last = statements.pop().unwrap_or_default();
        let mut before: String = statements.iter().map(|s| format!("{s}; ")).collect();
        match last.rsplit_once("} ") {
            // a block is a statement without `;`
            Some((block, end)) => {
                before.push_str(&format!("{block}}} "));
                (before, end.into())
            }
            None => (before, last),
        }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let tensor = |(_, d, shape, v): &(String, DType, Vec<usize>, Vec<f64>)| {
            let n: usize = shape.iter().product();
            let values = v.iter().copied().chain([0.0]).cycle().take(n);
            match v.len() == n {
                true => Tensor::from_f64s(*d, shape.clone(), v.clone()),
                false => Tensor::from_f64_iter(*d, shape.clone(), values),
            }
        };
        let unused = self.result.is_none().then(|| Tensor::scalar(DType::F32, 0.0));
        self.inputs.iter().map(tensor).chain(unused).collect()
    }
}

/// Compiles all cases as one program, and evaluates those that compile.
fn fates(cases: &[Case]) -> Vec<Result<Fate, String>> {
    let mut text =
        String::from("module M {\n    target \"nvidia.h200_sxm\";\n    topology cta = 2;\n");
    let mut lines = vec![];
    for (n, c) in cases.iter().enumerate() {
        let start = text.len();
        text.push_str(&c.function(n));
        lines.push(start..text.len());
    }
    text.push_str("}\n");
    let session = Session::open(&MemorySources::one("c.tf", text), "c.tf", &[], Targets::default());
    if let Some(d) = session.program.diags.first() {
        return vec![Err(format!("the program cannot be read: {d:?}"))];
    }
    let module = ItemRef { file: 0, module: None, item: 0 };
    let funcs = session.program.funcs(module);
    assert_eq!(funcs.len(), cases.len());
    funcs
        .iter()
        .zip(cases)
        .zip(lines)
        .map(|(((func, _), case), line)| {
            let shown = || case.function(0).trim().to_string();
            let run = || fate(&session, *func, case, &line);
            let got = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err("it panics".into()));
            got.map_err(|e| format!("{}\n    {e}", shown()))
        })
        .collect()
}

fn fate(
    session: &Session,
    func: ItemRef,
    case: &Case,
    line: &Range<usize>,
) -> Result<Fate, String> {
    let c = session.compile(func);
    for d in &c.diags {
        placed(d, line)?;
    }
    let Some(g) = &c.graph else {
        return match c.diags.iter().any(|d| d.level == Level::Error) {
            true => Ok(Fate::Refused(c.diags.iter().map(|d| d.message.clone()).collect())),
            false => Err("there is no graph, and nothing says why".into()),
        };
    };
    let id = match case.result {
        Some(_) => g.outputs.first().map(|o| o.value),
        None => g.values().find(|(_, v)| v.name.as_deref() == Some("result_")).map(|(id, _)| id),
    };
    let Some(id) = id else { return Ok(Fate::Gives(None)) };
    let small = |e: &Expr| e.as_int().filter(|n| *n < 1 << 20);
    let sizes = g.values().flat_map(|(_, v)| {
        let n = v.ty.shape.iter().map(small).try_fold(1i64, |n, e| n.checked_mul(e?));
        Some(n)
    });
    if sizes.into_iter().any(|n| n.is_none_or(|n| n > 1 << 20)) {
        return Ok(Fate::Gives(None));
    }
    let wide = ran(g, case, line, id, true)?;
    let narrow = ran(g, case, line, id, false)?;
    match (&wide, &narrow) {
        (Fate::Gives(_), Fate::Refused(why)) | (Fate::Refused(why), Fate::Gives(_)) => {
            Err(format!("one of the two precisions refuses it: {}", why.join("\n")))
        }
        _ => Ok(narrow),
    }
}

/// An evaluation, whose result has the type that was inferred; in f64 where it is wide.
fn ran(
    g: &Graph,
    case: &Case,
    line: &Range<usize>,
    id: ValueId,
    wide: bool,
) -> Result<Fate, String> {
    let options = Options { keep: vec![id], wide, ..Options::default() };
    let o = match evaluate(g, &Env::default(), &case.tensors(), &options) {
        Ok(o) => o,
        Err(d) => {
            placed(&d, line)?;
            return Ok(Fate::Refused(vec![d.message]));
        }
    };
    let kept = o.kept.first().map(|(_, t)| t);
    let Some(t) = kept.or(o.outputs.first().filter(|_| case.result.is_some())) else {
        return Ok(Fate::Gives(None));
    };
    let ty = g.ty(id);
    let dtype = if wide && ty.dtype.is_float() { DType::F64 } else { ty.dtype };
    let extent = |e: &Expr| usize::try_from(e.as_int()?).ok();
    let shape: Option<Vec<usize>> = ty.shape.iter().map(extent).collect();
    match (t.dtype(), Some(t.shape())) == (dtype, shape.as_deref()) {
        true => Ok(Fate::Gives(Some(t.clone()))),
        false => Err(format!(
            "it is {} by its type, and {}{:?} by evaluation",
            ty.show(&g.vars),
            t.dtype(),
            t.shape()
        )),
    }
}

/// A diagnostic is no defect, and stands in the function it is about.
fn placed(d: &Diagnostic, line: &Range<usize>) -> Result<(), String> {
    let inside = d.span().is_some_and(|s| {
        line.contains(&(s.start as usize)) && s.end as usize <= line.end && s.start < s.end
    });
    match (d.code, inside) {
        (Code::Internal, _) => Err(format!("it is a defect: {}", d.message)),
        (_, false) => Err(format!("it has no place: {}", d.message)),
        _ => Ok(()),
    }
}

/// Operands of other dtypes, ranks and extents.
fn operands(base: &Case) -> Vec<Case> {
    let mut out = vec![];
    let mut all_of = |d: DType| {
        let mut c = base.clone();
        c.inputs.iter_mut().for_each(|i| i.1 = d);
        out.push(c);
    };
    DType::ALL.into_iter().for_each(&mut all_of);
    for (i, (_, _, shape, _)) in base.inputs.iter().enumerate() {
        let mut with = |d: Option<DType>, shape: Option<Vec<usize>>| {
            let mut c = base.clone();
            if let Some(input) = c.inputs.get_mut(i) {
                input.1 = d.unwrap_or(input.1);
                input.2 = shape.unwrap_or_else(|| input.2.clone());
            }
            out.push(c);
        };
        DType::ALL.into_iter().for_each(|d| with(Some(d), None));
        for rank in 0..=5 {
            let extents = shape.iter().copied().chain([2; 5]);
            with(None, Some(extents.take(rank).collect()));
            let mut front = vec![1; rank.saturating_sub(shape.len())];
            front.extend(shape.iter().rev().take(rank).rev());
            with(None, Some(front));
        }
        for axis in 0..shape.len() {
            for n in [0, 1, shape[axis] + 1, shape[axis] * 2] {
                let mut s = shape.clone();
                s[axis] = n;
                with(None, Some(s));
            }
        }
    }
    out
}

/// What may stand as an argument, right or wrong.
fn values(base: &Case, p: &Param) -> Vec<String> {
    let mut out: Vec<String> = [
        "0",
        "1",
        "-1",
        "2",
        "7",
        "-7",
        "100",
        "1000000000000",
        "9223372036854775807",
        "-9223372036854775807",
        "1.5",
        "1e300",
        "inf",
        "-inf",
        "true",
        "false",
        "\"text\"",
        "\"\"",
        "f32",
        "f32[2]",
        "f32[0, 3]",
        "[]",
        "[0]",
        "[1, 1]",
        "[0, 1]",
        "[-1, 9]",
        "[1.5]",
        "[9223372036854775807, 9223372036854775807]",
        "[[1]]",
        "(1, 2)",
        "0..2",
        "gmem",
        "no_such",
        "exp",
    ]
    .map(String::from)
    .to_vec();
    if let ParamKind::DType | ParamKind::Type = p.kind {
        out.extend(DType::ALL.map(|d| d.to_string()));
    }
    for (name, ..) in &base.inputs {
        out.extend([name.clone(), format!("[{name}]"), format!("[{name}, {name}]")]);
    }
    out
}

/// Arguments of other kinds and values, missing, doubled, unknown, too many.
fn arguments(base: &Case, op: &dyn Op) -> Vec<Case> {
    let Some((before, args, after)) = call(&base.code, op.name()) else { return vec![] };
    let with = |args: Vec<String>| Case {
        code: format!("{before}{}({}){after}", op.name(), args.join(", ")),
        inputs: base.inputs.clone(),
        result: None,
    };
    let name_of = |a: &String| {
        let at = scan(a, |c, depth| c == '=' && depth == 0)?;
        Some(a[..at].trim().to_string())
    };
    let mut out = vec![with(vec![])];
    for i in 0..args.len() {
        let mut fewer = args.clone();
        fewer.remove(i);
        out.push(with(fewer));
        let mut more = args.clone();
        more.insert(i, args[i].clone());
        out.push(with(more));
    }
    let first = base.inputs.first().map_or("1".to_string(), |i| i.0.clone());
    for extra in [first.clone(), "1".into(), format!("no_such = {first}"), format!("inout {first}")]
    {
        let mut more = args.clone();
        more.push(extra);
        out.push(with(more));
    }
    let mut place = 0;
    for p in op.params() {
        let at = match p.positional {
            true => {
                place += 1;
                args.iter().enumerate().filter(|(_, a)| name_of(a).is_none()).nth(place - 1)
            }
            false => args.iter().enumerate().find(|(_, a)| name_of(a).as_deref() == Some(p.name)),
        }
        .map(|(i, _)| i);
        for v in values(base, p) {
            let text = if p.positional { v } else { format!("{} = {v}", p.name) };
            let mut changed = args.clone();
            match at {
                Some(i) => changed[i] = text,
                None => changed.push(text),
            }
            out.push(with(changed));
        }
    }
    out
}

#[test]
fn documents_give_what_they_say() {
    for op in OPS {
        let examples = op.doc().examples;
        let typed = |e: &Example| Case { result: Some(e.result.0), ..case(e) };
        let cases: Vec<Case> = examples.iter().map(typed).collect();
        for (got, e) in fates(&cases).into_iter().zip(examples) {
            let got = got.unwrap_or_else(|e| panic!("{e}"));
            let t = match got {
                Fate::Gives(t) => t.unwrap_or_else(|| panic!("{}: nothing", e.code)),
                Fate::Refused(why) => panic!("{}: {}", e.code, why.join("\n")),
            };
            let (d, shape) = parse_type(e.result.0);
            assert_eq!((t.dtype(), t.shape()), (d, &shape[..]), "{}", e.code);
            let want = Tensor::from_f64s(d, shape, e.result.1.to_vec());
            for (g, w) in t.to_f64s().iter().zip(want.to_f64s().iter()) {
                let near = d == DType::F32 && (g - w).abs() <= w.abs() * 1.2e-7;
                let same = g == w || (g.is_nan() && w.is_nan());
                assert!(same || near, "{}: {g}, not {w}", e.code);
            }
        }
    }
}

#[test]
fn wrong_calls_are_refused_with_a_place() {
    let counts = |op: &&dyn Op| {
        let mut cases = vec![];
        let mut argued = false;
        for e in op.doc().examples {
            let base = case(e);
            cases.extend(operands(&base));
            if !argued {
                let wrong = arguments(&base, *op);
                argued = !wrong.is_empty();
                cases.extend(wrong);
            }
        }
        let (mut gave, mut refused, mut broken) = (0usize, 0usize, vec![]);
        for f in fates(&cases) {
            match f {
                Ok(Fate::Gives(t)) => gave += usize::from(t.is_some()),
                Ok(Fate::Refused(_)) => refused += 1,
                Err(e) => broken.push(e),
            }
        }
        // something must be refused of every op, or the calls are not wrong
        if refused == 0 {
            broken.push(format!("no call of `{}` is refused", op.name()));
        }
        (gave, refused, broken)
    };
    let all: Vec<_> = OPS.par_iter().map(counts).collect();
    let broken: Vec<&String> = all.iter().flat_map(|(_, _, b)| b).collect();
    let (gave, refused) = all.iter().fold((0, 0), |(g, r), c| (g + c.0, r + c.1));
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), gave + refused, {
        let shown: Vec<&str> = broken.iter().take(60).map(|s| s.as_str()).collect();
        shown.join("\n")
    });
    assert!(gave > 5_000 && refused > 15_000, "{gave} work, {refused} are refused");
}
