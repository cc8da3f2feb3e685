//! What a check found, as data and as text.

use std::fmt::Write;

use serde::Serialize;

use super::diff::{Element, Faults, number};
use super::predicate::Predicate;

/// Longest text of a report, in lines.
const LINES: usize = 40;

/// The whole of one check.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub pass: bool,
    /// Where each input came from, filled in by the caller.
    pub sources: Vec<Source>,
    pub outputs: Vec<OutputReport>,
}

/// Where one input came from.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    pub name: String,
    /// `random:7`, or the file.
    pub from: String,
    /// `bf16[4, 8]`, as declared and as found.
    pub declared: String,
    pub actual: String,
}

/// One output with all its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct OutputReport {
    pub name: String,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub reference_norm: Option<f64>,
    /// dtype or shape of the sides differ: nothing was measured.
    pub mismatch: Option<String>,
    pub verdicts: Vec<Verdict>,
    pub truth: Option<Truth>,
    /// Of the first predicate that failed.
    pub faults: Option<Faults>,
    pub pass: bool,
}

/// One predicate on one output.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub predicate: Predicate,
    #[serde(serialize_with = "number")]
    pub value: f64,
    pub pass: bool,
    pub note: Option<String>,
}

/// `rel_l2` of both sides to the f64 evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    #[serde(serialize_with = "number")]
    pub candidate: f64,
    pub reference: Option<f64>,
}

fn word(pass: bool) -> &'static str {
    if pass { "PASS" } else { "FAIL" }
}

impl Report {
    /// The report in at most 40 lines: failures first, then what passed.
    pub fn text(&self) -> String {
        let mut lines = vec![];
        for s in self.sources.iter().take(8) {
            let actual = if s.actual == s.declared {
                String::new()
            } else {
                format!(", found {}", s.actual)
            };
            lines.push(format!("input {}: {}{actual} from {}", s.name, s.declared, s.from));
        }
        if self.sources.len() > 8 {
            lines.push(format!("and {} more inputs", self.sources.len() - 8));
        }
        let (bad, good): (Vec<_>, Vec<_>) = self.outputs.iter().partition(|o| !o.pass);
        let mut hidden = 0;
        for o in bad.into_iter().chain(good) {
            let text = o.lines();
            if lines.len() + text.len() + 2 > LINES {
                hidden += 1;
            } else {
                lines.extend(text);
            }
        }
        if hidden > 0 {
            let failed = self.outputs.iter().filter(|o| !o.pass).count();
            lines.push(format!("{hidden} more outputs are not shown; {failed} failed in all"));
        }
        lines.push(word(self.pass).into());
        let mut out = lines.join("\n");
        out.push('\n');
        out
    }
}

impl OutputReport {
    fn lines(&self) -> Vec<String> {
        let mut head = format!("{} {}: {}{:?}", word(self.pass), self.name, self.dtype, self.shape);
        if let Some(n) = self.reference_norm {
            let _ = write!(head, ", reference norm {n:.4e}");
        }
        let mut out = vec![head];
        if let Some(m) = &self.mismatch {
            out.push(format!("  {m}"));
        }
        for v in &self.verdicts {
            let note = v.note.as_ref().map_or(String::new(), |n| format!(" ({n})"));
            out.push(format!("  {} {}: {}{note}", word(v.pass), v.predicate, v.measured()));
        }
        if let Some(t) = &self.truth {
            out.push(format!("  {}", t.text()));
        }
        if let Some(f) = &self.faults {
            out.extend(f.lines());
        }
        out
    }
}

impl Verdict {
    fn measured(&self) -> String {
        let v = self.value;
        match self.predicate {
            Predicate::Equal => format!("{v} elements differ"),
            Predicate::Finite => format!("{v} elements are not finite"),
            Predicate::Allclose { .. } => format!("largest violation {v:.4e}"),
            Predicate::Ulp { .. } => format!("{v}"),
            Predicate::Cosine { .. } => format!("{v:.9}"),
            Predicate::Topk { .. } => format!("least overlap {v:.4}"),
            Predicate::NoWorse { .. } => format!("{v:.4} of the reference's error"),
            _ => format!("{v:.4e}"),
        }
    }
}

