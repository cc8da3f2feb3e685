//! Conversions between element types, each rounded once.
//!
//! In: slices of one Rust type. Out: vectors of another. Floats round to nearest, ties to even,
//! straight from the source: an `f64` never passes through `f32` on its way to a narrower type.
//! `half` and `microfloat` do pass through it (or drop low bits), so the encoder here is the
//! crate's own; `half` is used where it is exact (`f16` from and to `f32`, eight at a time).
//!
//! Overflow and NaN agree with `ml_dtypes`:
//!
//! | type | overflow | NaN | note |
//! |---|---|---|---|
//! | f16, bf16, tf32, f8e5m2 | infinity | NaN | |
//! | f8e4m3 | NaN (above 464) | NaN | infinity gives NaN |
//! | f8e8m0 | NaN | NaN | zero and negatives give NaN; a positive value up to 2^-127 gives 2^-127; a tie rounds up |
//! | f4e2m1 | saturates at 6 | zero of the other sign | |

use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

/// Below this many elements a conversion stays on the calling thread.
const PARALLEL: usize = 1 << 20;
const CHUNK: usize = 1 << 16;

/// The shape of a float type of fewer bits than `f64`, with its sign bit left out.
#[derive(Clone, Copy)]
struct Format {
    /// Stored mantissa bits.
    mantissa: u32,
    /// Exponent of the smallest normal value.
    emin: i32,
    /// Code of the largest finite value.
    top: u32,
    /// Code of what is larger.
    over: u32,
}

const F16: Format = Format { mantissa: 10, emin: -14, top: 0x7bff, over: 0x7c00 };
const BF16: Format = Format { mantissa: 7, emin: -126, top: 0x7f7f, over: 0x7f80 };
const TF32: Format = Format { mantissa: 10, emin: -126, top: (0xff << 10) - 1, over: 0xff << 10 };
const E4M3: Format = Format { mantissa: 3, emin: -6, top: 0x7e, over: 0x7f };
const E5M2: Format = Format { mantissa: 2, emin: -14, top: 0x7b, over: 0x7c };
const E2M1: Format = Format { mantissa: 1, emin: 0, top: 7, over: 7 };

/// The code of `|x|`, which must not be NaN, rounded to nearest even.
#[inline(always)]
fn encode(x: f64, format: Format) -> u32 {
    let bits = x.to_bits() & !(1 << 63);
    let biased = (bits >> 52) as i32;
    if biased == 0 {
        // Zero, or an f64 subnormal: far below half of any of these types' smallest value.
        return 0;
    }
    let exponent = biased - 1023;
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    let below = (format.emin - exponent).max(0) as u32;
    let shift = (52 - format.mantissa + below).min(62);
    let odd = (significand >> shift) & 1;
    let rounded = (significand + (1 << (shift - 1)) - 1 + odd) >> shift;
    // A normal `rounded` holds the implicit one, which is the exponent field's first step; a
    // carry out of the mantissa lands in the exponent by itself.
    let above = (exponent - format.emin).max(0) as u32;
    let code = (above << format.mantissa) + rounded as u32;
    if code > format.top { format.over } else { code }
}

#[inline(always)]
fn sign(x: f64) -> u32 {
    (x.to_bits() >> 63) as u32
}

/// `x` rounded to f16.
#[inline]
pub fn f16_of_f64(x: f64) -> half::f16 {
    let code =
        if x.is_nan() { 0x7e00 | ((x.to_bits() >> 42) & 0x3ff) as u32 } else { encode(x, F16) };
    half::f16::from_bits((code | (sign(x) << 15)) as u16)
}

/// `x` rounded to bf16.
#[inline]
pub fn bf16_of_f64(x: f64) -> half::bf16 {
    let code =
        if x.is_nan() { 0x7fc0 | ((x.to_bits() >> 45) & 0x7f) as u32 } else { encode(x, BF16) };
    half::bf16::from_bits((code | (sign(x) << 15)) as u16)
}

/// `x` rounded to bf16; without a branch, so that loops over it vectorise.
#[inline(always)]
pub fn bf16_of_f32(x: f32) -> half::bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    let code = if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded };
    half::bf16::from_bits(code as u16)
}

/// `x` rounded to tf32, in an f32 whose 13 low bits are zero.
#[inline]
pub fn tf32_of_f64(x: f64) -> f32 {
    if x.is_nan() {
        return f32::from_bits(0x7fc0_0000 | (sign(x) << 31));
    }
    f32::from_bits((encode(x, TF32) << 13) | (sign(x) << 31))
}

/// `x` rounded to tf32, in an f32 whose 13 low bits are zero.
#[inline(always)]
pub fn tf32_of_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0xfff + ((bits >> 13) & 1)) & !0x1fff;
    let nan = (bits | 0x0040_0000) & !0x1fff;
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded })
}

/// The f8e4m3 code of `x`.
#[inline]
pub fn e4m3_of_f64(x: f64) -> u8 {
    let code = if x.is_nan() { 0x7f } else { encode(x, E4M3) };
    (code | (sign(x) << 7)) as u8
}

/// The f8e5m2 code of `x`.
#[inline]
pub fn e5m2_of_f64(x: f64) -> u8 {
    let code = if x.is_nan() { 0x7e } else { encode(x, E5M2) };
    (code | (sign(x) << 7)) as u8
}

