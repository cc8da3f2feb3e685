//! Holds outputs against references.

use super::complaint;
use super::diff::faults;
use super::measure::{Measured, finite, measure, norms, rel_l2};
use super::predicate::Predicate;
use super::report::{OutputReport, Report, Truth, Verdict};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::types::value::Tensor;

/// A predicate for one output, or for every output where none is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub output: Option<String>,
    pub predicate: Predicate,
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The candidate's outputs, by name.
    pub outputs: &'a [(String, Tensor)],
    /// One for each output, in the same order.
    pub references: Option<&'a [Tensor]>,
    /// The f64 evaluation, one for each output.
    pub truth: Option<&'a [Tensor]>,
    /// NaN on both sides counts as equal, in `equal` only.
    pub nan_equal: bool,
}

/// Checks that the judgements name outputs, leave none out and suit them; then judges.
///
/// # Errors
/// A judgement that names no output, an output without a judgement, a predicate that does not
/// suit a dtype or lacks its reference.
pub fn judge(case: &Case, judgements: &[Judgement]) -> Result<Report, Vec<Diagnostic>> {
    let problems = check(case, judgements);
    if !problems.is_empty() {
        return Err(problems);
    }
    let outputs: Vec<OutputReport> = case
        .outputs
        .iter()
        .enumerate()
        .map(|(i, (name, c))| {
            let asked = judgements.iter().filter(|j| names(j, name)).map(|j| &j.predicate);
            one(case, i, name, c, &asked.collect::<Vec<_>>())
        })
        .collect();
    Ok(Report { pass: outputs.iter().all(|o| o.pass), sources: vec![], outputs })
}

fn names(j: &Judgement, output: &str) -> bool {
    j.output.as_deref().is_none_or(|o| o == output)
}

fn check(case: &Case, judgements: &[Judgement]) -> Vec<Diagnostic> {
    let known: Vec<&str> = case.outputs.iter().map(|(n, _)| n.as_str()).collect();
    let mut out = vec![];
    for j in judgements {
        let Some(name) = j.output.as_deref().filter(|n| !known.contains(n)) else { continue };
        let mut d = complaint(Code::UnknownOutput, format!("there is no output `{name}`"));
        d.help = Some(match did_you_mean(name, known.iter().copied()) {
            Some(n) => format!("did you mean `{n}`?"),
            None => format!("there are: {}", known.join(", ")),
        });
        out.push(d);
    }
    for (i, (name, c)) in case.outputs.iter().enumerate() {
        let mut judged = false;
        for j in judgements.iter().filter(|j| names(j, name)) {
            judged = true;
            out.extend(suits(case, i, name, c, &j.predicate));
        }
        if !judged {
            let mut d =
                complaint(Code::UnjudgedOutput, format!("no predicate judges output `{name}`"));
            d.help = Some(format!("add `--out {name} --fn PREDICATE`; `--suggest` proposes one"));
            out.push(d);
        }
    }
    let lengths = [("references", case.references), ("truth", case.truth)];
    for (what, side) in lengths {
        if let Some(side) = side.filter(|s| s.len() != case.outputs.len()) {
            let (n, m) = (side.len(), case.outputs.len());
            out.push(complaint(Code::BindInput, format!("{n} {what} for {m} outputs")));
        }
    }
    out
}

fn suits(case: &Case, i: usize, name: &str, c: &Tensor, p: &Predicate) -> Option<Diagnostic> {
    if !c.dtype().is_float() && !p.takes_integers() {
        let text = format!("`{}` cannot judge `{name}`, which is {}", p.name(), c.dtype());
        let mut d = complaint(Code::BadPredicate, text);
        d.help = Some("integers and bools are judged by `equal`".into());
        return Some(d);
    }
    let reference = case.references.and_then(|r| r.get(i));
    if p.needs_reference() && reference.is_none() {
        let text = format!("`{}` on `{name}` needs a reference", p.name());
        let mut d = complaint(Code::NoReference, text);
        d.help = Some("give `--expected FILE`, or judge by `finite`".into());
        return Some(d);
    }
    if matches!(p, Predicate::NoWorse { .. }) && case.truth.is_none() {
        let mut d = complaint(Code::NoReference, format!("`no_worse` on `{name}` needs the truth"));
        d.help = Some("add `--truth f64`".into());
        return Some(d);
    }
    None
}

fn one(case: &Case, i: usize, name: &str, c: &Tensor, asked: &[&Predicate]) -> OutputReport {
    let reference = case.references.and_then(|r| r.get(i));
    let truth = case.truth.and_then(|t| t.get(i)).filter(|t| t.shape() == c.shape());
    let mut out = OutputReport {
        name: name.into(),
        dtype: c.dtype().name(),
        shape: c.shape().to_vec(),
        reference_norm: reference.map(|r| norms(r, r).reference),
        mismatch: reference.and_then(|r| mismatch(c, r)),
        verdicts: vec![],
        truth: None,
        faults: None,
        pass: false,
    };
    if out.mismatch.is_some() {
        return out;
    }
    out.truth = truth
        .filter(|_| c.dtype().is_float())
        .map(|t| Truth { candidate: distance(c, t), reference: reference.map(|r| distance(r, t)) });
    let n = reference.map(|r| norms(c, r)).unwrap_or_default();
    for p in asked {
        let m = match (p, reference) {
            (Predicate::NoWorse { slack }, _) => no_worse(*slack, out.truth.as_ref()),
            (Predicate::Finite, _) | (_, None) => finite(c),
            (p, Some(r)) => measure(p, c, r, &n, case.nan_equal),
        };
        if !m.pass && out.faults.is_none() {
            out.faults = faults(p, c, reference, case.nan_equal && **p == Predicate::Equal);
        }
        out.verdicts.push(Verdict { predicate: **p, value: m.value, pass: m.pass, note: m.note });
    }
    out.pass = out.verdicts.iter().all(|v| v.pass);
    out
}

