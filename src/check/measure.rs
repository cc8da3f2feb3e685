//! The numbers that predicates look at. All accumulate in f64, in one order.

use super::predicate::Predicate;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// Elements that are converted at a time.
const CHUNK: usize = 1 << 20;
/// Elements whose sum is kept apart, so that long sums lose little.
const RUN: usize = 1 << 12;

/// What a predicate found.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Of `allclose` the largest violation, of `equal` and `finite` a count, else the measure.
    pub value: f64,
    pub pass: bool,
    /// What must be said about it.
    pub note: Option<String>,
}

/// What one pass over two tensors of one dtype and shape gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Norms {
    pub diff: f64,
    pub candidate: f64,
    pub reference: f64,
    pub dot: f64,
}

/// Calls `f` with each chunk of elements as f64 and the index of its first.
pub fn chunks(c: &Tensor, r: &Tensor, mut f: impl FnMut(usize, &[f64], &[f64])) {
    let n = c.len().min(r.len());
    let (c, r) = (c.reshape(vec![c.len()]), r.reshape(vec![r.len()]));
    let mut at = 0;
    while at < n {
        let len = CHUNK.min(n - at);
        let (a, b) = (c.slice_block(&[at], &[len]), r.slice_block(&[at], &[len]));
        f(at, &a.to_f64s(), &b.to_f64s());
        at += len;
    }
}

/// Norms and inner product.
pub fn norms(c: &Tensor, r: &Tensor) -> Norms {
    let mut sums = [0.0f64; 4];
    chunks(c, r, |_, a, b| {
        for (a, b) in a.chunks(RUN).zip(b.chunks(RUN)) {
            let mut s = [0.0f64; 4];
            for (x, y) in a.iter().zip(b) {
                let d = x - y;
                s[0] += d * d;
                s[1] += x * x;
                s[2] += y * y;
                s[3] += x * y;
            }
            sums.iter_mut().zip(s).for_each(|(t, v)| *t += v);
        }
    });
    let [d, x, y, dot] = sums;
    Norms { diff: d.sqrt(), candidate: x.sqrt(), reference: y.sqrt(), dot }
}

/// `norm(c - r) / norm(r)`, or `norm(c)` where the reference is zero, with a remark.
pub fn rel_l2(n: &Norms) -> (f64, Option<String>) {
    if n.reference == 0.0 {
        let note = "the reference is zero: this is the candidate's norm";
        return (n.candidate, Some(note.into()));
    }
    (n.diff / n.reference, None)
}

fn cosine(n: &Norms) -> (f64, Option<String>) {
    match (n.candidate == 0.0, n.reference == 0.0) {
        (true, true) => (1.0, Some("both sides are zero".into())),
        (false, false) => (n.dot / (n.candidate * n.reference), None),
        (_, zero) => {
            let side = if zero { "reference" } else { "candidate" };
            (0.0, Some(format!("the {side} is zero")))
        }
    }
}

/// How far one element is from what a predicate allows: above 0 it is at fault.
pub fn violation(p: &Predicate, c: f64, r: f64) -> f64 {
    if c.is_nan() || r.is_nan() {
        return f64::INFINITY;
    }
    let diff = if c == r { 0.0 } else { (c - r).abs() };
    match p {
        Predicate::Allclose { atol, rtol } => {
            // infinities agree only with themselves
            if diff == f64::INFINITY {
                diff
            } else if r.is_infinite() {
                -atol
            } else {
                diff - (atol + rtol * r.abs())
            }
        }
        Predicate::MaxAbs { max } => diff - max,
        Predicate::MaxRel { max } => relative(diff, r) - max,
        Predicate::Finite => {
            if c.is_finite() {
                0.0
            } else {
                f64::INFINITY
            }
        }
        _ => diff,
    }
}

fn relative(diff: f64, r: f64) -> f64 {
    if diff == 0.0 {
        0.0
    } else if r == 0.0 {
        f64::INFINITY
    } else {
        diff / r.abs()
    }
}

