//! Symbolic integers: extents, coordinates, window bounds and trip counts.
//!
//! An [`Expr`] is a polynomial with integer coefficients over atoms. An atom is a variable, or a
//! `floor`/`ceil` division, remainder, `min` or `max` of two expressions. Equal polynomials are
//! equal as values, so equality of extents is decided by `==`. Bounds are decided by
//! [`VarTable::lower`], which eliminates variables by their own bounds, innermost first.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::base::Span;

/// A variable of a [`VarTable`]. Variables declared later may depend on those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarKind {
    /// A `dim`, or an extent generic while a function is checked alone.
    Dim,
    /// The coordinate of a mesh axis (its index in the program's axes).
    Coord(u32),
    /// A loop variable, or the start of a tile window.
    Loop,
    /// A rank-0 integer tensor used as a number (the value's index in its graph).
    Data(u32),
}

/// A variable with its inclusive bounds, which may use variables declared before it.
#[derive(Clone, Debug)]
pub struct VarInfo {
    pub name: String,
    pub kind: VarKind,
    pub lo: Expr,
    pub hi: Expr,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomOp {
    FloorDiv,
    CeilDiv,
    Rem,
    Min,
    Max,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    Var(VarId),
    Op(AtomOp, Arc<(Expr, Expr)>),
}

/// A product of atoms, sorted; empty for the constant term.
type Mono = SmallVec<[Atom; 1]>;

/// Most expressions are a number or one variable, and these need no memory of their own.
type Terms = SmallVec<[(Mono, i64); 1]>;

/// A polynomial: monomials in order with nonzero coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Expr {
    terms: Terms,
}

/// Values of variables, by id.
#[derive(Clone, Debug, Default)]
pub struct Env {
    values: Vec<Option<i64>>,
}

impl Env {
    pub fn get(&self, v: VarId) -> Option<i64> {
        self.values.get(v.0 as usize).copied().flatten()
    }

    pub fn set(&mut self, v: VarId, value: i64) {
        let i = v.0 as usize;
        if i >= self.values.len() {
            self.values.resize(i + 1, None);
        }
        if let Some(slot) = self.values.get_mut(i) {
            *slot = Some(value);
        }
    }

    pub fn unset(&mut self, v: VarId) {
        if let Some(slot) = self.values.get_mut(v.0 as usize) {
            *slot = None;
        }
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::int(value)
    }
}

impl Expr {
    pub fn int(value: i64) -> Expr {
        Expr { terms: if value == 0 { smallvec![] } else { smallvec![(smallvec![], value)] } }
    }

    pub fn zero() -> Expr {
        Expr::default()
    }

    pub fn one() -> Expr {
        Expr::int(1)
    }

    pub fn var(v: VarId) -> Expr {
        Atom::Var(v).expr()
    }

    fn atom(op: AtomOp, a: Expr, b: Expr) -> Expr {
        Atom::Op(op, Arc::new((a, b))).expr()
    }

    fn from_terms(mut terms: Terms) -> Expr {
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = Terms::with_capacity(terms.len());
        for (m, c) in terms {
            match out.last_mut() {
                Some((last, k)) if *last == m => *k = k.saturating_add(c),
                _ => out.push((m, c)),
            }
        }
        out.retain(|(_, c)| *c != 0);
        Expr { terms: out }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    pub fn is_one(&self) -> bool {
        self.as_int() == Some(1)
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn add(&self, other: &Expr) -> Expr {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        // both are in order
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Terms::new();
        while let (Some((x, j)), Some((y, k))) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                Ordering::Less => terms.extend(a.next().cloned()),
                Ordering::Greater => terms.extend(b.next().cloned()),
                Ordering::Equal => {
                    let sum = j.saturating_add(*k);
                    if sum != 0 {
                        terms.push((x.clone(), sum));
                    }
                    a.next();
                    b.next();
                }
            }
        }
        terms.extend(a.chain(b).cloned());
        Expr { terms }
    }

    pub fn neg(&self) -> Expr {
        self.scale(-1)
    }

    pub fn sub(&self, other: &Expr) -> Expr {
        self.add(&other.neg())
    }

    pub fn scale(&self, k: i64) -> Expr {
        if k == 0 {
            return Expr::zero();
        }
        Expr { terms: self.terms.iter().map(|(m, c)| (m.clone(), c.saturating_mul(k))).collect() }
    }

