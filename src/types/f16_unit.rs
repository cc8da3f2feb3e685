//! f16 to and from f32 by the processor's unit (F16C), eight at a time.
//!
//! The same bits as the conversions of [`super::convert`], which do what is left over and what
//! runs elsewhere.

use half::f16;
use std::arch::x86_64::*;

/// Converts as many elements as the unit takes; gives how many that were.
#[allow(unsafe_code)]
pub(super) fn decode(src: &[f16], out: &mut [f32]) -> usize {
    if !std::arch::is_x86_feature_detected!("f16c") {
        return 0;
    }
    let (src, out) = (src.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    // SAFETY: the processor has F16C, which comes with AVX.
    unsafe { decode_all(src, out) }
    8 * src.len().min(out.len())
}

/// The same from f32, rounded to nearest even.
#[allow(unsafe_code)]
pub(super) fn encode(src: &[f32], out: &mut [f16]) -> usize {
    if !std::arch::is_x86_feature_detected!("f16c") {
        return 0;
    }
    let (src, out) = (src.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    // SAFETY: the processor has F16C, which comes with AVX.
    unsafe { encode_all(src, out) }
    8 * src.len().min(out.len())
}

/// Rounds as many elements to f16 in place as the unit takes; gives how many that were.
#[allow(unsafe_code)]
pub(super) fn round(x: &mut [f32]) -> usize {
    if !std::arch::is_x86_feature_detected!("f16c") {
        return 0;
    }
    let x = x.as_chunks_mut::<8>().0;
    // SAFETY: the processor has F16C, which comes with AVX.
    unsafe { round_all(x) }
    8 * x.len()
}

#[target_feature(enable = "avx,f16c")]
#[allow(unsafe_code)]
fn round_all(all: &mut [[f32; 8]]) {
    for x in all {
        // SAFETY: both are 256 bits of any pattern.
        unsafe {
            let wide = std::mem::transmute::<[f32; 8], __m256>(*x);
            let codes = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
            *x = std::mem::transmute::<__m256, [f32; 8]>(_mm256_cvtph_ps(codes));
        }
    }
}

#[target_feature(enable = "avx,f16c")]
#[allow(unsafe_code)]
fn decode_all(src: &[[f16; 8]], out: &mut [[f32; 8]]) {
    for (x, o) in src.iter().zip(out) {
        // SAFETY: both are 128 bits, and both 256, of any pattern.
        unsafe {
            let codes = std::mem::transmute::<[f16; 8], __m128i>(*x);
            *o = std::mem::transmute::<__m256, [f32; 8]>(_mm256_cvtph_ps(codes));
        }
    }
}

#[target_feature(enable = "avx,f16c")]
#[allow(unsafe_code)]
fn encode_all(src: &[[f32; 8]], out: &mut [[f16; 8]]) {
    for (x, o) in src.iter().zip(out) {
        // SAFETY: both are 256 bits, and both 128, of any pattern.
        unsafe {
            let x = std::mem::transmute::<[f32; 8], __m256>(*x);
            let codes = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
            *o = std::mem::transmute::<__m128i, [f16; 8]>(codes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::convert::{f16_of_f32, f32_of_f16};
    use super::*;

    #[test]
    fn the_unit_gives_the_bits_of_the_other_conversions() {
        let codes: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let mut wide = vec![0f32; codes.len()];
        let n = decode(&codes, &mut wide);
        for (c, w) in codes.iter().zip(&wide).take(n) {
            assert_eq!(w.to_bits(), f32_of_f16(*c).to_bits(), "{:#06x}", c.to_bits());
        }
        // f32 patterns of every exponent, with low bits around the ties
        let step = if cfg!(debug_assertions) { 4001 } else { 61 };
        let all: Vec<f32> = (0..=u32::MAX).step_by(step).map(f32::from_bits).collect();
        let ties = codes.iter().flat_map(|c| {
            let bits = f32_of_f16(*c).to_bits();
            [bits | 0x1000, bits | 0x0fff, bits | 0x1001].map(f32::from_bits)
        });
        let all: Vec<f32> = all.into_iter().chain(ties).collect();
        let mut narrow = vec![f16::ZERO; all.len()];
        let n = encode(&all, &mut narrow);
        for (x, c) in all.iter().zip(&narrow).take(n) {
            assert_eq!(c.to_bits(), f16_of_f32(*x).to_bits(), "{:#010x}", x.to_bits());
        }
        let mut rounded = all.clone();
        let n = round(&mut rounded);
        for (x, r) in all.iter().zip(&rounded).take(n) {
            assert_eq!(r.to_bits(), f32_of_f16(f16_of_f32(*x)).to_bits(), "{:#010x}", x.to_bits());
        }
        let mut odd = vec![0f32; 11];
        assert!([0, 8].contains(&decode(&codes[..11], &mut odd)));
    }
}
