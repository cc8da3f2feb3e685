//! The text of an einsum: `"bhqd,bhkd->bhqk"`.

/// An axis' name. Axes of `...` are numbered from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Letter(char),
    Rest(usize),
}

impl Label {
    pub fn show(self) -> String {
        match self {
            Label::Letter(c) => c.to_string(),
            Label::Rest(_) => "...".into(),
        }
    }
}

/// The most axes that a text may name, so that a set of them is a number.
const MAX_LABELS: usize = 64;

/// Each label once, in order of appearance.
pub fn distinct(labels: &[Label]) -> Vec<Label> {
    let mut out: Vec<Label> = vec![];
    for l in labels {
        if !out.contains(l) {
            out.push(*l);
        }
    }
    out
}

/// The axes of each operand and of the result. A label that stands twice in an operand takes its
/// diagonal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub inputs: Vec<Vec<Label>>,
    pub output: Vec<Label>,
}

impl Spec {
    /// Reads the text for operands of these ranks; the error says what does not fit.
    pub fn parse(text: &str, ranks: &[usize]) -> Result<Spec, String> {
        let (left, right) =
            text.split_once("->").ok_or("it has no `->`, which the axes of the result follow")?;
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(format!(
                "it names {} operands, and {} are given",
                terms.len(),
                ranks.len()
            ));
        }
        let mut inputs = vec![];
        let mut widest = 0;
        for (i, (term, rank)) in terms.iter().zip(ranks).enumerate() {
            let letters = term.replace("...", "").chars().filter(|c| !c.is_whitespace()).count();
            let rest = match rank.checked_sub(letters) {
                Some(r) if term.contains("...") => r,
                Some(0) => 0,
                _ => return Err(format!("operand {i} has {rank} axes, and it names {letters}")),
            };
            widest = widest.max(rest);
            inputs.push(labels(term, rest)?);
        }
        let output = labels(right, widest)?;
        if let Some((i, l)) = output.iter().enumerate().find(|(i, l)| output[..*i].contains(l)) {
            return Err(format!("the result names axis `{}` twice, at {i}", l.show()));
        }
        if let Some(l) = output.iter().find(|l| !inputs.iter().any(|t| t.contains(l))) {
            return Err(format!("axis `{}` of the result is in no operand", l.show()));
        }
        let spec = Spec { inputs, output };
        match spec.all().len() {
            n if n > MAX_LABELS => {
                Err(format!("it names {n} axes, and at most {MAX_LABELS} are taken"))
            }
            _ => Ok(spec),
        }
    }

    /// Whether an operand names an axis twice.
    pub fn diagonal(&self) -> bool {
        self.inputs.iter().any(|t| distinct(t).len() != t.len())
    }

    /// Every label: those of the result, then those that are summed, in order of appearance.
    pub fn all(&self) -> Vec<Label> {
        let inputs = self.inputs.iter().flatten();
        distinct(&self.output.iter().chain(inputs).copied().collect::<Vec<_>>())
    }

    /// Whether a label is used by the result or by an operand after the first `done`.
    pub fn needed(&self, l: Label, done: usize) -> bool {
        self.output.contains(&l) || self.inputs.iter().skip(done).any(|t| t.contains(&l))
    }

    /// The steps: operands are taken from left to right.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = vec![];
        let inputs: Vec<Vec<Label>> = self.inputs.iter().map(|t| distinct(t)).collect();
        let mut acc = inputs.first().cloned().unwrap_or_default();
        if self.inputs.len() == 1 {
            let keep: Vec<Label> = acc.iter().copied().filter(|l| self.needed(*l, 1)).collect();
            if keep.len() != acc.len() {
                steps.push(Step::Sum { right: false, from: acc, keep });
            }
            return steps;
        }
        for (i, mut b) in inputs.into_iter().enumerate().skip(1) {
            // what only one of the two has, and nothing needs later, is summed beforehand
            let keep_a: Vec<Label> =
                acc.iter().copied().filter(|l| b.contains(l) || self.needed(*l, i)).collect();
            let keep_b: Vec<Label> =
                b.iter().copied().filter(|l| acc.contains(l) || self.needed(*l, i + 1)).collect();
            if keep_a.len() != acc.len() {
                steps.push(Step::Sum { right: false, from: acc, keep: keep_a.clone() });
            }
            if keep_b.len() != b.len() {
                steps.push(Step::Sum { right: true, from: b, keep: keep_b.clone() });
            }
            (acc, b) = (keep_a, keep_b);
            let (both, m): (Vec<_>, Vec<_>) = acc.iter().partition(|l| b.contains(l));
            let n = b.iter().copied().filter(|l| !acc.contains(l)).collect();
            let (batch, k) = both.into_iter().partition(|l| self.needed(*l, i + 1));
            let p = Product { a: acc, b, batch, m, n, k };
            acc = p.result();
            steps.push(Step::Product(p));
        }
        steps
    }
}

