//! Evenly spaced intervals of integers, the sets that one axis of a box has.

/// `start + i * stride .. + len` for `i < count`. Intervals never touch: several of them have
/// `stride > len`, one has `stride = 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::analysis) struct Strip {
    pub start: i128,
    pub len: i128,
    pub stride: i128,
    pub count: i128,
}

/// Beyond every coordinate that fits 64 bits.
const FAR: i128 = 1 << 100;

impl Strip {
    /// In normal form; none where it is empty.
    pub fn new(start: i128, len: i128, stride: i128, count: i128) -> Option<Strip> {
        if len <= 0 || count <= 0 {
            return None;
        }
        let last = stride * (count - 1);
        let (start, stride) = (start + last.min(0), stride.abs());
        Some(match count > 1 && stride > len {
            true => Strip { start, len, stride, count },
            false => Strip { start, len: len + last.abs(), stride: 0, count: 1 },
        })
    }

    /// `lo..hi`.
    pub fn span(lo: i128, hi: i128) -> Option<Strip> {
        Strip::new(lo, hi - lo, 0, 1)
    }

    /// One after the last element.
    pub fn end(&self) -> i128 {
        self.start + self.stride * (self.count - 1) + self.len
    }

    pub fn size(&self) -> u128 {
        u128::try_from(self.len * self.count).unwrap_or(0)
    }

    #[cfg(test)]
    pub fn contains(&self, x: i128) -> bool {
        let at = x - self.start;
        match self.count {
            1 => (0..self.len).contains(&at),
            _ => (0..self.end() - self.start).contains(&at) && at % self.stride < self.len,
        }
    }

    /// What lies in `lo..hi`: a cut interval at each end and the whole ones between.
    pub fn clip(&self, lo: i128, hi: i128) -> Vec<Strip> {
        if lo <= self.start && self.end() <= hi {
            return vec![*self];
        }
        if self.count == 1 {
            return Strip::span(self.start.max(lo), self.end().min(hi)).into_iter().collect();
        }
        let first = (lo - self.start - self.len).div_euclid(self.stride) + 1;
        let last = (hi - self.start - 1).div_euclid(self.stride);
        let (mut first, mut last) = (first.max(0), last.min(self.count - 1));
        if first > last {
            return vec![];
        }
        let at = |i: i128| self.start + i * self.stride;
        let mut out = vec![];
        if at(first) < lo || (first == last && at(last) + self.len > hi) {
            out.extend(Strip::span(at(first).max(lo), (at(first) + self.len).min(hi)));
            first += 1;
        }
        if first <= last && at(last) + self.len > hi {
            out.extend(Strip::span(at(last), hi));
            last -= 1;
        }
        out.extend(Strip::new(at(first), self.len, self.stride, last - first + 1));
        out
    }

    /// The same set in strips of stride `period`, a multiple of the stride.
    fn refine(self, period: i128) -> impl Iterator<Item = Strip> {
        let every = if self.count > 1 { period / self.stride } else { 1 };
        (0..every.min(self.count)).map(move |j| Strip {
            start: self.start + j * self.stride,
            stride: period,
            count: (self.count - j + every - 1) / every,
            ..self
        })
    }

    /// Strips that [`Strip::intersect`] makes of the two at most, and so the work.
    pub fn effort(&self, other: &Strip) -> u64 {
        if self.count == 1 || other.count == 1 || self.stride == other.stride {
            return 1;
        }
        let period = lcm(self.stride, other.stride);
        let pieces = |s: &Strip| (period / s.stride).min(s.count);
        u64::try_from(pieces(self) * pieces(other)).unwrap_or(u64::MAX)
    }

    pub fn intersect(&self, other: &Strip) -> Vec<Strip> {
        if self.end() <= other.start || other.end() <= self.start {
            return vec![];
        }
        if other.count == 1 {
            return self.clip(other.start, other.end());
        }
        if self.count == 1 {
            return other.clip(self.start, self.end());
        }
        let period = lcm(self.stride, other.stride);
        let theirs: Vec<Strip> = other.refine(period).collect();
        let pairs = self.refine(period).flat_map(|a| theirs.iter().map(move |b| (a, b)));
        pairs.flat_map(|(a, b)| a.meet(b)).collect()
    }

