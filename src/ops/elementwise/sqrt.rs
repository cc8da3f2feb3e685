//! The op `sqrt`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "sqrt",
    doc: Doc {
        summary: "The square root.",
        details: "Correctly rounded; a negative element gives NaN. Counted as one special \
                  function.",
        examples: &[
            example(
                "sqrt(x)",
                &[("x", "f32[2]", &[4.0, 2.0])],
                ("f32[2]", &[2.0, std::f64::consts::SQRT_2]),
            ),
            example("sqrt(x)", &[("x", "f16[1]", &[2.0])], ("f16[1]", &[1.4140625])),
        ],
    },
    f32s: |x, o| map(x, o, f32::sqrt),
    f64s: |x, o| map(x, o, f64::sqrt),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};
