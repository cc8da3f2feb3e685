//! The op `rsqrt`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "rsqrt",
    doc: Doc {
        summary: "One over the square root.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example("rsqrt(x)", &[("x", "f32[2]", &[4.0, 0.25])], ("f32[2]", &[0.5, 2.0])),
            example("rsqrt(x)", &[("x", "f32[1]", &[0.0])], ("f32[1]", &[f64::INFINITY])),
        ],
    },
    f32s: |x, o| map(x, o, |x| (1.0 / (x as f64).sqrt()) as f32),
    f64s: |x, o| map(x, o, |x| 1.0 / x.sqrt()),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};
