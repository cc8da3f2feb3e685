//! The op `softplus`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "softplus",
    doc: Doc {
        summary: "log(1 + exp(x)).",
        details: "Rounded once, and without overflow for large x. Counted as an exponential, a \
                  logarithm, an addition, a comparison and a selection.",
        examples: &[
            example(
                "softplus(x)",
                &[("x", "f32[2]", &[0.0, 100.0])],
                ("f32[2]", &[std::f64::consts::LN_2, 100.0]),
            ),
            example("softplus(x)", &[("x", "f32[1]", &[-1.0])], ("f32[1]", &[0.31326168751822286])),
        ],
    },
    f32s: math::over::softplus,
    f64s: |x, o| map(x, o, softplus),
    ints: None,
    cost: Cost { arith: 3, sfu: 2 },
    partial: PartialRule::None,
};

fn softplus(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}
