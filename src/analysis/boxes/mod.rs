//! Sets of integer points as unions of strided boxes: exact, with bounded work.
//!
//! A box is the product of one [`Strip`] for each axis. A [`Set`] is a union of disjoint boxes, so
//! its size is a sum. Intersections and differences of strips are strips again: two strides meet
//! in strips of their least common multiple. Every operation takes [`Fuel`]; where it is spent the
//! answer is [`Inexact`], and the caller says what it knows instead.

mod image;
mod strip;

pub(super) use image::{Axis, Loop, Part, Vars, image, size, together};
pub(super) use strip::Strip;

/// What operations on sets may still cost, in operations on strips.
#[derive(Debug)]
pub(super) struct Fuel(pub u64);

/// There is no exact answer: too many pieces, or data decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inexact;

type Checked<T> = Result<T, Inexact>;

impl Fuel {
    pub fn spend(&mut self, n: u64) -> Checked<()> {
        // once it is spent nothing more is tried
        let left = self.0.checked_sub(n);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Inexact)
    }
}

/// One strip for each axis.
pub(super) type Block = Vec<Strip>;

pub(super) fn volume(b: &[Strip]) -> u128 {
    b.iter().map(Strip::size).fold(1, u128::saturating_mul)
}

/// A union of disjoint boxes of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Set {
    blocks: Vec<Block>,
}

impl Set {
    /// The union of boxes that may overlap.
    pub fn of(blocks: Vec<Block>, fuel: &mut Fuel) -> Checked<Set> {
        let mut blocks = merged(blocks, fuel)?;
        // the largest first: what they cover is gone before it is cut into pieces
        blocks.sort_by_cached_key(|b| std::cmp::Reverse(volume(b)));
        let mut set = Set::default();
        for b in blocks {
            let new = set.missing(b, fuel)?;
            set.blocks.extend(new);
        }
        Ok(set)
    }

    pub fn size(&self) -> u128 {
        self.blocks.iter().map(|b| volume(b)).fold(0, u128::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    #[cfg(test)]
    pub fn contains(&self, point: &[i128]) -> bool {
        let inside = |b: &Block| b.iter().zip(point).all(|(s, x)| s.contains(*x));
        self.blocks.iter().any(inside)
    }

    /// The part of a box that is not here.
    fn missing(&self, b: Block, fuel: &mut Fuel) -> Checked<Vec<Block>> {
        let mut left = vec![b];
        for have in &self.blocks {
            fuel.spend(left.len() as u64)?;
            let mut next = Vec::with_capacity(left.len());
            for l in left {
                match apart(&l, have) {
                    true => next.push(l),
                    false => subtract(&l, have, fuel, &mut next)?,
                }
            }
            left = next;
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }

    pub fn union(&self, other: &Set, fuel: &mut Fuel) -> Checked<Set> {
        let new = other.subtract(self, fuel)?;
        let mut blocks = self.blocks.clone();
        blocks.extend(new.blocks);
        Ok(Set { blocks: merged(blocks, fuel)? })
    }

    pub fn subtract(&self, other: &Set, fuel: &mut Fuel) -> Checked<Set> {
        let mut out = vec![];
        for b in &self.blocks {
            out.extend(other.missing(b.clone(), fuel)?);
        }
        Ok(Set { blocks: merged(out, fuel)? })
    }

    #[cfg(test)]
    pub fn intersect(&self, other: &Set, fuel: &mut Fuel) -> Checked<Set> {
        let mut out = vec![];
        for (a, b) in self.blocks.iter().flat_map(|a| other.blocks.iter().map(move |b| (a, b))) {
            fuel.spend(1)?;
            if !apart(a, b) {
                let both: Checked<Vec<_>> = a
                    .iter()
                    .zip(b)
                    .map(|(x, y)| fuel.spend(x.effort(y)).map(|()| x.intersect(y)))
                    .collect();
                product(&both?, fuel, &mut out)?;
            }
        }
        Ok(Set { blocks: out })
    }
}

/// Whether two boxes are surely disjoint, by their ends.
fn apart(a: &[Strip], b: &[Strip]) -> bool {
    a.iter().zip(b).any(|(x, y)| x.end() <= y.start || y.end() <= x.start)
}

/// `a \ b`: axis by axis what is outside `b` there and inside it on the axes before.
fn subtract(a: &[Strip], b: &[Strip], fuel: &mut Fuel, out: &mut Vec<Block>) -> Checked<()> {
    let mut axes: Vec<Vec<Strip>> = a.iter().map(|s| vec![*s]).collect();
    let from = out.len();
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        fuel.spend(x.effort(y))?;
        let (outside, inside) = (x.subtract(y), x.intersect(y));
        if inside.is_empty() {
            out.truncate(from);
            out.push(a.to_vec());
            return Ok(());
        }
        if let Some(slot) = axes.get_mut(i) {
            *slot = outside;
        }
        product(&axes, fuel, out)?;
        if let Some(slot) = axes.get_mut(i) {
            *slot = inside;
        }
    }
    Ok(())
}

/// All boxes with one strip of each axis.
fn product(axes: &[Vec<Strip>], fuel: &mut Fuel, out: &mut Vec<Block>) -> Checked<()> {
    let n = axes.iter().try_fold(1u64, |n, a| n.checked_mul(a.len() as u64)).ok_or(Inexact)?;
    fuel.spend(n)?;
    let mut blocks: Vec<Block> = if n > 0 { vec![vec![]] } else { vec![] };
    for axis in axes.iter().filter(|_| n > 0) {
        let with = |b: &Block, s: &Strip| b.iter().copied().chain([*s]).collect();
        blocks = blocks.iter().flat_map(|b| axis.iter().map(move |s| with(b, s))).collect();
    }
    out.extend(blocks);
    Ok(())
}

/// The same union in fewer boxes: those that differ in one axis only are joined there.
fn merged(mut blocks: Vec<Block>, fuel: &mut Fuel) -> Checked<Vec<Block>> {
    let rank = blocks.first().map_or(0, Vec::len);
    // joins along one axis make others possible
    for axis in (0..rank).rev().chain(0..rank) {
        if blocks.len() < 2 {
            break;
        }
        fuel.spend(blocks.len() as u64)?;
        let others = |b: &Block| -> Block {
            b.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, s)| *s).collect()
        };
        let mut keyed: Vec<(Block, Strip)> =
            blocks.iter().filter_map(|b| Some((others(b), *b.get(axis)?))).collect();
        keyed.sort_unstable();
        blocks = vec![];
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            let Some((key, _)) = group.first() else { continue };
            for s in strip::join(group.iter().map(|(_, s)| *s).collect()) {
                let mut b = key.clone();
                b.insert(axis, s);
                blocks.push(b);
            }
        }
    }
    if rank == 0 {
        blocks.truncate(1);
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests;
