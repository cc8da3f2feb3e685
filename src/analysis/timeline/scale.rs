//! Where a time stands on a page.

use super::trace::Lane;

/// From picoseconds to places: linear but for the stretches in which every lane repeats itself, or
/// shows nothing.
pub(super) struct Scale {
    /// Those stretches, in order.
    pub narrow: Vec<(f64, f64)>,
    /// What each of them takes.
    fixed: f64,
    pub per_ps: f64,
}

impl Scale {
    /// Places from 0 to `width`; `fixed` for each stretch.
    pub fn new(lanes: &[Lane], end: f64, width: f64, fixed: f64) -> Scale {
        let mut busy: Vec<(u64, u64)> = vec![];
        let mut gaps: Vec<(u64, u64)> = vec![];
        for l in lanes {
            busy.extend(l.intervals.iter().map(|i| (i.start_ps, i.end_ps)));
            gaps.extend(l.gaps.iter().map(|g| (g.start_ps, g.end_ps)));
        }
        let mut narrow = vec![];
        for (a, b) in merged(gaps) {
            // what is left of the gap where no lane shows anything
            let mut from = a;
            for (c, d) in merged(busy.clone()).into_iter().filter(|(c, d)| *d > a && *c < b) {
                if c > from {
                    narrow.push((from as f64, c as f64));
                }
                from = from.max(d);
            }
            if from < b {
                narrow.push((from as f64, b as f64));
            }
        }
        // a short one is drawn as it is
        narrow.retain(|(a, b)| (b - a) * (width / end.max(1.0)) > fixed);
        let cut: f64 = narrow.iter().map(|(a, b)| b - a).sum();
        // of many stretches each takes less
        let fixed = fixed.min(width * 0.75 / narrow.len().max(1) as f64);
        let room = width - fixed * narrow.len() as f64;
        Scale { narrow, fixed, per_ps: room / (end - cut).max(1.0) }
    }

    pub fn x(&self, t: f64) -> f64 {
        let mut x = t * self.per_ps;
        for (a, b) in &self.narrow {
            let inside = (t.min(*b) - a).max(0.0);
            x += inside * (self.fixed / (b - a) - self.per_ps);
        }
        x
    }
}

/// Ranges without their overlaps, in order.
fn merged(mut all: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut out: Vec<(u64, u64)> = vec![];
    for (a, b) in all {
        match out.last_mut() {
            Some(last) if a <= last.1 => last.1 = last.1.max(b),
            _ => out.push((a, b)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::record::Site;
    use crate::analysis::timeline::trace::{Gap, Interval};

    #[test]
    fn places_go_up_with_time_and_stay_on_the_page() {
        let site = Site { file: 0, start: 0, end: 0, at: None };
        let interval = |start_ps, end_ps| Interval {
            op: "copy".into(),
            site: site.clone(),
            trip: vec![0],
            start_ps,
            end_ps,
        };
        let lane = Lane {
            name: "cta".into(),
            intervals: vec![interval(0, 200), interval(8200, 8400)],
            gaps: vec![Gap { trips: 80, start_ps: 200, end_ps: 8200, period_ps: None }],
        };
        let s = Scale::new(&[lane], 8400.0, 1000.0, 40.0);
        assert_eq!(s.narrow, [(200.0, 8200.0)]);
        let xs: Vec<f64> = (0..=84).map(|t| s.x(f64::from(t) * 100.0)).collect();
        assert!(xs.windows(2).all(|w| w[0] < w[1]));
        assert!(xs[0] == 0.0 && (xs[84] - 1000.0).abs() < 1e-6);
        // what repeats takes little of the page, though most of the time
        assert!((s.x(8200.0) - s.x(200.0) - 40.0).abs() < 1e-6);
    }
}
