//! The op `silu`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "silu",
    doc: Doc {
        summary: "x times sigmoid(x), also called swish.",
        details: "Rounded once at the end. Counted as it is composed: sigmoid and a product.",
        examples: &[
            example(
                "silu(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, 0.7310585786300049]),
            ),
            example("silu(x)", &[("x", "f32[1]", &[-1.0])], ("f32[1]", &[-0.2689414213699951])),
        ],
    },
    f32s: math::over::silu,
    f64s: |x, o| map(x, o, |x| x / (1.0 + libm::exp(-x))),
    ints: None,
    cost: Cost { arith: 3, sfu: 2 },
    partial: PartialRule::None,
};
