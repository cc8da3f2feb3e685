//! Special functions of f32, without branches, so that loops over them vectorise.
//!
//! Each is computed in f64 from sums, products, quotients and bit operations alone, and rounded
//! once: the same bits on every machine. The error before that rounding is below 2^-46 of the
//! result, so the rounded result is the nearest f32 but for about one in a million, which are then
//! off by one unit. Polynomials were fitted by Chebyshev interpolation in 200-bit arithmetic; the
//! bound beside each is that of the polynomial, relative to what it stands for.

#![allow(clippy::redundant_closure, reason = "a closure can be told to be inlined")]

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI, LN_2, LOG2_E};
// both sides are computed: a branch would keep the loop around it scalar
use std::hint::select_unpredictable as select;

use super::walk::{Lane, map, wide, zip};

/// ln 2 in two parts; the first ends in 21 zero bits, so that its product with a small integer
/// is exact.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Added to a number below 2^51 in magnitude, it leaves the nearest integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The polynomial in x of these coefficients, the constant one first, z = x^2: by pairs, so that
/// half as many steps wait for each other as in Horner's scheme.
macro_rules! poly {
    ($x:expr, $z:expr, [$a:expr $(,)?] $(,)?) => { $a };
    ($x:expr, $z:expr, [$a:expr, $b:expr $(,)?] $(,)?) => { $a + $b * $x };
    ($x:expr, $z:expr, [$a:expr, $b:expr, $($rest:expr),+ $(,)?] $(,)?) => {
        ($a + $b * $x) + $z * poly!($x, $z, [$($rest),+])
    };
}

/// `(q, s)` with `exp(r + k ln 2) = s (1 + q)`, s = 2^k: q is the accurate `exp(r) - 1`.
/// `k_bits` has k in its low bits, within f64's normal exponents.
#[inline(always)]
fn exp_parts(r: f64, k_bits: u64) -> (f64, f64) {
    let square = r * r;
    // (exp(r) - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2]: 2^-51.9
    let p = poly!(
        r,
        square,
        [
            0.500_000_000_000_000_1,
            0.166_666_666_666_666_69,
            0.041_666_666_666_623_99,
            0.008_333_333_333_330_051,
            0.001_388_888_891_728_179_4,
            0.000_198_412_698_631_059_68,
            2.480_152_119_021_773e-5,
            2.755_726_837_868_419_2e-6,
            2.762_013_871_973_399_4e-7,
            2.510_042_415_700_506_7e-8,
        ],
    );
    (r + square * p, f64::from_bits((k_bits << 52).wrapping_add(1023 << 52)))
}

/// As [`exp_parts`], of x held where 2^k is a normal f64; beyond, exp is 0 or infinite in f32.
#[inline(always)]
fn reduced_exp(x: f64) -> (f64, f64) {
    let x = select(x > 700.0, 700.0, x);
    let x = select(x < -700.0, -700.0, x);
    let t = x * LOG2_E + ROUND;
    let k = t - ROUND;
    exp_parts((x - k * LN2_HI) - k * LN2_LO, t.to_bits())
}

/// e^x in f64; infinite where f64 is, 1e-304 or less instead of less.
#[inline(always)]
fn exp_wide(x: f64) -> f64 {
    let (q, s) = reduced_exp(x);
    let y = s + s * q;
    select(x > 709.782_712_893_384, f64::INFINITY, y)
}

#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp_wide(x as f64) as f32
}

#[inline(always)]
fn exp2(x: f32) -> f32 {
    let x = x as f64;
    let x = select(x > 1000.0, 1000.0, x);
    let x = select(x < -1000.0, -1000.0, x);
    let t = x + ROUND;
    let (q, s) = exp_parts((x - (t - ROUND)) * LN_2, t.to_bits());
    (s + s * q) as f32
}

/// e^x - 1 in f64, also where it is small.
#[inline(always)]
fn expm1_wide(x: f64) -> f64 {
    let (q, s) = reduced_exp(x);
    (s * q + (s - 1.0)).copysign(x)
}

#[inline(always)]
fn expm1(x: f32) -> f32 {
    expm1_wide(x as f64) as f32
}

