//! Conversions between element types, each rounded once.
//!
//! In: slices of one Rust type. Out: vectors of another. Floats round to nearest, ties to even,
//! straight from the source: an `f64` never passes through `f32` on its way to a narrower type.
//! `half` and `microfloat` do pass through it (or drop low bits), so the encoder here is the
//! crate's own. What converts from and to f32 has no branches, so that loops over it vectorise.
//!
//! Overflow and NaN agree with `ml_dtypes`:
//!
//! | type | overflow | NaN | note |
//! |---|---|---|---|
//! | f16, bf16, tf32, f8e5m2 | infinity | NaN | |
//! | f8e4m3 | NaN (above 464) | NaN | infinity gives NaN |
//! | f8e8m0 | NaN | NaN | zero and negatives give NaN; a positive value up to 2^-127 gives 2^-127; a tie rounds up |
//! | f4e2m1 | saturates at 6 | zero of the other sign | |

use crate::base::spread;

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

/// The code of `|x|` without its sign, NaN as infinity; no branch, so that loops over it vectorise.
/// `format.emin` must be above that of f32.
#[inline(always)]
fn encode_f32(x: f32, format: Format) -> u32 {
    let bits = x.to_bits() & 0x7fff_ffff;
    let drop = 23 - format.mantissa;
    let rounded = bits.wrapping_add((1 << (drop - 1)) - 1 + ((bits >> drop) & 1)) >> drop;
    let field = (format.emin + 126) as u32;
    let normal = rounded.wrapping_sub(field << format.mantissa);
    // Next to a number whose last place is the format's smallest step, the addition rounds to it.
    let unit = ((format.emin + 127 + drop as i32) as u32) << 23;
    let below = (f32::from_bits(bits) + f32::from_bits(unit)).to_bits().wrapping_sub(unit);
    let code = if bits < (field + 1) << 23 { below } else { normal };
    if code > format.top { format.over } else { code }
}

#[inline(always)]
fn sign_f32(x: f32) -> u32 {
    x.to_bits() >> 31
}

/// `x` rounded to f16; without a branch.
#[inline(always)]
pub(super) fn f16_of_f32(x: f32) -> half::f16 {
    let nan = 0x7e00 | ((x.to_bits() >> 13) & 0x3ff);
    let code = if x.is_nan() { nan } else { encode_f32(x, F16) };
    half::f16::from_bits((code | (sign_f32(x) << 15)) as u16)
}

/// `x` as an f32; without a branch. A NaN becomes a quiet one, as the processor's own conversion
/// has it.
#[inline(always)]
pub(super) fn f32_of_f16(x: half::f16) -> f32 {
    let bits = x.to_bits() as u32;
    let magnitude = bits & 0x7fff;
    let moved = magnitude << 13;
    let normal = moved + (112 << 23);
    // Above the smallest normal, as if it had an implicit one, which is then taken off.
    let one = 113u32 << 23;
    let below = (f32::from_bits(moved + one) - f32::from_bits(one)).to_bits();
    let quiet = if magnitude > 0x7c00 { 0x7fc0_0000 } else { 0x7f80_0000 };
    let value = if magnitude < 0x400 { below } else { normal };
    let value = if magnitude >= 0x7c00 { moved | quiet } else { value };
    f32::from_bits(value | ((bits & 0x8000) << 16))
}

/// The f8e4m3 code of `x`.
#[inline(always)]
pub fn e4m3_of_f32(x: f32) -> u8 {
    // infinity and NaN are above all finite codes, and what is above is NaN
    (encode_f32(x, E4M3) | (sign_f32(x) << 7)) as u8
}

/// The f8e5m2 code of `x`.
#[inline(always)]
pub fn e5m2_of_f32(x: f32) -> u8 {
    let code = if x.is_nan() { 0x7e } else { encode_f32(x, E5M2) };
    (code | (sign_f32(x) << 7)) as u8
}

/// The f8e8m0 code of `x`, as [`e8m0_of_f64`] describes it.
#[inline(always)]
pub fn e8m0_of_f32(x: f32) -> u8 {
    let bits = x.to_bits();
    let normal = (bits >> 23) + ((bits >> 22) & 1);
    let small = (bits > 1 << 22) as u32;
    let code = if bits < 1 << 23 { small } else { normal.min(0xff) };
    // not above zero, or NaN
    if bits.wrapping_sub(1) >= 0x7f80_0000 { 0xff } else { code as u8 }
}

/// The f4e2m1 code of `x`, in the low four bits.
#[inline(always)]
pub fn e2m1_of_f32(x: f32) -> u8 {
    let code = encode_f32(x, E2M1) | (sign_f32(x) << 3);
    if x.is_nan() { ((1 - sign_f32(x)) << 3) as u8 } else { code as u8 }
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

/// `f` of each element, which must be inlined; in parallel when there are many.
pub fn map<S, D>(src: &[S], f: impl Fn(S) -> D + Sync) -> Vec<D>
where
    S: Copy + Sync,
    D: Copy + Default + Send,
{
    if spread::spread(src.len()) {
        return spread::fill(src.len(), |at, part| spread::map(&src[at..], part, &f));
    }
    spread::wide(
        #[inline(always)]
        || src.iter().map(|&x| f(x)).collect(),
    )
}

/// Each element rounded to f16.
#[allow(clippy::redundant_closure, reason = "a closure can be told to be inlined")]
pub fn encode_f16(src: &[f32], out: &mut [half::f16]) {
    #[cfg(target_arch = "x86_64")]
    let done = super::f16_unit::encode(src, out);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    let (src, out) = (src.get(done..).unwrap_or(&[]), out.get_mut(done..).unwrap_or(&mut []));
    spread::map(
        src,
        out,
        #[inline(always)]
        |x| f16_of_f32(x),
    );
}

/// Rounds each element to f16, as an f32.
pub fn round_f16(x: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    let done = super::f16_unit::round(x);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for x in x.get_mut(done..).unwrap_or(&mut []) {
        *x = f32_of_f16(f16_of_f32(*x));
    }
}

/// Each element as an f32, exactly.
#[allow(clippy::redundant_closure, reason = "a closure can be told to be inlined")]
pub fn decode_f16(src: &[half::f16], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    let done = super::f16_unit::decode(src, out);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    let (src, out) = (src.get(done..).unwrap_or(&[]), out.get_mut(done..).unwrap_or(&mut []));
    spread::map(
        src,
        out,
        #[inline(always)]
        |x| f32_of_f16(x),
    );
}

/// Each element as an f32, exactly.
pub fn decode_bf16(src: &[half::bf16], out: &mut [f32]) {
    spread::map(src, out, |x| f32::from_bits((x.to_bits() as u32) << 16));
}

/// Each element rounded to f16.
pub fn f16s_of_f32s(src: &[f32]) -> Vec<half::f16> {
    spread::fill(src.len(), |at, part: &mut [_]| encode_f16(&src[at..at + part.len()], part))
}

/// Each element as an f32, exactly.
pub fn f32s_of_f16s(src: &[half::f16]) -> Vec<f32> {
    spread::fill(src.len(), |at, part: &mut [_]| decode_f16(&src[at..at + part.len()], part))
}

#[cfg(test)]
#[path = "convert_random_tests.rs"]
mod random_tests;
#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