    pub fn mul(&self, other: &Expr) -> Expr {
        if let Some(k) = other.as_int() {
            return self.scale(k);
        }
        if let Some(k) = self.as_int() {
            return other.scale(k);
        }
        let mut terms = Terms::new();
        for (ma, ca) in &self.terms {
            for (mb, cb) in &other.terms {
                let mut m: Mono = ma.iter().chain(mb).cloned().collect();
                m.sort();
                terms.push((m, ca.saturating_mul(*cb)));
            }
        }
        Expr::from_terms(terms)
    }

    /// The product of all; 1 for none.
    pub fn product<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Expr {
        exprs.into_iter().fold(Expr::one(), |p, e| p.mul(e))
    }

    /// `floor(self / d)`. Terms divisible by a constant `d` are divided exactly.
    pub fn floor_div(&self, d: &Expr) -> Expr {
        self.div_by(d, AtomOp::FloorDiv)
    }

    pub fn ceil_div(&self, d: &Expr) -> Expr {
        self.div_by(d, AtomOp::CeilDiv)
    }

    fn div_by(&self, d: &Expr, op: AtomOp) -> Expr {
        if let Some(q) = self.exact_div(d) {
            return q;
        }
        let Some(k) = d.as_int().filter(|k| *k > 0) else {
            return Expr::atom(op, self.clone(), d.clone());
        };
        let (whole, rest): (Terms, Terms) =
            self.terms.iter().cloned().partition(|(m, c)| !m.is_empty() && c % k == 0);
        let whole = Expr { terms: whole.into_iter().map(|(m, c)| (m, c / k)).collect() };
        let rest = Expr { terms: rest };
        let frac = match rest.as_int() {
            Some(r) if op == AtomOp::FloorDiv => Expr::int(r.div_euclid(k)),
            Some(r) => Expr::int(-(-r).div_euclid(k)),
            None => Expr::atom(op, rest, d.clone()),
        };
        whole.add(&frac)
    }

    pub fn rem(&self, d: &Expr) -> Expr {
        if self.exact_div(d).is_some() {
            return Expr::zero();
        }
        let Some(k) = d.as_int().filter(|k| *k > 0) else {
            return Expr::atom(AtomOp::Rem, self.clone(), d.clone());
        };
        let rest = Expr::from_terms(
            self.terms.iter().map(|(m, c)| (m.clone(), c.rem_euclid(k))).collect(),
        );
        match rest.as_int() {
            Some(r) => Expr::int(r.rem_euclid(k)),
            None => Expr::atom(AtomOp::Rem, rest, d.clone()),
        }
    }

    pub fn min_of(&self, other: &Expr) -> Expr {
        self.min_max(other, AtomOp::Min)
    }

    pub fn max_of(&self, other: &Expr) -> Expr {
        self.min_max(other, AtomOp::Max)
    }

    fn min_max(&self, other: &Expr, op: AtomOp) -> Expr {
        if let Some(d) = self.sub(other).as_int() {
            let first = if op == AtomOp::Min { d <= 0 } else { d >= 0 };
            return if first { self.clone() } else { other.clone() };
        }
        let (a, b) = if self <= other { (self, other) } else { (other, self) };
        Expr::atom(op, a.clone(), b.clone())
    }

    /// The quotient where `d` divides every term; `None` where that is not so or not decided.
    pub fn exact_div(&self, d: &Expr) -> Option<Expr> {
        if self.is_zero() {
            return d.as_int().is_none_or(|k| k != 0).then(Expr::zero);
        }
        let [(dm, dc)] = d.terms.as_slice() else {
            return (self == d).then(Expr::one);
        };
        let mut out = Terms::new();
        for (m, c) in &self.terms {
            if *dc == 0 || c % dc != 0 {
                return None;
            }
            let mut m = m.clone();
            for a in dm {
                let i = m.iter().position(|x| x == a)?;
                m.remove(i);
            }
            out.push((m, c / dc));
        }
        Some(Expr::from_terms(out))
    }

    /// The value where all its variables have one. `None` also on division by zero.
    pub fn eval(&self, env: &Env) -> Option<i64> {
        let mut sum = 0i64;
        for (m, c) in &self.terms {
            let mut p = *c;
            for a in m {
                p = p.checked_mul(a.eval(env)?)?;
            }
            sum = sum.checked_add(p)?;
        }
        Some(sum)
    }