impl Truth {
    fn text(&self) -> String {
        let Some(r) = self.reference else {
            return format!("to the f64 truth: candidate {:.3e}", self.candidate);
        };
        let closer = match self.candidate.partial_cmp(&r) {
            Some(std::cmp::Ordering::Less) => "the candidate is closer",
            Some(std::cmp::Ordering::Greater) => "the reference is closer",
            Some(std::cmp::Ordering::Equal) => "both are as close",
            None => "a side is NaN",
        };
        format!("to the f64 truth: candidate {:.3e}, reference {r:.3e}: {closer}", self.candidate)
    }
}

impl Faults {
    fn lines(&self) -> Vec<String> {
        let show = |e: &Element| match e.reference {
            Some(r) => format!("{:?}: {} for {r}", e.index, e.candidate),
            None => format!("{:?}: {}", e.index, e.candidate),
        };
        let share = 100.0 * self.count as f64 / self.of.max(1) as f64;
        let mut out = vec![
            format!("  {} of {} elements at fault ({share:.2} %)", self.count, self.of),
            format!("  first {}", show(&self.first)),
            format!("  worst {}", show(&self.worst)),
        ];
        // an axis of which every index is touched says nothing, unless all say so
        let telling: Vec<_> = self.spread.iter().filter(|s| s.touched < s.extent).collect();
        if telling.is_empty() && self.count > 1 {
            out.push("  spread over every index of every axis".into());
        }
        for s in telling.iter().take(6) {
            let of = format!("{} of {} indices", s.touched, s.extent);
            out.push(format!("  axis {}: {of}: {}", s.axis, s.indices));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::{Case, Judgement, judge};
    use super::*;
    use crate::types::dtype::DType;
    use crate::types::value::Tensor;

    fn report(n: usize) -> Report {
        let bad = |i: usize| if i.is_multiple_of(2) { 1.5 } else { 1.0 };
        let outputs: Vec<(String, Tensor)> = (0..n)
            .map(|i| {
                let v = vec![1.0, 1.0, bad(i), 1.0];
                (format!("output[{i}]"), Tensor::from_f64s(DType::F32, vec![2, 2], v))
            })
            .collect();
        let r: Vec<Tensor> = (0..n).map(|_| Tensor::full(DType::F32, vec![2, 2], 1.0)).collect();
        let case = Case { outputs: &outputs, references: Some(&r), truth: None, nan_equal: false };
        judge(&case, &[Judgement { output: None, predicate: Predicate::RelL2 { max: 1e-3 } }])
            .unwrap()
    }

    #[test]
    fn text_shows_what_failed_and_where() {
        let want = "\
FAIL output[0]: f32[2, 2], reference norm 2.0000e0
  FAIL rel_l2(max 1e-3): 2.5000e-1
  1 of 4 elements at fault (25.00 %)
  first [1, 0]: 1.5 for 1
  worst [1, 0]: 1.5 for 1
  axis 0: 1 of 2 indices: 1
  axis 1: 1 of 2 indices: 0
PASS output[1]: f32[2, 2], reference norm 2.0000e0
  PASS rel_l2(max 1e-3): 0.0000e0
FAIL
";
        assert_eq!(report(2).text(), want);
    }

    #[test]
    fn text_is_short_and_json_is_whole() {
        let r = report(60);
        assert!(r.text().lines().count() <= LINES);
        assert!(r.text().contains("30 failed in all"));
        let j = serde_json::to_value(&r).unwrap();
        assert_eq!(j["outputs"].as_array().unwrap().len(), 60);
        assert_eq!(j["outputs"][0]["verdicts"][0]["predicate"]["fn"], "rel_l2");
        assert_eq!(j["outputs"][0]["faults"]["first"]["index"][0], 1);
    }
}