/// The f8e8m0 code of `x`: the nearest power of two, ties up. Between 2^-127 and 2^-126,
/// where f32 is subnormal, everything rounds up, as in ml_dtypes and PyTorch.
#[inline]
pub fn e8m0_of_f64(x: f64) -> u8 {
    if x.is_nan() || x <= 0.0 {
        return 0xff;
    }
    if x < f64::from_bits((1023 - 126) << 52) {
        return (x > f64::from_bits((1023 - 127) << 52)) as u8;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023 + ((bits >> 51) & 1) as i32;
    (exponent + 127).min(0xff) as u8
}

/// The f4e2m1 code of `x`, in the low four bits.
#[inline]
pub fn e2m1_of_f64(x: f64) -> u8 {
    if x.is_nan() {
        return ((1 - sign(x)) << 3) as u8;
    }
    (encode(x, E2M1) | (sign(x) << 3)) as u8
}

/// `2^exponent` for exponents that f32 represents, subnormals included.
const fn power_of_two(exponent: i32) -> f32 {
    if exponent >= -126 {
        f32::from_bits(((exponent + 127) as u32) << 23)
    } else {
        f32::from_bits(1 << (exponent + 149))
    }
}

/// Every code of a type of one sign bit, `exponent_bits` and `mantissa` bits, its
/// non-finite codes aside.
const fn table(bits: u32, mantissa: u32, emin: i32, top: u32, over: f32) -> [f32; 256] {
    let mut out = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let magnitude = code & ((1 << (bits - 1)) - 1);
        let field = magnitude >> mantissa;
        let low = (magnitude & ((1 << mantissa) - 1)) as f32;
        let unit = power_of_two(emin - mantissa as i32);
        let value = if magnitude > top {
            if magnitude == top + 1 { over } else { f32::NAN }
        } else if field == 0 {
            low * unit
        } else {
            (low + (1 << mantissa) as f32) * unit * power_of_two(field as i32 - 1)
        };
        let negative = (code >> (bits - 1)) & 1;
        out[code as usize] = f32::from_bits((value.to_bits() & 0x7fff_ffff) | (negative << 31));
        code += 1;
    }
    out
}

/// The value of every f8e4m3 code.
pub static E4M3_VALUES: [f32; 256] = table(8, 3, -6, 0x7e, f32::NAN);
/// The value of every f8e5m2 code.
pub static E5M2_VALUES: [f32; 256] = table(8, 2, -14, 0x7b, f32::INFINITY);
/// The value of every f4e2m1 code; the four high bits of an index are ignored.
pub static E2M1_VALUES: [f32; 256] = table(4, 1, 0, 7, 0.0);
/// The value of every f8e8m0 code.
pub static E8M0_VALUES: [f32; 256] = {
    let mut out = [f32::NAN; 256];
    let mut code = 0;
    while code < 255 {
        out[code] = power_of_two(code as i32 - 127);
        code += 1;
    }
    out
};

/// An integer as an f64 rounded to odd: what is rounded again to at most 51 bits of
/// precision then comes out as if rounded once.
#[inline]
pub fn odd_f64_of_i64(x: i64) -> f64 {
    let magnitude = odd_f64_of_u64(x.unsigned_abs());
    if x < 0 { -magnitude } else { magnitude }
}

/// See [`odd_f64_of_i64`].
#[inline]
pub fn odd_f64_of_u64(x: u64) -> f64 {
    let excess = 11u32.saturating_sub(x.leading_zeros());
    if excess == 0 {
        return x as f64;
    }
    let lost = x & ((1 << excess) - 1) != 0;
    (((x >> excess) | lost as u64) << excess) as f64
}

/// `f` of each element, in parallel when there are many.
pub fn map<S, D>(src: &[S], f: impl Fn(S) -> D + Sync) -> Vec<D>
where
    S: Copy + Sync,
    D: Copy + Default + Send,
{
    if src.len() < PARALLEL {
        return src.iter().map(|&x| f(x)).collect();
    }
    let mut out = vec![D::default(); src.len()];
    out.par_chunks_mut(CHUNK).zip(src.par_chunks(CHUNK)).for_each(|(out, src)| {
        for (o, &x) in out.iter_mut().zip(src) {
            *o = f(x);
        }
    });
    out
}

/// Each element rounded to f16.
pub fn f16s_of_f32s(src: &[f32]) -> Vec<half::f16> {
    let mut out = vec![half::f16::ZERO; src.len()];
    out.par_chunks_mut(PARALLEL)
        .zip(src.par_chunks(PARALLEL))
        .for_each(|(out, src)| out.convert_from_f32_slice(src));
    out
}

/// Each element as an f32, exactly.
pub fn f32s_of_f16s(src: &[half::f16]) -> Vec<f32> {
    let mut out = vec![0.0; src.len()];
    out.par_chunks_mut(PARALLEL)
        .zip(src.par_chunks(PARALLEL))
        .for_each(|(out, src)| src.convert_to_f32_slice(out));
    out
}

#[cfg(test)]
#[path = "convert_random_tests.rs"]
mod random_tests;
#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