    /// The intersection of two with one stride. An interval of one meets at most two of the other.
    fn meet(&self, other: &Strip) -> Vec<Strip> {
        let (apart, period) = (other.start - self.start, self.stride);
        let from = (apart - self.len).div_euclid(period) + 1;
        let to = (apart + other.len - 1).div_euclid(period);
        let pair = |d: i128| {
            // interval i of this one with interval i - d of the other
            let at = apart - d * period;
            let (first, last) = (d.max(0), (self.count - 1).min(other.count - 1 + d));
            let len = self.len.min(at + other.len) - at.max(0);
            Strip::new(self.start + first * period + at.max(0), len, period, last - first + 1)
        };
        (from..=to).filter_map(pair).collect()
    }

    /// What is not in the other: what is before it, in its gaps, and after it.
    pub fn subtract(&self, other: &Strip) -> Vec<Strip> {
        let gaps = (other.count > 1).then(|| {
            let from = other.start + other.len;
            Strip::new(from, other.stride - other.len, other.stride, other.count - 1)
        });
        let mut out = self.clip(-FAR, other.start);
        out.extend(gaps.flatten().map(|g| self.intersect(&g)).unwrap_or_default());
        out.extend(self.clip(other.end(), FAR));
        out
    }

    /// Every element moved by `i * stride` for `i < count`. The pieces may overlap.
    pub fn repeat(&self, stride: i128, count: i128) -> Vec<Strip> {
        let moved = |d: i128| Strip { start: self.start + d, ..*self };
        if count <= 0 {
            return vec![];
        }
        if self.count == 1 {
            return Strip::new(self.start, self.len, stride, count).into_iter().collect();
        }
        let steps = stride.abs() / self.stride;
        if stride % self.stride == 0 && steps <= self.count {
            let first = self.start + (stride * (count - 1)).min(0);
            let n = self.count + steps * (count - 1);
            return Strip::new(first, self.len, self.stride, n).into_iter().collect();
        }
        if count <= self.count {
            return (0..count).map(|i| moved(i * stride)).collect();
        }
        let one = |i| Strip::new(self.start + i * self.stride, self.len, stride, count);
        (0..self.count).filter_map(one).collect()
    }
}

fn lcm(a: i128, b: i128) -> i128 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b
}

/// The union in fewer strips where neighbours touch or lie evenly; pieces that stay may overlap.
pub(super) fn join(mut strips: Vec<Strip>) -> Vec<Strip> {
    if strips.len() < 2 {
        return strips;
    }
    // strips of one stride and count that touch, then those whose counts differ, so that strips of
    // whole periods become intervals
    strips.sort_unstable_by_key(|s| (s.stride, s.count, s.start));
    let mut alike: Vec<Strip> = vec![];
    for s in strips {
        match alike.last_mut().filter(|l| (l.stride, l.count) == (s.stride, s.count)) {
            Some(l) if l.count == 1 && s.start <= l.end() => l.len = l.len.max(s.end() - l.start),
            Some(l) if l.count > 1 && s.start <= l.start + l.len => *l = beside(l, &s).0,
            _ => alike.push(s),
        }
    }
    alike.sort_unstable_by_key(|s| (s.stride, s.start));
    let (mut out, mut beyond): (Vec<Strip>, Vec<Strip>) = (vec![], vec![]);
    for s in alike {
        match out.last_mut().filter(|l| l.stride == s.stride && s.count > 1) {
            Some(l) if s.start <= l.start + l.len => {
                let (both, more) = beside(l, &s);
                *l = both;
                beyond.extend(more);
            }
            _ => out.push(s),
        }
    }
    out.extend(beyond);
    let (mut singles, mut rest): (Vec<Strip>, Vec<Strip>) =
        out.into_iter().partition(|s| s.count == 1);
    singles.sort_unstable();
    let mut even: Vec<Strip> = vec![];
    for s in singles {
        match even.last_mut() {
            Some(l) if l.count == 1 && s.start <= l.end() => l.len = l.len.max(s.end() - l.start),
            Some(l)
                if l.len == s.len && (l.count == 1 || l.end() - l.len + l.stride == s.start) =>
            {
                l.stride = s.start - (l.end() - l.len);
                l.count += 1;
            }
            _ => even.push(s),
        }
    }
    rest.extend(even);
    rest
}

/// Two strips of one stride, the second beginning within or just after the first's intervals: their
/// union where both have intervals, and what the longer has beyond.
fn beside(a: &Strip, b: &Strip) -> (Strip, Option<Strip>) {
    let n = a.count.min(b.count);
    let len = a.len.max(b.start + b.len - a.start);
    let both = Strip::new(a.start, len, a.stride, n).unwrap_or(*a);
    let longer = if a.count > n { a } else { b };
    let more = longer.count - n;
    (both, Strip::new(longer.start + n * longer.stride, longer.len, longer.stride, more))
}
