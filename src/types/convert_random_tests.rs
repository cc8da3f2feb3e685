//! Random patterns of f32 and f64, cast to every dtype and held against what defines the result:
//! between the midpoints to its two neighbours, which f64 holds exactly; on one, the even neighbour.

use rayon::prelude::*;

use crate::types::dtype::DType;
use crate::types::value::{Data, Tensor};

/// A float type by its fields; codes are without the sign.
struct Grid {
    mantissa: u32,
    /// Exponent of the smallest normal value.
    emin: i32,
    /// The largest finite code, and the code of what lies above it.
    top: u32,
    over: u32,
    /// The smallest code that is NaN; `u32::MAX` where there is none.
    nan: u32,
    /// Whether what lies above the largest value is that value.
    saturates: bool,
}

fn grid(d: DType) -> Option<Grid> {
    let g =
        |mantissa, emin, top, over, nan| Grid { mantissa, emin, top, over, nan, saturates: false };
    Some(match d {
        DType::F32 => g(23, -126, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001),
        DType::Tf32 => g(10, -126, 0x3fbff, 0x3fc00, 0x3fc01),
        DType::F16 => g(10, -14, 0x7bff, 0x7c00, 0x7c01),
        DType::Bf16 => g(7, -126, 0x7f7f, 0x7f80, 0x7f81),
        DType::F8e4m3 => g(3, -6, 0x7e, 0x7f, 0x7f),
        DType::F8e5m2 => g(2, -14, 0x7b, 0x7c, 0x7d),
        DType::F4e2m1 => Grid { saturates: true, ..g(1, 0, 7, 7, u32::MAX) },
        _ => return None,
    })
}

/// `2^e` for exponents of normal f64.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

impl Grid {
    /// The value of a code, had the type no largest one.
    fn value(&self, code: u32) -> f64 {
        let (field, low) = (code >> self.mantissa, code & ((1 << self.mantissa) - 1));
        match field {
            0 => f64::from(low) * power(self.emin - self.mantissa as i32),
            _ => {
                let whole = f64::from(low + (1 << self.mantissa));
                whole * power(self.emin - self.mantissa as i32 + field as i32 - 1)
            }
        }
    }

    /// The midpoint of a code and the next: one bit more, so exact.
    fn middle(&self, code: u32) -> f64 {
        (self.value(code) + self.value(code + 1)) / 2.0
    }

    /// Whether `code` is what `a`, which is not negative, rounds to.
    fn rounds(&self, a: f64, code: u32) -> bool {
        let even = code.is_multiple_of(2);
        let above = |m: f64| a > m || (a == m && even);
        let below = |m: f64| a < m || (a == m && even);
        if self.saturates && code == self.top {
            return above(self.middle(code - 1));
        }
        if code > self.top {
            let m = self.middle(self.top);
            return code == self.over && (a > m || (a == m && self.top % 2 == 1));
        }
        (code == 0 || above(self.middle(code - 1))) && below(self.middle(code))
    }
}

/// Sign, significand and exponent: `(-1)^s n 2^e`.
fn parts(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let (field, low) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (n, e) = if field == 0 { (low, -1074) } else { (low | 1 << 52, field - 1075) };
    (bits >> 63 == 1, n, e)
}

/// `x` without its fraction, held between bounds, in integers alone.
fn truncated(x: f64, (lo, hi): (i128, i128)) -> i128 {
    if x.is_nan() {
        return 0;
    }
    let (negative, n, e) = parts(x);
    let n = match e {
        // infinity, or beyond every type
        64.. => i128::from(u64::MAX) << 60,
        0..64 => i128::from(n) << e,
        -63..0 => i128::from(n >> -e),
        _ => 0,
    };
    (if negative { -n } else { n }).clamp(lo, hi)
}

fn bounds(d: DType) -> Option<(i128, i128)> {
    let bits = d.bits() as u32;
    match d {
        _ if !d.is_int() => None,
        _ if d.is_signed() => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        _ => Some((0, (1 << bits) - 1)),
    }
}

/// Whether element `i` of `t` is what the cast of `x` must give.
fn right(x: f64, t: &Tensor, i: usize) -> bool {
    let d = t.dtype();
    let bits = t.bits(i);
    if let Some((lo, hi)) = bounds(d) {
        let shift = 128 - d.bits() as u32;
        let got = match d.is_signed() {
            true => ((bits as i128) << shift) >> shift,
            false => i128::from(bits),
        };
        return got == truncated(x, (lo, hi));
    }
    let negative = x.is_sign_negative();
    match (d, grid(d)) {
        (DType::Bool, _) => bits == u64::from(x.to_bits() << 1 != 0),
        (DType::F64, _) => bits == x.to_bits() || (x.is_nan() && f64::from_bits(bits).is_nan()),
        (DType::F8e8m0, _) => powers(x, bits as u32),
        (_, Some(g)) => {
            let width = if d == DType::Tf32 { 19 } else { d.bits() as u32 };
            let bits = if d == DType::Tf32 { bits >> 13 } else { bits } as u32;
            let (sign, code) = (bits >> (width - 1) == 1, bits & ((1 << (width - 1)) - 1));
            match x.is_nan() {
                // it has no NaN: a zero of the other sign stands for it
                true if g.nan == u32::MAX => code == 0 && sign != negative,
                true => code >= g.nan,
                false => sign == negative && g.rounds(x.abs(), code),
            }
        }
        _ => false,
    }
}