    /// Replaces variables for which `f` gives an expression.
    pub fn subst(&self, f: &dyn Fn(VarId) -> Option<Expr>) -> Expr {
        let (mut kept, mut sum) = (Terms::new(), Expr::zero());
        for (m, c) in &self.terms {
            let p = match m.as_slice() {
                [] => None,
                [a] => a.subst(f).map(|e| e.scale(*c)),
                all => {
                    let of = |a: &Atom| a.subst(f).unwrap_or_else(|| a.expr());
                    Some(all.iter().fold(Expr::int(*c), |p, a| p.mul(&of(a))))
                }
            };
            match p {
                Some(p) => sum = sum.add(&p),
                None => kept.push((m.clone(), *c)),
            }
        }
        sum.add(&Expr { terms: kept })
    }

    /// Replaces the variables that have a value.
    pub fn bind(&self, env: &Env) -> Expr {
        if self.as_int().is_some() {
            return self.clone();
        }
        self.subst(&|v| env.get(v).map(Expr::int))
    }

    pub fn vars(&self) -> BTreeSet<VarId> {
        let mut out = BTreeSet::new();
        self.collect_vars(&mut out);
        out
    }

    fn collect_vars(&self, out: &mut BTreeSet<VarId>) {
        for a in self.terms.iter().flat_map(|(m, _)| m) {
            match a {
                Atom::Var(v) => {
                    out.insert(*v);
                }
                Atom::Op(_, ab) => {
                    ab.0.collect_vars(out);
                    ab.1.collect_vars(out);
                }
            }
        }
    }

    /// `self = c * atom + rest` with `c` and `rest` free of the atom at top level; `None` where
    /// the atom occurs squared.
    fn split_at(&self, atom: &Atom) -> Option<(Expr, Expr)> {
        let (mut c, mut rest) = (Terms::new(), Terms::new());
        for (m, k) in &self.terms {
            match m.iter().filter(|a| *a == atom).count() {
                0 => rest.push((m.clone(), *k)),
                1 => c.push((m.iter().filter(|a| *a != atom).cloned().collect(), *k)),
                _ => return None,
            }
        }
        Some((Expr::from_terms(c), Expr { terms: rest }))
    }

    fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.terms.iter().flat_map(|(m, _)| m)
    }

    /// The terms, for printing a cost as a polynomial and for coefficient tests.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> {
        self.terms.iter().map(|(m, c)| (m.as_slice(), *c))
    }
}

impl Atom {
    /// The atom alone.
    pub fn expr(&self) -> Expr {
        Expr { terms: smallvec![(smallvec![self.clone()], 1)] }
    }

    /// What it is where variables are others; none where it stays as it is.
    fn subst(&self, f: &dyn Fn(VarId) -> Option<Expr>) -> Option<Expr> {
        let (op, ab) = match self {
            Atom::Var(v) => return f(*v),
            Atom::Op(op, ab) => (op, ab),
        };
        let (x, y) = (ab.0.subst(f), ab.1.subst(f));
        Some(match op {
            AtomOp::FloorDiv => x.floor_div(&y),
            AtomOp::CeilDiv => x.ceil_div(&y),
            AtomOp::Rem => x.rem(&y),
            AtomOp::Min => x.min_of(&y),
            AtomOp::Max => x.max_of(&y),
        })
    }

    fn eval(&self, env: &Env) -> Option<i64> {
        match self {
            Atom::Var(v) => env.get(*v),
            Atom::Op(op, ab) => {
                let (a, b) = (ab.0.eval(env)?, ab.1.eval(env)?);
                match op {
                    AtomOp::Min => Some(a.min(b)),
                    AtomOp::Max => Some(a.max(b)),
                    _ if b == 0 => None,
                    AtomOp::FloorDiv => Some(floor_div(a, b)),
                    AtomOp::CeilDiv => Some(-floor_div(-a, b)),
                    AtomOp::Rem => Some(a - floor_div(a, b) * b),
                }
            }
        }
    }
}

/// Division that rounds towards minus infinity; `b` is not 0.
pub fn floor_div(a: i64, b: i64) -> i64 {
    let q = a.wrapping_div(b);
    if (a % b != 0) && ((a < 0) != (b < 0)) { q - 1 } else { q }
}

/// Whether a statement about expressions holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Yes,
    No,
    Unknown,
}

/// All variables of a program, with bounds.
#[derive(Clone, Debug, Default)]
pub struct VarTable {
    vars: Vec<VarInfo>,
}

impl VarTable {
    pub fn add(&mut self, info: VarInfo) -> VarId {
        self.vars.push(info);
        VarId(self.vars.len() as u32 - 1)
    }