/// `(k, f)` with `x = 2^k (1 + f)`, 1 + f between sqrt(1/2) and sqrt(2), for a positive normal x.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    // the bits of sqrt(1/2); an exponent field of 1023 and more, so that the shift is of a
    // positive number
    const BASE: u64 = 0x3fe6_a09e_667f_3bcd;
    let up = x.to_bits().wrapping_sub(BASE).wrapping_add(1023 << 52);
    let field = up >> 52;
    let m = f64::from_bits((up & ((1 << 52) - 1)).wrapping_add(BASE));
    // an integer below 2^52 under the exponent of 2^52 is that plus the integer
    let k = f64::from_bits(field | (1075 << 52)) - (4_503_599_627_370_496.0 + 1023.0);
    (k, m - 1.0)
}

/// log(1 + f) for 1 + f between sqrt(1/2) and sqrt(2).
#[inline(always)]
fn log_near_1(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let square = z * z;
    // (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2: 2^-50.9
    let p = poly!(
        z,
        square,
        [
            0.666_666_666_666_667,
            0.399_999_999_998_992,
            0.285_714_286_261_145_2,
            0.222_222_111_121_049_48,
            0.181_828_907_780_261_3,
            0.153_316_666_765_971_75,
            0.146_171_283_998_073,
        ],
    );
    2.0 * s + s * (z * p)
}

/// `y`, what a logarithm of a positive finite `w` is, or what it is of other `w`.
#[inline(always)]
fn log_of(w: f64, y: f64) -> f64 {
    let y = select(w < f64::INFINITY, y, w);
    let y = select(w == 0.0, f64::NEG_INFINITY, y);
    select(w < 0.0, f64::NAN, y)
}

#[inline(always)]
pub fn log(x: f32) -> f32 {
    let x = x as f64;
    let (k, f) = split(x);
    log_of(x, k * LN2_HI + (log_near_1(f) + k * LN2_LO)) as f32
}

#[inline(always)]
fn log2(x: f32) -> f32 {
    let x = x as f64;
    let (k, f) = split(x);
    log_of(x, k + log_near_1(f) * LOG2_E) as f32
}

/// log(1 + x) in f64. Where 1 + x loses bits of x it is below sqrt(2), and x itself is taken.
#[inline(always)]
fn log1p_wide(x: f64) -> f64 {
    let w = 1.0 + x;
    let (k, f) = split(w);
    let f = select(k == 0.0, x, f);
    log_of(w, k * LN2_HI + (log_near_1(f) + k * LN2_LO))
}

#[inline(always)]
fn log1p(x: f32) -> f32 {
    let y = log1p_wide(x as f64);
    // a zero keeps its sign
    (select(x == 0.0, x as f64, y)) as f32
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + exp_wide(-(x as f64)))) as f32
}

#[inline(always)]
fn silu(x: f32) -> f32 {
    let x = x as f64;
    (x / (1.0 + exp_wide(-x))) as f32
}

#[inline(always)]
fn softplus(x: f32) -> f32 {
    let x = x as f64;
    let above = select(x > 0.0, x, 0.0);
    (above + log1p_wide(exp_wide(-x.abs()))) as f32
}

/// From expm1(2x) = e: tanh x = e / (e + 2).
#[inline(always)]
fn tanh(x: f32) -> f32 {
    let x = x as f64;
    let twice = 2.0 * x.abs();
    let twice = select(twice > 100.0, 100.0, twice);
    let e = expm1_wide(twice);
    (e / (e + 2.0)).copysign(x) as f32
}

/// erfc(z) for z from 0 to 10.7, given `exp(-z^2)`.
#[inline(always)]
fn erfc_tail(z: f64, gauss: f64) -> f64 {
    let d = 1.0 / (z + 4.0);
    // erfc(z) exp(z^2) (z + 4) on d = 1 / (z + 4), scaled to [-1, 1]: 2^-50.2
    let y = (d - 0.159_013_605_442_176_88) * 10.990_654_205_607_477;
    let square = y * y;
    let p = poly!(
        y,
        square,
        [
            1.431_978_648_854_178_4,
            1.127_998_399_223_473_4,
            0.743_844_675_478_979_9,
            0.411_170_046_636_830_8,
            0.189_028_741_331_831_1,
            0.070_821_786_798_147_78,
            0.020_690_438_054_028_273,
            0.004_223_660_535_961_811,
            0.000_372_481_658_589_704_9,
            -9.230_995_505_882_62e-5,
            -3.659_055_240_104_97e-5,
            -1.844_429_882_762_457_6e-6,
            1.653_076_494_146_531e-6,
            2.981_186_157_606_924e-7,
            -6.635_817_499_588_375e-8,
            -2.203_586_790_220_113_8e-8,
            2.407_323_915_189_351_2e-9,
            1.156_932_085_458_895e-9,
        ],
    );
    gauss * (p * d)
}