fn mismatch(c: &Tensor, r: &Tensor) -> Option<String> {
    let show = |t: &Tensor| format!("{}{:?}", t.dtype(), t.shape());
    let same = c.dtype() == r.dtype() && c.shape() == r.shape();
    (!same).then(|| format!("the candidate is {}, the reference {}", show(c), show(r)))
}

/// `rel_l2` to the truth.
fn distance(t: &Tensor, truth: &Tensor) -> f64 {
    rel_l2(&norms(t, truth)).0
}

fn no_worse(slack: f64, truth: Option<&Truth>) -> Measured {
    let Some(Truth { candidate: c, reference: Some(r) }) = truth else {
        return Measured { value: f64::NAN, pass: false, note: Some("there is no truth".into()) };
    };
    let value = if *r == 0.0 && *c == 0.0 { 0.0 } else { c / r };
    Measured { value, pass: *c <= slack * r, note: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::dtype::DType;

    fn t(dtype: DType, v: &[f64]) -> Tensor {
        Tensor::from_f64s(dtype, vec![v.len()], v.to_vec())
    }

    fn on(output: Option<&str>, predicate: Predicate) -> Judgement {
        Judgement { output: output.map(Into::into), predicate }
    }

    fn outputs() -> Vec<(String, Tensor)> {
        vec![
            ("output[0]".into(), t(DType::F32, &[1.0, 2.0])),
            ("output[1]".into(), t(DType::I32, &[3.0, 4.0])),
        ]
    }

    fn case<'a>(o: &'a [(String, Tensor)], r: Option<&'a [Tensor]>) -> Case<'a> {
        Case { outputs: o, references: r, truth: None, nan_equal: false }
    }

    #[test]
    fn nothing_is_judged_by_default() {
        let o = outputs();
        let r: Vec<Tensor> = o.iter().map(|(_, t)| t.clone()).collect();
        let codes = |j: &[Judgement]| {
            judge(&case(&o, Some(&r)), j).unwrap_err().iter().map(|d| d.code).collect::<Vec<_>>()
        };
        assert_eq!(codes(&[]), [Code::UnjudgedOutput, Code::UnjudgedOutput]);
        let near = Predicate::RelL2 { max: 0.1 };
        assert_eq!(codes(&[on(None, near)]), [Code::BadPredicate]);
        let j = [on(Some("output[0]"), near), on(Some("outputs[1]"), Predicate::Equal)];
        let e = judge(&case(&o, Some(&r)), &j).unwrap_err();
        assert_eq!(
            e.iter().map(|d| d.code).collect::<Vec<_>>(),
            [Code::UnknownOutput, Code::UnjudgedOutput]
        );
        assert_eq!(e[0].help.as_deref(), Some("did you mean `output[1]`?"));
        let j = [on(Some("output[0]"), near), on(Some("output[1]"), Predicate::Equal)];
        assert!(judge(&case(&o, Some(&r)), &j).unwrap().pass);
        assert_eq!(judge(&case(&o, None), &j).unwrap_err()[0].code, Code::NoReference);
    }

    #[test]
    fn one_failure_fails_and_shape_comes_first() {
        let o = outputs();
        let r = [t(DType::F32, &[1.0, 3.0]), t(DType::I32, &[3.0, 4.0, 5.0])];
        let j = [on(Some("output[0]"), Predicate::MaxAbs { max: 2.0 }), on(None, Predicate::Equal)];
        let report = judge(&case(&o, Some(&r)), &j).unwrap();
        assert!(!report.pass);
        let first = &report.outputs[0];
        assert_eq!(first.verdicts.iter().map(|v| v.pass).collect::<Vec<_>>(), [true, false]);
        assert_eq!(first.faults.as_ref().unwrap().first.index, [1]);
        assert!(report.outputs[1].mismatch.as_ref().unwrap().contains("i32[2]"));
        assert!(report.outputs[1].verdicts.is_empty() && !report.outputs[1].pass);
    }

    #[test]
    fn truth_says_who_is_closer() {
        let o = vec![("output".to_string(), t(DType::F32, &[1.0, 2.0]))];
        let (r, truth) = ([t(DType::F32, &[1.0, 2.5])], [t(DType::F64, &[1.0, 2.1])]);
        let mut c = case(&o, Some(&r));
        let j = [on(None, Predicate::NoWorse { slack: 1.0 })];
        assert_eq!(judge(&c, &j).unwrap_err()[0].code, Code::NoReference);
        c.truth = Some(&truth);
        let report = judge(&c, &j).unwrap();
        assert!(report.pass);
        let seen = report.outputs[0].truth.as_ref().unwrap();
        assert!(seen.candidate < seen.reference.unwrap());
    }

    #[test]
    fn finite_needs_one_side() {
        let o = vec![("output".to_string(), t(DType::F32, &[1.0, f64::NAN]))];
        let report = judge(&case(&o, None), &[on(None, Predicate::Finite)]).unwrap();
        assert!(!report.pass);
        assert_eq!(report.outputs[0].faults.as_ref().unwrap().first.index, [1]);
    }
}
