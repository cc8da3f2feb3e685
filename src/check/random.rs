//! Random inputs, the same on every machine and in every version.
//!
//! The generator is xoshiro256++ (Blackman and Vigna), one for each block of 65,536 elements of
//! each parameter. Its state is four outputs of splitmix64, started from the seed, the FNV-1a
//! hash of the parameter's name and the number of the block; so a parameter's values depend on
//! neither the other parameters nor the number of threads. `N(0, 1)` is Marsaglia's polar method
//! with a logarithm made of additions, multiplications and divisions, which IEEE 754 fixes to the
//! last bit. Draws are f64, scaled, and rounded once to the dtype.
//!
//! | dtype | drawn |
//! |---|---|
//! | floats | `N(0, 1)` times the scale |
//! | f8e8m0 | a power of two, exponent uniform in -4..=4, times the scale |
//! | integers with a range | uniform in it |
//! | i8, u8 | uniform over the type |
//! | other integers | uniform in -128..=127, unsigned in 0..=255 |
//! | bool | true in one half |

use rayon::prelude::*;

use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// Elements that one generator draws.
const BLOCK: usize = 1 << 16;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What to draw.
#[derive(Clone, Debug)]
pub struct Draw<'a> {
    pub seed: u64,
    /// The parameter's name.
    pub name: &'a str,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Inclusive bounds of integers.
    pub range: Option<(i64, i64)>,
    /// What floats are multiplied by.
    pub scale: f64,
}

/// Draws a tensor.
pub fn draw(d: &Draw) -> Tensor {
    let n: usize = d.shape.iter().product();
    let start = mix(d.seed) ^ fnv1a(d.name);
    let blocks: Vec<usize> = (0..n.div_ceil(BLOCK)).collect();
    let len = |b: usize| BLOCK.min(n - b * BLOCK);
    let of = |b: usize| Xoshiro::new(mix(start ^ mix(b as u64)));
    if d.dtype.is_float() {
        let one = |b: &usize| floats(&mut of(*b), len(*b), d);
        let vals: Vec<f64> = blocks.par_iter().flat_map_iter(one).collect();
        return Tensor::from_f64s(d.dtype, d.shape.clone(), vals);
    }
    let (lo, hi) = bounds(d.dtype, d.range);
    let span = (hi as i128 - lo as i128 + 1).max(1) as u128;
    let one = |b: &usize| {
        let mut r = of(*b);
        (0..len(*b))
            .map(|_| (lo as i128 + ((r.next() as u128 * span) >> 64) as i128) as i64)
            .collect::<Vec<_>>()
    };
    let vals: Vec<i64> = blocks.par_iter().flat_map_iter(one).collect();
    Tensor::from_i64s(d.dtype, d.shape.clone(), vals)
}

fn bounds(dtype: DType, range: Option<(i64, i64)>) -> (i64, i64) {
    match (range, dtype) {
        (Some(r), _) => r,
        (None, DType::Bool) => (0, 1),
        (None, DType::U8 | DType::U32 | DType::U64) => (0, 255),
        (None, _) => (-128, 127),
    }
}

fn floats(r: &mut Xoshiro, n: usize, d: &Draw) -> Vec<f64> {
    if d.dtype == DType::F8e8m0 {
        let exponent = |x: u64| ((x as u128 * 9) >> 64) as i32 - 4;
        return (0..n).map(|_| d.scale * 2f64.powi(exponent(r.next()))).collect();
    }
    let mut out = Vec::with_capacity(n + 1);
    while out.len() < n {
        let (a, b) = r.normal();
        out.extend([a * d.scale, b * d.scale]);
    }
    out.truncate(n);
    out
}

/// One output of splitmix64.
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

struct Xoshiro([u64; 4]);

impl Xoshiro {
    fn new(seed: u64) -> Xoshiro {
        let word = |i: u64| mix(seed.wrapping_add(GOLDEN.wrapping_mul(i)));
        Xoshiro([word(0), word(1), word(2), word(3)])
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Uniform in -1..1, in steps of 2^-52.
    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 52) as f64) - 1.0
    }

    /// Two independent draws of N(0, 1).
    fn normal(&mut self) -> (f64, f64) {
        loop {
            let (u, v) = (self.signed(), self.signed());
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let f = (-2.0 * ln(s) / s).sqrt();
                return (u * f, v * f);
            }
        }
    }
}

/// The logarithm of a positive normal number, to about an ulp, by operations that every machine
/// rounds alike.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    // ln m = 2 atanh(s)
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let mut sum = 0.0;
    for k in (1..=23).rev().step_by(2) {
        sum = sum * q + 1.0 / k as f64;
    }
    e as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, dtype: DType, shape: &[usize], range: Option<(i64, i64)>) -> Tensor {
        draw(&Draw { seed: 7, name, dtype, shape: shape.to_vec(), range, scale: 1.0 })
    }

    #[test]
    fn draws_are_fixed() {
        // from a second implementation, with the platform's logarithm; a change of these values is
        // a change for every user
        let x = of("x", DType::F64, &[3], None);
        let bits: Vec<u64> = (0..3).map(|i| x.bits(i)).collect();
        assert_eq!(bits, FIXED);
        let i = of("x", DType::I64, &[6], Some((-3, 9)));
        assert_eq!(i.to_i64s().as_ref(), FIXED_INTS);
    }

    const FIXED: [u64; 3] = [13832134731454667211, 4610074185234904624, 13831644878242869434];
    const FIXED_INTS: [i64; 6] = [2, 5, -1, 4, 0, -3];

    #[test]
    fn xoshiro_agrees_with_its_authors() {
        let mut r = Xoshiro([1, 2, 3, 4]);
        let got: Vec<u64> = (0..4).map(|_| r.next()).collect();
        assert_eq!(got, [41943041, 58720359, 3588806011781223, 3591011842654386]);
        assert_eq!(mix(1234567), 6457827717110365317);
    }

    #[test]
    fn normals_have_their_moments_and_streams_differ() {
        let n = 200_000;
        let (x, y) = (of("x", DType::F32, &[n], None), of("y", DType::F32, &[n], None));
        let (x, y) = (x.to_f64s(), y.to_f64s());
        let mean = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        assert!(mean(&|i| x[i]).abs() < 0.01);
        assert!((mean(&|i| x[i] * x[i]) - 1.0).abs() < 0.02);
        assert!((mean(&|i| x[i].powi(4)) - 3.0).abs() < 0.1);
        assert!(mean(&|i| x[i] * y[i]).abs() < 0.01);
        // a prefix is the same whatever follows
        assert_eq!(of("x", DType::F32, &[5], None).to_f64s().as_ref(), &x[..5]);
    }

    #[test]
    fn ln_is_near_the_platforms() {
        for i in 1..10_000 {
            let x = i as f64 / 10_000.0;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(0.1), "{x}");
        }
    }

    #[test]
    fn integers_stay_in_their_range() {
        let t = of("ids", DType::I32, &[10_000], Some((0, 2)));
        let v = t.to_i64s();
        for k in 0..3 {
            assert!(v.iter().filter(|x| **x == k).count() > 3_000);
        }
        assert!(v.iter().all(|x| (0..=2).contains(x)));
        assert!(of("b", DType::Bool, &[100], None).to_i64s().iter().sum::<i64>() > 20);
        let all = of("w", DType::I64, &[4], Some((i64::MIN, i64::MAX)));
        assert!(all.to_i64s().iter().any(|x| *x < 0));
    }
}
