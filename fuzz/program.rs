//! Whole programs: whatever the text, checking it ends without a panic; what compiles passes the
//! verifier, prints, and is analysed at its smallest sizes.

use crate::mutate::Rng;
use tilefoundry::analysis;
use tilefoundry::base::FileId;
use tilefoundry::diag::render_text;
use tilefoundry::graph::{dot, json, print, verify};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::syntax::token::lex;
use tilefoundry::types::dim::Env;

/// Compiles and analyses `data`; a text for each distinct outcome, `None` where it is refused.
pub fn run(data: &[u8]) -> Option<String> {
    let sources = MemorySources::one("fuzz.tf", data.to_vec());
    let session = Session::open(&sources, "fuzz.tf", &[], Targets::default());
    let diags = session.diagnostics();
    for d in diags.iter().take(8) {
        assert!(!render_text(d, session.sources(), false).is_empty());
    }
    let mut out = None;
    for root in session.roots() {
        let compiled = session.compile(root);
        let Some(g) = &compiled.graph else { continue };
        if let Err(e) = verify::verify(g) {
            panic!("a graph that does not verify: {e:?}");
        }
        let text = print::print(g);
        assert!(!dot::dot(g).is_empty());
        let _ = json::json(g);
        let mut env = Env::default();
        for d in &g.dims {
            let lo = g.vars.get(*d).and_then(|i| i.lo.as_int()).unwrap_or(1);
            env.set(*d, lo);
        }
        let target = g.target.as_deref().and_then(|t| Targets::default().find(t).ok());
        let _ = analysis::analyze(g, &env, target.as_ref(), &analysis::Options::default());
        out = Some(format!("{}{text}", out.unwrap_or_default()));
    }
    out
}

/// Deletes, doubles, swaps or replaces tokens, which gets past the parser more often than bytes do.
pub fn tokens(rng: &mut Rng, data: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(data).ok()?;
    let lexed = lex(FileId(0), text);
    let n = lexed.tokens.len();
    if n < 2 {
        return None;
    }
    let mut words: Vec<String> = vec![];
    let mut at = 0usize;
    for t in &lexed.tokens {
        // what stands between is kept, so that lines stay lines
        let gap = text.get(at..t.start as usize).unwrap_or(" ");
        let word = text.get(t.start as usize..t.end as usize)?;
        words.push(format!("{gap}{word}"));
        at = t.end as usize;
    }
    for _ in 0..=rng.below(3) {
        let i = rng.below(words.len());
        let j = rng.below(words.len());
        match rng.below(5) {
            0 => words[i].clear(),
            1 => {
                let w = words[i].clone();
                words.insert(i, w);
            }
            2 => words.swap(i, j),
            3 => {
                let w = words[j].clone();
                words[i] = w;
            }
            _ => {
                let numbers = ["0", "1", "2", "3", "7", "64", "128", "4096", "-1", "1.5", "inf"];
                words[i] = format!(" {}", numbers[rng.below(numbers.len())]);
            }
        }
    }
    Some(words.concat().into_bytes())
}
