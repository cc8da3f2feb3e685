//! `[--out NAME] --fn PREDICATE [--atol A ..]`, any number of times: what stands where counts.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, error::ErrorKind};

use crate::check::judge::Judgement;
use crate::check::predicate::{self, Predicate};
use crate::diag::Diagnostic;

/// The predicates asked for, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked(Vec<One>);

#[derive(Clone, Debug, Default, PartialEq)]
struct One {
    output: Option<String>,
    name: String,
    options: predicate::Args,
}

const OPTIONS: &[(&str, &str)] = &[
    ("atol", "Absolute tolerance of `allclose`"),
    ("rtol", "Relative tolerance of `allclose`"),
    ("max", "Bound of `rel_l2`, `max_abs`, `max_rel` and `ulp`"),
    ("min", "Bound of `cosine`"),
    ("k", "How many elements `topk` looks at"),
    ("min-overlap", "Share of common indices that `topk` asks for"),
    ("axis", "Axis of `topk`"),
    ("slack", "Factor of `no_worse`"),
];

impl Asked {
    /// The judgements.
    ///
    /// # Errors
    /// A predicate that does not exist, or an option that it lacks or does not have.
    pub fn judgements(&self) -> Result<Vec<Judgement>, Box<Diagnostic>> {
        self.0
            .iter()
            .map(|o| {
                let predicate = Predicate::new(&o.name, &o.options)?;
                Ok(Judgement { output: o.output.clone(), predicate })
            })
            .collect()
    }
}

impl clap::Args for Asked {
    fn augment_args(cmd: Command) -> Command {
        let text = |id: &'static str, name: &'static str, help: &'static str| {
            Arg::new(id).long(id).value_name(name).help(help).action(ArgAction::Append)
        };
        let names: Vec<&str> = predicate::PREDICATES.iter().map(|(n, _)| *n).collect();
        let mut cmd = cmd
            .arg(text("out", "NAME", "The output that the predicates after it judge"))
            .arg(text("fn", "PREDICATE", "Judge by a predicate; its options follow it").long_help(
                format!(
                    "Judge by a predicate; its options follow it. Predicates: {}",
                    names.join(", ")
                ),
            ));
        for (id, help) in OPTIONS {
            cmd = cmd.arg(text(id, "X", help).allow_negative_numbers(true));
        }
        cmd
    }

    fn augment_args_for_update(cmd: Command) -> Command {
        Self::augment_args(cmd)
    }
}

impl FromArgMatches for Asked {
    fn from_arg_matches(m: &ArgMatches) -> Result<Asked, Error> {
        let ids = ["out", "fn"].into_iter().chain(OPTIONS.iter().map(|(id, _)| *id));
        let mut all: Vec<(usize, &str, &String)> = vec![];
        for id in ids {
            let (Some(at), Some(values)) = (m.indices_of(id), m.get_many::<String>(id)) else {
                continue;
            };
            all.extend(at.zip(values).map(|(i, v)| (i, id, v)));
        }
        all.sort_by_key(|(i, ..)| *i);
        let mut out = Asked::default();
        let mut output = None;
        let wrong = |text: String| Error::raw(ErrorKind::ValueValidation, text + "\n");
        for (_, id, v) in all {
            match id {
                "out" => output = Some(v.clone()),
                "fn" => {
                    let output = output.clone();
                    out.0.push(One { output, name: v.clone(), ..One::default() });
                }
                _ => {
                    let Some(last) = out.0.last_mut() else {
                        return Err(wrong(format!("`--{id}` stands after the `--fn` it is for")));
                    };
                    set(&mut last.options, id, v)
                        .ok_or_else(|| wrong(format!("`--{id} {v}` is not a number")))?;
                }
            }
        }
        Ok(out)
    }

    fn update_from_arg_matches(&mut self, m: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(m)?;
        Ok(())
    }
}

fn set(o: &mut predicate::Args, id: &str, text: &str) -> Option<()> {
    match id {
        "k" => o.k = Some(text.parse().ok()?),
        "axis" => o.axis = Some(text.parse().ok()?),
        _ => {
            let x: f64 = text.parse().ok()?;
            let slot = match id {
                "atol" => &mut o.atol,
                "rtol" => &mut o.rtol,
                "max" => &mut o.max,
                "min" => &mut o.min,
                "min-overlap" => &mut o.min_overlap,
                _ => &mut o.slack,
            };
            *slot = Some(x);
        }
    }
    Some(())
}
