//! The op `sign`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "sign",
    doc: Doc {
        summary: "-1, 0 or 1, by the sign of each element.",
        details: "Zero of either sign and NaN give 0, as in PyTorch.",
        examples: &[
            example(
                "sign(x)",
                &[("x", "f32[3]", &[-3.0, 0.0, 2.0])],
                ("f32[3]", &[-1.0, 0.0, 1.0]),
            ),
            example("sign(x)", &[("x", "i32[2]", &[-7.0, 9.0])], ("i32[2]", &[-1.0, 1.0])),
        ],
    },
    f32s: |x, o| map(x, o, |x| ((x > 0.0) as i8 - (x < 0.0) as i8) as f32),
    f64s: |x, o| map(x, o, |x| ((x > 0.0) as i8 - (x < 0.0) as i8) as f64),
    ints: Some(|x, unsigned| if unsigned { (x != 0) as i64 } else { x.signum() }),
    cost: Cost::ONE,
    partial: PartialRule::None,
};