#[inline(always)]
fn erf(x: f32) -> f32 {
    let x = x as f64;
    let a = x.abs();
    let a = select(a > 6.0, 6.0, a);
    let z = a * a;
    let square = z * z;
    // erf(x) / x in x^2 on [0, 1]: 2^-50.8
    let p = poly!(
        z,
        square,
        [
            1.128_379_167_095_512_1,
            -0.376_126_389_031_744,
            0.112_837_916_705_804_23,
            -0.026_866_170_586_496_874,
            0.005_223_977_154_105_304,
            -0.000_854_830_487_178_274_1,
            0.000_120_546_819_183_105_99,
            -1.491_330_090_631_639_5e-5,
            1.631_035_651_387_174e-6,
            -1.518_828_124_733_516_7e-7,
            9.428_596_956_834_164e-9,
        ],
    );
    let above = 1.0 - erfc_tail(a, exp_wide(-z));
    select(a < 1.0, a * p, above).copysign(x) as f32
}

/// x times the normal distribution, whose lower tail is that of erfc.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let x = x as f64;
    let a = x.abs();
    // the square is exact, and what is beyond is 0 in f32
    let a = select(a > 15.0, 15.0, a);
    let tail = 0.5 * erfc_tail(a * FRAC_1_SQRT_2, exp_wide(-0.5 * (a * a)));
    // half of a subnormal is a tie, which the least error would turn
    let tail = select(a < 1e-20, 0.5, tail);
    // an infinity times it is NaN, as by the definition
    let tail = select(x < -15.0, 0.0, tail);
    (x * select(x < 0.0, tail, 1.0 - tail)) as f32
}

/// By 1 + tanh(u) = 2 / (1 + exp(-2u)), which does not cancel.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    const K: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    let x = x as f64;
    let u = K * (x + 0.044715 * x * x * x);
    (x / (1.0 + exp_wide(-2.0 * u))) as f32
}

/// Above this magnitude an angle is not reduced here.
const ANGLE: f32 = 1e5;

/// pi / 2 in three parts; the first two have 33 bits, so that their products with integers below
/// 2^20 are exact.
const PIO2: [f64; 3] = [
    f64::from_bits(0x3ff9_21fb_5440_0000),
    f64::from_bits(0x3dd0_b461_1a60_0000),
    f64::from_bits(0x3ba3_198a_2e03_7073),
];

/// sin(x + quarters pi / 2) for a magnitude of x up to [`ANGLE`].
#[inline(always)]
fn sin_wide(x: f64, quarters: u64) -> f64 {
    let t = x * FRAC_2_PI + ROUND;
    let k = t - ROUND;
    let r = ((x - k * PIO2[0]) - k * PIO2[1]) - k * PIO2[2];
    let z = r * r;
    let square = z * z;
    // (sin(r) / r - 1) / r^2 in r^2 on [0, (pi / 4)^2]: 2^-52.2
    let s = poly!(
        z,
        square,
        [
            -0.166_666_666_666_666_66,
            0.008_333_333_333_330_936,
            -0.000_198_412_698_367_405_27,
            2.755_731_609_319_606_6e-6,
            -2.505_112_989_596_280_7e-8,
            1.591_797_889_431_871_6e-10,
        ],
    );
    // (cos(r) - 1 + r^2 / 2) / r^4 in r^2: 2^-54
    let c = poly!(
        z,
        square,
        [
            0.041_666_666_666_666_664,
            -0.001_388_888_888_888_738_9,
            2.480_158_729_875_44e-5,
            -2.755_731_726_587_661_5e-7,
            2.087_614_504_910_828e-9,
            -1.138_254_462_340_429_1e-11,
        ],
    );
    let sin = r + r * (z * s);
    let cos = (1.0 - 0.5 * z) + square * c;
    let quarter = t.to_bits().wrapping_add(quarters);
    let y = select(quarter & 1 == 0, sin, cos);
    f64::from_bits(y.to_bits() ^ ((quarter & 2) << 62))
}

