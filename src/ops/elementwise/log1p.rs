//! The op `log1p`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "log1p",
    doc: Doc {
        summary: "The natural logarithm of 1 plus each element.",
        details: "Exact near 0, where `log(1 + x)` cancels. Counted as one special function and \
                  one addition.",
        examples: &[
            example(
                "log1p(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, std::f64::consts::LN_2]),
            ),
            example("log1p(x)", &[("x", "f32[1]", &[-1.0])], ("f32[1]", &[f64::NEG_INFINITY])),
        ],
    },
    f32s: math::over::log1p,
    f64s: |x, o| map(x, o, libm::log1p),
    ints: None,
    cost: Cost { arith: 1, sfu: 1 },
    partial: PartialRule::None,
};
