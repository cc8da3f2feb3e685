//! Against `libm` in f64, rounded once, which is what the functions stand for.

use half::{bf16, f16};

use super::{Lane, over};

/// Every pattern of the 16-bit floats, and every 2111th of f32, with those at the ends of ranges.
fn inputs() -> Vec<f32> {
    let ends = [0.0, f32::INFINITY, f32::NAN, 1.0, f32::MAX, 1e-45, f32::MIN_POSITIVE, 88.72284];
    let more = [88.7229, 103.97, 103.98, 104.1, 127.99, 128.0, 149.0, 149.9, 150.0, 1e5, 1.1e5];
    let halves = (0..=u16::MAX).map(|b| f16::from_bits(b).to_f32());
    let brains = (0..=u16::MAX).map(|b| bf16::from_bits(b).to_f32());
    (0..=u32::MAX)
        .step_by(2111 * STEP)
        .map(f32::from_bits)
        .chain(halves.step_by(STEP))
        .chain(brains.step_by(STEP))
        .chain(ends.into_iter().chain(more).flat_map(|x| [x, -x]))
        .collect()
}

/// Without optimisation `libm` and the loops take minutes for all.
const STEP: usize = if cfg!(debug_assertions) { 29 } else { 1 };

/// The distance between f32 next to `x`.
fn unit(x: f64) -> f64 {
    let x = x.abs().max(f32::MIN_POSITIVE as f64);
    f64::from_bits(x.to_bits() & !((1 << 52) - 1)) * 2f64.powi(-23)
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Nearest everywhere but for a few, which are nearly ties; halves and brains made of the results
/// are those made of the nearest.
fn hold(name: &str, f: fn(&[f32], &mut [f32]), exact: fn(f64) -> f64) {
    let x = inputs();
    let mut got = vec![0.0; x.len()];
    f(&x, &mut got);
    let mut off = 0;
    for (&x, &got) in x.iter().zip(&got) {
        let truth = exact(x as f64);
        let want = truth as f32;
        if same(got, want) {
            continue;
        }
        off += 1;
        let away = (got as f64 - truth).abs() / unit(truth);
        assert!(away < 0.5001, "{name}({x:e}) is {got:e}, not {want:e}: {away} units");
        assert_eq!(f16::from_f32(got).to_bits(), f16::from_f32(want).to_bits(), "{name}({x:e})");
        assert_eq!(bf16::from_f32(got).to_bits(), bf16::from_f32(want).to_bits(), "{name}({x:e})");
    }
    assert!(off < 5, "{name}: {off} of {} are not the nearest", x.len());
}

#[test]
fn exponentials_are_the_nearest() {
    hold("exp", over::exp, libm::exp);
    hold("exp2", over::exp2, libm::exp2);
    hold("expm1", over::expm1, libm::expm1);
}

#[test]
fn logarithms_are_the_nearest() {
    hold("log", over::log, libm::log);
    hold("log2", over::log2, libm::log2);
    hold("log1p", over::log1p, libm::log1p);
}

#[test]
fn activations_are_the_nearest() {
    hold("sigmoid", over::sigmoid, |x| 1.0 / (1.0 + libm::exp(-x)));
    hold("silu", over::silu, |x| x / (1.0 + libm::exp(-x)));
    hold("tanh", over::tanh, libm::tanh);
    hold("softplus", over::softplus, |x| match x.is_nan() {
        true => x,
        false => x.max(0.0) + libm::log1p(libm::exp(-x.abs())),
    });
}

/// By forms that do not cancel for negative x.
#[test]
fn the_normal_distribution_is_the_nearest() {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};
    hold("erf", over::erf, libm::erf);
    hold("gelu", over::gelu, |x| match x < 0.0 {
        true => 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2),
        false => 0.5 * x * (1.0 + libm::erf(x * FRAC_1_SQRT_2)),
    });
    hold("gelu by tanh", over::gelu_tanh, |x| {
        x / (1.0 + libm::exp(-2.0 * FRAC_2_PI.sqrt() * (x + 0.044715 * x * x * x)))
    });
}

#[test]
fn angles_of_any_size_are_the_nearest() {
    hold("sin", over::sin, libm::sin);
    hold("cos", over::cos, libm::cos);
}

/// Special operands, exact results, ties between two f32, and a walk over all exponents.
#[test]
fn powers_are_the_nearest() {
    let special = [0.0, 1.0, 2.0, 3.0, 0.5, 4097.0, 257.0, 1e-40, 1e38, f32::INFINITY, f32::NAN];
    let special: Vec<f32> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let walk: Vec<f32> = (0..=u32::MAX).step_by(40_000_003).map(f32::from_bits).collect();
    let near: Vec<f32> = (0..200).map(|i| 0.1 + i as f32 * 0.037).collect();
    let bases = [special.clone(), walk, near].concat();
    let exponents = [special, vec![-3.7, 0.1, 1.5, 10.0, 33.3, 1e7, -2.0, 5.0]].concat();
    for y in exponents {
        let mut got = vec![0.0; bases.len()];
        super::pow(Lane::Many(&bases), Lane::One(y), &mut got);
        for (&x, &got) in bases.iter().zip(&got) {
            let want = libm::pow(x as f64, y as f64) as f32;
            assert!(same(got, want), "pow({x:e}, {y:e}) is {got:e}, not {want:e}");
        }
    }
}