/// One step of an einsum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sums what is there so far, or the operand that comes next, over the labels not kept.
    Sum {
        right: bool,
        from: Vec<Label>,
        keep: Vec<Label>,
    },
    Product(Product),
}

/// A batched matrix product of what is there so far (`a`) with the next operand (`b`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub a: Vec<Label>,
    pub b: Vec<Label>,
    pub batch: Vec<Label>,
    pub m: Vec<Label>,
    pub n: Vec<Label>,
    pub k: Vec<Label>,
}

impl Product {
    /// The labels of the result, in its order.
    pub fn result(&self) -> Vec<Label> {
        [self.batch.as_slice(), &self.m, &self.n].concat()
    }
}

fn labels(term: &str, rest: usize) -> Result<Vec<Label>, String> {
    let mut out = vec![];
    let mut chars = term.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '.' => {
                if chars.next() != Some('.') || chars.next() != Some('.') {
                    return Err(format!("`{}` has a dot that is not one of `...`", term.trim()));
                }
                out.extend((0..rest).rev().map(Label::Rest));
            }
            c if c.is_ascii_alphabetic() => out.push(Label::Letter(c)),
            c => return Err(format!("`{c}` names no axis: axes are letters or `...`")),
        }
    }
    let dots = term.matches("...").count();
    if dots > 1 {
        return Err(format!("`{}` has {dots} `...`, and one is taken", term.trim()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(s: &str) -> Vec<Label> {
        s.chars().map(Label::Letter).collect()
    }

    #[test]
    fn three_operands_go_left_to_right() {
        let s = Spec::parse("gr,grp,gn->grpn", &[2, 3, 2]).unwrap();
        assert_eq!(s.all(), letters("grpn"));
        let [Step::Product(p), Step::Product(q)] = &s.steps()[..] else { panic!() };
        assert_eq!((p.batch.clone(), p.n.clone()), (letters("gr"), letters("p")));
        assert!(p.k.is_empty() && q.k.is_empty());
        assert_eq!(q.result(), letters("grpn"));
    }

    #[test]
    fn dots_stand_for_leading_axes() {
        let s = Spec::parse("...qd,...kd->...qk", &[4, 4]).unwrap();
        assert_eq!(s.output.len(), 4);
        assert_eq!(s.output[0], Label::Rest(1));
        assert_eq!(s.all().len(), 5);
    }

    #[test]
    fn faults_are_named() {
        for (text, ranks, want) in [
            ("ab,bc", &[2, 2][..], "no `->`"),
            ("ab->a", &[2, 2], "names 1 operands"),
            ("ab,b->a", &[3, 1], "operand 0 has 3 axes"),
            ("ab->aa", &[2], "the result names axis `a` twice, at 1"),
            ("......->...", &[2], "has 2 `...`"),
            ("ab->c", &[2], "in no operand"),
            ("a1->a", &[2], "names no axis"),
        ] {
            let e = Spec::parse(text, ranks).unwrap_err();
            assert!(e.contains(want), "{text}: {e}");
        }
    }
}
