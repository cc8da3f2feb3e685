//! Distinct bytes touched since a step.

/// The bytes last touched in each step, from 1, as a Fenwick tree: entry i - 1 is their sum over the
/// last `i & -i` steps up to step i. A program of thousands of ops asks for many distances.
#[derive(Default)]
pub(super) struct Since {
    sums: Vec<u128>,
    all: u128,
}

fn lowest(i: usize) -> usize {
    i & i.wrapping_neg()
}

impl Since {
    /// The first step that has no bytes yet, nor a later one.
    pub fn next(&self) -> usize {
        self.sums.len() + 1
    }

    /// Bytes touched from the begin of a step on.
    pub fn since(&self, step: usize) -> u128 {
        self.all - self.until(step.saturating_sub(1))
    }

    fn until(&self, step: usize) -> u128 {
        let (mut i, mut sum) = (step, 0);
        while i > 0 {
            sum += self.sums.get(i - 1).copied().unwrap_or(0);
            i -= lowest(i);
        }
        sum
    }

    pub fn add(&mut self, step: usize, bytes: u128) {
        while self.sums.len() < step {
            let i = self.next();
            self.sums.push(self.until(i - 1) - self.until(i - lowest(i)));
        }
        self.change(step, |sum| sum + bytes);
        self.all += bytes;
    }

    /// Takes bytes away from a step that has them.
    pub fn take(&mut self, step: usize, bytes: u128) {
        self.change(step, |sum| sum - bytes);
        self.all -= bytes;
    }

    fn change(&mut self, step: usize, new: impl Fn(u128) -> u128) {
        let mut i = step;
        while let Some(sum) = self.sums.get_mut(i.wrapping_sub(1)) {
            *sum = new(*sum);
            i += lowest(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_sums_over_the_steps() {
        let mut t = Since::default();
        let mut plain = vec![0u128; 40];
        for step in 1..40usize {
            assert_eq!(t.next(), step);
            for k in 0..3 {
                let bytes = (step as u128 * 7 + k * 5) % 11;
                t.add(step, bytes);
                plain[step] += bytes;
            }
            if step % 5 == 0 {
                for (s, n) in plain.iter_mut().enumerate().skip(1).step_by(3) {
                    t.take(s, *n / 2);
                    *n -= *n / 2;
                    if s >= step {
                        break;
                    }
                }
            }
            for from in 1..=step {
                assert_eq!(t.since(from), plain[from..].iter().sum::<u128>(), "{from} of {step}");
            }
        }
    }
}