    pub fn get(&self, v: VarId) -> Option<&VarInfo> {
        self.vars.get(v.0 as usize)
    }

    pub fn len(&self) -> usize {
        self.vars.len()
    }

    pub fn is_empty(&self) -> bool {
        self.vars.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (VarId, &VarInfo)> {
        self.vars.iter().enumerate().map(|(i, v)| (VarId(i as u32), v))
    }

    pub fn name(&self, v: VarId) -> &str {
        self.get(v).map_or("?", |i| i.name.as_str())
    }

    /// Replaces a variable's bounds and gives the old ones (a `match` arm narrows a dim).
    pub fn set_bounds(&mut self, v: VarId, lo: Expr, hi: Expr) -> Option<(Expr, Expr)> {
        let info = self.vars.get_mut(v.0 as usize)?;
        Some((std::mem::replace(&mut info.lo, lo), std::mem::replace(&mut info.hi, hi)))
    }

    /// A constant that `e` is never below; `None` where none is found.
    pub fn lower(&self, e: &Expr) -> Option<i64> {
        let mut fuel = 400;
        self.lower_in(e, &mut fuel)
    }

    /// A constant that `e` is never above.
    pub fn upper(&self, e: &Expr) -> Option<i64> {
        self.lower(&e.neg()).map(|v| -v)
    }

    fn lower_in(&self, e: &Expr, fuel: &mut u32) -> Option<i64> {
        if let Some(k) = e.as_int() {
            return Some(k);
        }
        if *fuel == 0 {
            return None;
        }
        *fuel -= 1;
        // divisions, minima and maxima first, then variables, the last declared first
        let rank = |a: &Atom| match a {
            Atom::Op(AtomOp::Min | AtomOp::Max, _) => (2, 0),
            Atom::Op(..) => (1, 0),
            Atom::Var(v) => (0, v.0),
        };
        let atom = e.atoms().max_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)))?;
        let Some((c, rest)) = e.split_at(atom) else {
            return self.lower_square(e, atom, fuel);
        };
        let sign = match c.as_int() {
            Some(k) => k.signum(),
            None if self.lower_in(&c, fuel).is_some_and(|l| l >= 0) => 1,
            None if self.lower_in(&c.neg(), fuel).is_some_and(|l| l >= 0) => -1,
            None => return None,
        };
        let plug = |x: &Expr, k: i64| c.mul(x).add(&rest.scale(k));
        match atom {
            Atom::Var(v) => {
                let info = self.get(*v)?;
                let bound = if sign > 0 { &info.lo } else { &info.hi };
                self.lower_in(&plug(bound, 1), fuel)
            }
            Atom::Op(op @ (AtomOp::Min | AtomOp::Max), ab) => {
                let a = self.lower_in(&plug(&ab.0, 1), fuel);
                let b = self.lower_in(&plug(&ab.1, 1), fuel);
                // c * min(a, b) is at least both c*a and c*b if c < 0, else the less of the two
                if (*op == AtomOp::Min) == (sign < 0) { a.max(b) } else { Some(a?.min(b?)) }
            }
            Atom::Op(op, ab) => {
                let k = ab.1.as_int().filter(|k| *k > 0);
                let Some(k) = k else { return self.lower_quotient(*op, ab, &c, &rest, sign, fuel) };
                let by_range = {
                    let (lo, hi) = match op {
                        AtomOp::Rem => (Some(0), Some(k - 1)),
                        AtomOp::FloorDiv => (
                            self.lower_in(&ab.0, fuel).map(|v| floor_div(v, k)),
                            self.lower_in(&ab.0.neg(), fuel).map(|v| floor_div(-v, k)),
                        ),
                        _ => (
                            self.lower_in(&ab.0, fuel).map(|v| -floor_div(-v, k)),
                            self.lower_in(&ab.0.neg(), fuel).map(|v| -floor_div(v, k)),
                        ),
                    };
                    let bound = if sign > 0 { lo } else { hi };
                    bound.and_then(|b| self.lower_in(&plug(&Expr::int(b), 1), fuel))
                };
                // k * floor(a / k) lies in a-k+1..=a, k * ceil(a / k) in a..=a+k-1
                let by_slack = match op {
                    AtomOp::FloorDiv if sign > 0 => Some(ab.0.add(&Expr::int(1 - k))),
                    AtomOp::CeilDiv if sign < 0 => Some(ab.0.add(&Expr::int(k - 1))),
                    AtomOp::FloorDiv | AtomOp::CeilDiv => Some(ab.0.clone()),
                    _ => None,
                }
                .and_then(|x| self.lower_in(&plug(&x, k), fuel))
                .map(|v| -floor_div(-v, k));
                by_range.max(by_slack)
            }
        }
    }

    /// A quotient by an expression: nonnegative by positive is nonnegative and at most the dividend.
    fn lower_quotient(
        &self,
        op: AtomOp,
        ab: &(Expr, Expr),
        c: &Expr,
        rest: &Expr,
        sign: i64,
        fuel: &mut u32,
    ) -> Option<i64> {
        if self.lower_in(&ab.0, fuel)? < 0 || self.lower_in(&ab.1, fuel)? < 1 {
            return None;
        }
        let bound = match (sign > 0, op) {
            (true, _) => Expr::zero(),
            (false, AtomOp::Rem) => ab.1.sub(&Expr::one()),
            (false, _) => ab.0.clone(),
        };
        self.lower_in(&c.mul(&bound).add(rest), fuel)
    }

    /// A squared atom: only where all coefficients and the atom are nonnegative.
    fn lower_square(&self, e: &Expr, atom: &Atom, fuel: &mut u32) -> Option<i64> {
        let Atom::Var(v) = atom else { return None };
        let lo = self.get(*v)?.lo.clone();
        if e.terms.iter().any(|(m, c)| m.contains(atom) && *c < 0) {
            return None;
        }
        if self.lower_in(&atom.expr(), fuel)? < 0 {
            return None;
        }
        self.lower_in(&e.subst(&|x| (x == *v).then(|| lo.clone())), fuel)
    }

    /// Whether `a >= b` for all values of the variables.
    pub fn ge(&self, a: &Expr, b: &Expr) -> Decision {
        let d = a.sub(b);
        if self.lower(&d).is_some_and(|l| l >= 0) {
            Decision::Yes
        } else if self.upper(&d).is_some_and(|u| u < 0) {
            Decision::No
        } else {
            Decision::Unknown
        }
    }

    /// Whether `a == b` for all values of the variables.
    pub fn equal(&self, a: &Expr, b: &Expr) -> Decision {
        if a == b {
            return Decision::Yes;
        }
        let d = a.sub(b);
        match (self.lower(&d), self.upper(&d)) {
            (Some(0), Some(0)) => Decision::Yes,
            (Some(l), _) if l > 0 => Decision::No,
            (_, Some(u)) if u < 0 => Decision::No,
            _ => Decision::Unknown,
        }
    }

    /// Prints an expression with the variables' names.
    pub fn show(&self, e: &Expr) -> String {
        Show { table: self, e }.to_string()
    }
}

