//! What `generate` asks of a function: one step of a causal LM.

use crate::graph::{Graph, Param, ParamKind, ValueId};
use crate::types::dim::{Expr, VarId};
use crate::types::ty::TensorTy;

/// The contract, as a refusal states it.
pub const CONTRACT: &str = "\
a step takes the token, an integer of one element; every other parameter is `inout` (a cache, zeros
at first) or a weight; its first result that is an integer of one element is the next token; at
most one dim counts the tokens in the cache: 1 at the first step, and 1 more at each";

/// Where a function has what the contract asks for.
#[derive(Debug)]
pub struct Contract {
    /// The parameter that is the token.
    pub token: usize,
    /// The output that is the next token.
    pub next: usize,
    /// The output that has a number for each token.
    pub logits: Option<usize>,
    /// How many outputs are results; those behind are the caches, in the order of their
    /// parameters.
    pub results: usize,
    pub count: Option<Count>,
}

/// The dim that counts the tokens in the cache.
#[derive(Debug)]
pub struct Count {
    pub var: VarId,
    pub name: String,
    /// The tokens that a cache holds.
    pub most: i64,
}

fn all_one(shape: &[Expr]) -> bool {
    shape.iter().all(Expr::is_one)
}

fn is_token(ty: &TensorTy) -> bool {
    ty.dtype.is_int() && all_one(&ty.shape)
}

impl Contract {
    /// Reads it off a graph's parameters, outputs and dims.
    ///
    /// # Errors
    /// The first thing that is not as the contract says.
    pub fn read(g: &Graph) -> Result<Contract, String> {
        let token = token(g)?;
        let count = count(g)?;
        for p in &g.params {
            let mut vars = g.ty(p.value).shape.iter().flat_map(Expr::vars);
            if let Some(v) = vars.find(|v| g.dims.contains(v)) {
                return Err(format!(
                    "the shape of `{}` depends on `{}`, which grows: declare it for as many tokens \
                     as it can hold, and use a window",
                    shown(g, p),
                    g.vars.name(v)
                ));
            }
        }
        let states = g.params.iter().filter(|p| p.kind == ParamKind::Inout).count();
        let results = g.outputs.len().saturating_sub(states);
        let of: Vec<(usize, ValueId)> =
            g.outputs.iter().take(results).map(|o| o.value).enumerate().collect();
        let next = of.iter().find(|(_, v)| is_token(g.ty(*v))).ok_or_else(|| {
            let all: Vec<String> =
                of.iter().map(|(_, v)| format!("`{}`", g.ty(*v).show(&g.vars))).collect();
            match all.is_empty() {
                true => "it has no result, so no next token".to_string(),
                false => format!("no result is a next token; it has {}", all.join(", ")),
            }
        })?;
        let logits = of.iter().find(|(_, v)| {
            let ty = g.ty(*v);
            let Some((last, lead)) = ty.shape.split_last() else { return false };
            ty.dtype.is_float() && all_one(lead) && !last.is_one()
        });
        Ok(Contract { token, next: next.0, logits: logits.map(|l| l.0), results, count })
    }
}

/// `x: f32[4]`
fn shown(g: &Graph, p: &Param) -> String {
    format!("{}: {}", p.name, g.ty(p.value).show(&g.vars))
}

fn token(g: &Graph) -> Result<usize, String> {
    let args = g.params.iter().enumerate().filter(|(_, p)| p.kind == ParamKind::Arg);
    let (tokens, others): (Vec<_>, Vec<_>) = args.partition(|(_, p)| is_token(g.ty(p.value)));
    match (tokens.as_slice(), others.first()) {
        (_, Some((_, p))) => Err(format!(
            "its parameter `{}` is not a token, not `inout`, not a weight",
            shown(g, p)
        )),
        ([], None) => Err("no parameter is a token".into()),
        ([(i, _)], None) => Ok(*i),
        ([(_, a), (_, b), ..], None) => {
            Err(format!("both `{}` and `{}` could be the token", shown(g, a), shown(g, b)))
        }
    }
}

fn count(g: &Graph) -> Result<Option<Count>, String> {
    let var = match g.dims.as_slice() {
        [] => return Ok(None),
        [var] => *var,
        many => {
            let names: Vec<String> =
                many.iter().map(|v| format!("`{}`", g.vars.name(*v))).collect();
            return Err(format!(
                "it depends on {} dims, {}: make consts of those that do not count tokens",
                many.len(),
                names.join(", ")
            ));
        }
    };
    let name = g.vars.name(var).to_string();
    let bounds = g.vars.get(var).map(|i| (g.vars.lower(&i.lo), g.vars.upper(&i.hi)));
    let (lo, hi) = bounds.unwrap_or_default();
    let (lo, most) = (lo.unwrap_or(1), hi.unwrap_or(i64::MAX));
    if lo > 1 || most < 1 {
        return Err(format!("`{name}` is in {lo}..={most}, and is 1 at the first step"));
    }
    Ok(Some(Count { var, name, most }))
}