/// A power of two: the nearest, the upper one of two as near. What has no power is NaN.
fn powers(x: f64, code: u32) -> bool {
    if x.is_nan() || x <= 0.0 {
        return code == 0xff;
    }
    let edge = |c: u32| if c == 0 { power(-126) * 0.5 } else { 1.5 * power(c as i32 - 127) };
    match code {
        // the two smallest: f32 holds 2^-127 only as a subnormal, and what is above it rounds up
        0 => x <= edge(0),
        1 => x > edge(0) && x < edge(1),
        0xff => x >= edge(0xfe),
        _ => x >= edge(code - 1) && x < edge(code),
    }
}

/// Patterns that repeat from run to run: half are any; a quarter lie where the narrow types do;
/// and a quarter have few bits besides, so that many are ties.
fn pattern(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn f64_of(i: u64) -> f64 {
    let z = pattern(i);
    let exponent = 1023 - 160 + (z >> 52) % 320;
    let near = (z & (1 << 63)) | exponent << 52 | (z & ((1 << 52) - 1));
    f64::from_bits(match i % 4 {
        0 | 1 => z,
        2 => near,
        _ => near & !((1 << (52 - (z % 26))) - 1),
    })
}

fn f32_of(i: u64) -> f32 {
    let z = pattern(i);
    let exponent = 127 - 20 + (z >> 40) % 40;
    let near = ((z & (1 << 31)) | exponent << 23 | (z & ((1 << 23) - 1))) as u32;
    f32::from_bits(match i % 4 {
        0 | 1 => z as u32,
        2 => near,
        _ => near & !((1 << (23 - (z >> 50) as u32 % 14)) - 1),
    })
}

/// Casts `n` patterns of each of the two types to every dtype.
fn casts(n: u64) {
    const PART: u64 = 1 << 16;
    (0..n.div_ceil(PART)).into_par_iter().for_each(|p| {
        let range = p * PART..n.min((p + 1) * PART);
        let len = (range.end - range.start) as usize;
        let wide: Vec<f64> = range.clone().map(f64_of).collect();
        let narrow: Vec<f32> = range.map(f32_of).collect();
        let exact: Vec<f64> = narrow.iter().map(|x| f64::from(*x)).collect();
        for (data, d, values) in
            [(Data::F64(wide.clone()), DType::F64, &wide), (Data::F32(narrow), DType::F32, &exact)]
        {
            let x = Tensor::new(d, vec![len], data).unwrap();
            for to in DType::ALL {
                let got = x.cast(to);
                for (i, v) in values.iter().enumerate() {
                    assert!(right(*v, &got, i), "{d} {v:e} to {to}: {:#x}", got.bits(i));
                }
            }
        }
    });
}

#[test]
fn random_patterns_round_to_the_nearest() {
    casts(1_000_000);
}

/// 34 casts of ten million patterns: `cargo test --lib ten_million -- --ignored`.
#[test]
#[ignore = "25 seconds of a processor without optimisation"]
fn ten_million_random_patterns_round_to_the_nearest() {
    casts(10_000_000);
}

/// What the checks themselves say of values whose result is known.
#[test]
fn the_definition_tells_right_from_wrong() {
    let one = |d, bits: u64| {
        let size = d == DType::F16 || d == DType::Bf16;
        let bytes = &bits.to_le_bytes()[..if size { 2 } else { 1 }];
        Tensor::from_bytes(d, vec![1], bytes).unwrap()
    };
    // 2049 lies between the f16 2048 (0x6800) and 2050 (0x6801)
    assert!(right(2049.0, &one(DType::F16, 0x6800), 0));
    assert!(!right(2049.0, &one(DType::F16, 0x6801), 0));
    assert!(right(2049.0 + 1e-9, &one(DType::F16, 0x6801), 0));
    // 65520 is halfway from the largest f16 to what would be the next
    assert!(right(65520.0, &one(DType::F16, 0x7c00), 0));
    assert!(!right(65519.0, &one(DType::F16, 0x7c00), 0));
    // f8e4m3 keeps 464, halfway from 448 to 480
    assert!(right(464.0, &one(DType::F8e4m3, 0x7e), 0));
    assert!(
        right(465.0, &one(DType::F8e4m3, 0x7f), 0) && !right(465.0, &one(DType::F8e4m3, 0x7e), 0)
    );
    assert!(right(3.0, &one(DType::F8e8m0, 129), 0) && !right(3.0, &one(DType::F8e8m0, 128), 0));
    assert_eq!(truncated(-2.9, (-128, 127)), -2);
    assert_eq!(truncated(1e300, (-128, 127)), 127);
    assert_eq!(truncated(f64::NEG_INFINITY, (0, 255)), 0);
}