struct Show<'a> {
    table: &'a VarTable,
    e: &'a Expr,
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.e.terms.is_empty() {
            return f.write_str("0");
        }
        // the constant last, as people write it
        let (consts, rest): (Vec<_>, Vec<_>) = self.e.terms.iter().partition(|(m, _)| m.is_empty());
        for (i, (m, c)) in rest.into_iter().chain(consts).enumerate() {
            match (i, *c < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let k = c.unsigned_abs();
            if m.is_empty() || k != 1 {
                write!(f, "{k}")?;
            }
            for (j, a) in m.iter().enumerate() {
                if j > 0 || k != 1 {
                    f.write_str(" * ")?;
                }
                self.atom(f, a)?;
            }
        }
        Ok(())
    }
}

impl Show<'_> {
    fn atom(&self, f: &mut fmt::Formatter<'_>, a: &Atom) -> fmt::Result {
        match a {
            Atom::Var(v) => f.write_str(self.table.name(*v)),
            Atom::Op(op, ab) => {
                let (x, y) = (self.table.show(&ab.0), self.table.show(&ab.1));
                let paren = |s: String| if s.contains(' ') { format!("({s})") } else { s };
                match op {
                    AtomOp::FloorDiv => write!(f, "({} / {})", paren(x), paren(y)),
                    AtomOp::Rem => write!(f, "({} % {})", paren(x), paren(y)),
                    AtomOp::CeilDiv => write!(f, "ceil_div({x}, {y})"),
                    AtomOp::Min => write!(f, "min({x}, {y})"),
                    AtomOp::Max => write!(f, "max({x}, {y})"),
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "dim_tests.rs"]
mod tests;