/// The number of representable values between two elements of one dtype; `None` for NaN.
pub fn ulps(dtype: DType, a: u64, b: u64) -> Option<u64> {
    Some(ordered(dtype, a)?.abs_diff(ordered(dtype, b)?))
}

/// A bit pattern as an integer that orders the values of its dtype; both zeros are 0.
fn ordered(dtype: DType, bits: u64) -> Option<i64> {
    let (bits, width, top) = match dtype {
        DType::F64 => (bits, 64, 0x7ff0_0000_0000_0000),
        DType::F32 => (bits, 32, 0x7f80_0000),
        DType::Tf32 => (bits >> 13, 19, 0xff << 10),
        DType::F16 => (bits, 16, 0x7c00),
        DType::Bf16 => (bits, 16, 0x7f80),
        DType::F8e4m3 => (bits, 8, 0x7e),
        DType::F8e5m2 => (bits, 8, 0x7c),
        DType::F4e2m1 => (bits, 4, 7),
        DType::F8e8m0 => return (bits != 0xff).then_some(bits as i64),
        _ => return None,
    };
    let sign = 1u64 << (width - 1);
    let magnitude = bits & (sign - 1);
    let value = i64::try_from(magnitude).ok().filter(|_| magnitude <= top)?;
    Some(if bits & sign != 0 { -value } else { value })
}

/// Holds a candidate against a reference of the same dtype and shape.
pub fn measure(p: &Predicate, c: &Tensor, r: &Tensor, n: &Norms, nan_equal: bool) -> Measured {
    let of = |value: f64, pass: bool, note| Measured { value, pass: pass && !value.is_nan(), note };
    match p {
        Predicate::Equal => {
            let count = different(c, r, nan_equal);
            of(count as f64, count == 0, None)
        }
        Predicate::Allclose { .. } => {
            let worst = largest(c, r, |a, b| violation(p, a, b));
            of(worst, worst <= 0.0, None)
        }
        Predicate::RelL2 { max } => {
            let (v, note) = rel_l2(n);
            of(v, v <= *max, note)
        }
        Predicate::Cosine { min } => {
            let (v, note) = cosine(n);
            of(v, v >= *min, note)
        }
        Predicate::MaxAbs { max } => {
            let v = largest(c, r, |a, b| violation(&Predicate::MaxAbs { max: 0.0 }, a, b));
            of(v, v <= *max, None)
        }
        Predicate::MaxRel { max } => {
            let v = largest(c, r, |a, b| violation(&Predicate::MaxRel { max: 0.0 }, a, b));
            of(v, v <= *max, None)
        }
        Predicate::Ulp { max } => {
            let far = |i| ulps(c.dtype(), c.bits(i), r.bits(i));
            let worst = (0..c.len()).map(far).try_fold(0, |m, d| d.map(|d| m.max(d)));
            match worst {
                Some(w) => of(w as f64, w <= *max, None),
                None => of(f64::INFINITY, false, Some("an element is NaN".into())),
            }
        }
        Predicate::Finite => finite(c),
        Predicate::Topk { k, min_overlap, axis } => topk(c, r, *k, *min_overlap, *axis),
        // decided where the truth is known
        Predicate::NoWorse { .. } => of(f64::NAN, false, Some("there is no truth".into())),
    }
}

/// How many elements are NaN or infinite.
pub fn finite(c: &Tensor) -> Measured {
    let mut bad = 0u64;
    chunks(c, c, |_, a, _| bad += a.iter().filter(|x| !x.is_finite()).count() as u64);
    Measured { value: bad as f64, pass: bad == 0, note: None }
}

fn largest(c: &Tensor, r: &Tensor, f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut worst = f64::NEG_INFINITY;
    chunks(c, r, |_, a, b| {
        worst = a.iter().zip(b).map(|(x, y)| f(*x, *y)).fold(worst, f64::max);
    });
    if c.is_empty() { 0.0 } else { worst }
}