/// Of magnitudes up to [`ANGLE`].
#[inline(always)]
fn sin(x: f32) -> f32 {
    let y = sin_wide(x as f64, 0);
    (select(x == 0.0, x as f64, y)) as f32
}

/// Of magnitudes up to [`ANGLE`].
#[inline(always)]
fn cos(x: f32) -> f32 {
    sin_wide(x as f64, 1) as f32
}

/// a^b where the fast way is sure to round as the exact result does, NaN elsewhere.
///
/// The error of `b log a` is below 2^-45 up to 80, and so is the relative error of the result; one
/// nearer than 2^-42 to a tie between two f32 (as exact squares often are) is not sure.
#[inline(always)]
fn pow_or_nan(a: f32, b: f32) -> f32 {
    let (a, b) = (a as f64, b as f64);
    let whole = b + ROUND;
    let (k, f) = split(a.abs());
    let t = b * (k * LN2_HI + (log_near_1(f) + k * LN2_LO));
    let y = exp_wide(t);
    let below = (y.to_bits() & 0x1fff_ffff).wrapping_sub(0x1000_0000 - 0x400);
    let is_whole = (whole - ROUND == b) & (b.abs() < 4e6);
    let sure = (below > 0x800)
        & (t.abs() < 80.0)
        & (a.abs() >= f32::MIN_POSITIVE as f64)
        & (a.abs() < f64::INFINITY)
        & ((a > 0.0) | is_whole);
    let odd = (whole.to_bits() & (a < 0.0) as u64) << 63;
    select(sure, f64::from_bits(y.to_bits() ^ odd), f64::NAN) as f32
}

/// Each a^b.
pub fn pow(a: Lane<f32>, b: Lane<f32>, o: &mut [f32]) {
    zip(
        a,
        b,
        o,
        #[inline(always)]
        |x, y| pow_or_nan(x, y),
    );
    if !o.iter().any(|o| o.is_nan()) {
        return;
    }
    let at = |v: Lane<f32>, i: usize| match v {
        Lane::Many(v) => v.get(i).copied().unwrap_or_default(),
        Lane::One(v) => v,
    };
    for (i, o) in o.iter_mut().enumerate().filter(|(_, o)| o.is_nan()) {
        let (x, y) = (at(a, i), at(b, i));
        // a negative number has no broken power
        let none = x < 0.0 && x.is_finite() && y.is_finite() && y.fract() != 0.0;
        if !none {
            *o = libm::pow(x as f64, y as f64) as f32;
        }
    }
}

/// Puts `exact` where the angle is too large for the loop before, or is not a number.
fn large_angles(x: &[f32], o: &mut [f32], exact: fn(f64) -> f64) {
    // NaN is above all numbers
    let magnitude = |x: f32| x.to_bits() & 0x7fff_ffff;
    let largest = wide(
        #[inline(always)]
        || x.iter().fold(0, |m, x| magnitude(*x).max(m)),
    );
    if largest <= ANGLE.to_bits() {
        return;
    }
    for (o, x) in o.iter_mut().zip(x) {
        if magnitude(*x) > ANGLE.to_bits() {
            *o = exact(*x as f64) as f32;
        }
    }
}

/// Each function over slices, as the ops take it.
pub mod over {
    use super::*;

    macro_rules! over {
        ($($name:ident)*) => { $(
            pub fn $name(x: &[f32], o: &mut [f32]) {
                map(
                    x,
                    o,
                    #[inline(always)]
                    |x| super::$name(x),
                );
            }
        )* };
    }

    over! { exp exp2 expm1 log log2 log1p sigmoid silu softplus tanh erf gelu gelu_tanh }

    pub fn sin(x: &[f32], o: &mut [f32]) {
        map(
            x,
            o,
            #[inline(always)]
            |x| super::sin(x),
        );
        large_angles(x, o, libm::sin);
    }

    pub fn cos(x: &[f32], o: &mut [f32]) {
        map(
            x,
            o,
            #[inline(always)]
            |x| super::cos(x),
        );
        large_angles(x, o, libm::cos);
    }
}

#[cfg(test)]
#[path = "math_tests.rs"]
mod tests;