/// Whether element `i` counts as different: by value, integers exactly.
pub fn differs(c: &Tensor, r: &Tensor, i: usize, nan_equal: bool) -> bool {
    if !c.dtype().is_float() {
        return c.get_i64(i) != r.get_i64(i);
    }
    let (a, b) = (c.get_f64(i), r.get_f64(i));
    !(a == b || (nan_equal && a.is_nan() && b.is_nan()))
}

fn different(c: &Tensor, r: &Tensor, nan_equal: bool) -> u64 {
    // the same bits are the same but for NaN
    if !c.dtype().is_float() && c.bit_equal(r) {
        return 0;
    }
    (0..c.len()).filter(|i| differs(c, r, *i, nan_equal)).count() as u64
}

/// The least share of common indices among the k largest, over the rows along an axis. Ties go
/// to the lower index.
fn topk(c: &Tensor, r: &Tensor, k: usize, min: f64, axis: i64) -> Measured {
    let rank = c.rank() as i64;
    let at = if axis < 0 { axis + rank } else { axis };
    let fault = |note: String| Measured { value: f64::NAN, pass: false, note: Some(note) };
    let Some(n) = usize::try_from(at).ok().and_then(|a| c.shape().get(a)).copied() else {
        return fault(format!("axis {axis} is outside rank {rank}"));
    };
    if k > n {
        return fault(format!("k is {k}, the axis has {n}"));
    }
    let inner: usize = c.shape().iter().skip(at as usize + 1).product();
    let (a, b) = (c.to_f64s(), r.to_f64s());
    if a.iter().chain(b.iter()).any(|x| x.is_nan()) {
        return fault("an element is NaN".into());
    }
    let best = |v: &[f64], base: usize| {
        let mut ids: Vec<usize> = (0..n).collect();
        let key = |i: usize| v.get(base + i * inner).copied().unwrap_or(f64::NEG_INFINITY);
        ids.sort_by(|x, y| key(*y).total_cmp(&key(*x)).then(x.cmp(y)));
        ids.truncate(k);
        ids.sort_unstable();
        ids
    };
    let rows = c.len() / n.max(1);
    let share = |row: usize| {
        let base = row / inner * inner * n + row % inner;
        let (x, y) = (best(&a, base), best(&b, base));
        x.iter().filter(|i| y.binary_search(i).is_ok()).count() as f64 / k as f64
    };
    let worst = (0..rows).map(share).fold(1.0, f64::min);
    Measured { value: worst, pass: worst >= min, note: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(dtype: DType, v: &[f64]) -> Tensor {
        Tensor::from_f64s(dtype, vec![v.len()], v.to_vec())
    }

    fn on(p: Predicate, c: &[f64], r: &[f64]) -> Measured {
        let (c, r) = (f(DType::F32, c), f(DType::F32, r));
        measure(&p, &c, &r, &norms(&c, &r), false)
    }

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn allclose_is_the_largest_violation() {
        let p = Predicate::Allclose { atol: 0.5, rtol: 0.25 };
        let m = on(p, &[1.0, 4.0, -2.0], &[1.5, 2.0, -2.0]);
        // abs(4 - 2) - (0.5 + 0.25 * 2) = 1
        assert_eq!((m.value, m.pass), (1.0, false));
        assert!(on(p, &[1.0, 3.0], &[1.5, 2.0]).pass);
        assert!(on(p, &[INF], &[INF]).pass);
        assert!(!on(p, &[INF], &[-INF]).pass);
        assert!(!on(p, &[1.0], &[INF]).pass);
    }

    #[test]
    fn nan_never_passes() {
        let all = [
            Predicate::Equal,
            Predicate::Allclose { atol: INF, rtol: 0.0 },
            Predicate::RelL2 { max: INF },
            Predicate::Cosine { min: -1.0 },
            Predicate::MaxAbs { max: 1e300 },
            Predicate::MaxRel { max: 1e300 },
            Predicate::Ulp { max: u64::MAX },
            Predicate::Finite,
            Predicate::Topk { k: 1, min_overlap: 0.0, axis: 0 },
        ];
        for p in all {
            assert!(!on(p, &[NAN, 1.0], &[NAN, 1.0]).pass, "{p}");
        }
        let t = f(DType::F32, &[NAN, 1.0]);
        assert!(measure(&Predicate::Equal, &t, &t, &norms(&t, &t), true).pass);
        let one = f(DType::F32, &[1.0, 1.0]);
        assert!(!measure(&Predicate::Equal, &t, &one, &norms(&t, &one), true).pass);
    }

    #[test]
    fn norms_of_zero_references_say_so() {
        let m = on(Predicate::RelL2 { max: 0.1 }, &[0.0, 0.05], &[0.0, 0.0]);
        assert!(m.pass && m.note.is_some() && (m.value - 0.05).abs() < 1e-8);
        let m = on(Predicate::RelL2 { max: 0.1 }, &[3.0, 4.5], &[3.0, 4.0]);
        assert_eq!((m.value, m.pass), (0.1, true));
        assert_eq!(on(Predicate::Cosine { min: 0.9 }, &[0.0], &[0.0]).value, 1.0);
        assert_eq!(on(Predicate::Cosine { min: 0.9 }, &[0.0], &[2.0]).value, 0.0);
        let m = on(Predicate::Cosine { min: 0.7 }, &[1.0, 0.0], &[1.0, 1.0]);
        assert!(m.pass && (m.value - 0.5f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn extremes_are_relative_and_absolute() {
        assert_eq!(on(Predicate::MaxAbs { max: 2.0 }, &[1.0, 5.0], &[2.0, 3.0]).value, 2.0);
        assert_eq!(on(Predicate::MaxRel { max: 2.0 }, &[1.0, 5.0], &[2.0, 4.0]).value, 0.5);
        assert_eq!(on(Predicate::MaxRel { max: 2.0 }, &[1.0], &[0.0]).value, INF);
        assert_eq!(on(Predicate::Equal, &[1.0, -0.0, 2.0], &[1.0, 0.0, 3.0]).value, 1.0);
    }

    #[test]
    fn ulps_count_representable_values() {
        for d in [DType::F64, DType::F32, DType::F16, DType::Bf16, DType::F8e5m2, DType::F4e2m1] {
            let far = |x: f64, y: f64| {
                let (a, b) = (f(d, &[x]), f(d, &[y]));
                ulps(d, a.bits(0), b.bits(0))
            };
            assert_eq!(far(0.0, -0.0), Some(0), "{d}");
            assert_eq!(far(1.0, 1.0), Some(0));
            if d != DType::F4e2m1 {
                assert_eq!(far(1.0, f64::NAN), None, "{d}");
            }
        }
        let far = |d: DType, a: u64, b: u64| ulps(d, a, b);
        assert_eq!(far(DType::F16, 0x3c00, 0x3c03), Some(3));
        assert_eq!(far(DType::F16, 0x8001, 0x0001), Some(2));
        assert_eq!(far(DType::Tf32, 1 << 13, 0), Some(1));
        assert_eq!(far(DType::F8e4m3, 0x7e, 0x7f), None);
        assert_eq!(far(DType::F8e8m0, 3, 1), Some(2));
        // from the least to the largest finite value
        let (lo, hi) = ((-f64::MAX).to_bits(), f64::MAX.to_bits());
        assert_eq!(far(DType::F64, lo, hi), Some(2 * hi));
    }

    #[test]
    fn topk_compares_indices_along_an_axis() {
        let c = Tensor::from_f64s(DType::F32, vec![2, 4], vec![9., 8., 1., 0., 1., 2., 3., 4.]);
        let r = Tensor::from_f64s(DType::F32, vec![2, 4], vec![8., 9., 1., 0., 4., 2., 3., 1.]);
        let run = |axis| {
            let p = Predicate::Topk { k: 2, min_overlap: 0.5, axis };
            measure(&p, &c, &r, &norms(&c, &r), false)
        };
        assert_eq!((run(-1).value, run(-1).pass), (0.5, true));
        assert_eq!(run(0).value, 1.0);
        assert!(!run(2).pass);
    }
}
