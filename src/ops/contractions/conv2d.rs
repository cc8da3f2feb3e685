//! The op `conv2d`.

use super::conv::Conv;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Conv {
    name: "conv2d",
    doc: Doc {
        summary: "A convolution along the last two axes.",
        details: "As in PyTorch: x is [batch, channels, rows, columns], w is [out channels, \
                  channels / groups, window rows, window columns]. Each result is the sum of the \
                  products of a window with the positions of x under it, over the channels of its \
                  group, plus `bias` of its channel; positions outside x are 0. `stride`, \
                  `padding` and `dilation` are a number, or one for rows and one for columns: \
                  `stride = [2, 1]`. Sums accumulate in f32 (f64 for f64), as a matrix product \
                  does; then the bias is added, and the result is rounded once to `out`, or to \
                  the operands' dtype. In index order a sum goes channel by channel, then row by \
                  row of the window. Two operations for each point, padding included; one more \
                  for each result with a bias. Not linear in `x` where it has a bias, so partial \
                  operands are refused; an axis that windows move along cannot be split over a \
                  mesh.",
        examples: &[
            example(
                "conv2d(x, w)",
                &[
                    ("x", "f32[1, 1, 2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ("w", "f32[1, 1, 2, 2]", &[1.0, 10.0, 100.0, 1000.0]),
                ],
                ("f32[1, 1, 1, 2]", &[5421.0, 6532.0]),
            ),
            example(
                "conv2d(x, w, bias = b, stride = [2, 1], padding = [0, 1], groups = 2)",
                &[
                    ("x", "f32[1, 2, 3, 1]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ("w", "f32[2, 1, 1, 2]", &[1.0, 10.0, 2.0, 0.0]),
                    ("b", "f32[2]", &[0.5, -1.0]),
                ],
                ("f32[1, 2, 2, 2]", &[10.5, 1.5, 30.5, 3.5, -1.0, 7.0, -1.0, 11.0]),
            ),
        ],
    },
    params: &[
        Param::tensor("x"),
        Param::tensor("w"),
        Param::named("bias", ParamKind::OptTensor, DefaultValue::Absent),
        Param::named("stride", ParamKind::PerAxis, DefaultValue::Int(1)),
        Param::named("padding", ParamKind::PerAxis, DefaultValue::Int(0)),
        Param::named("dilation", ParamKind::PerAxis, DefaultValue::Int(1)),
        Param::named("groups", ParamKind::Int, DefaultValue::Int(1)),
        Param::named("out", ParamKind::DType, DefaultValue::Absent),
    ],
    axes: 2,
    layout: [
        "[batch, channels, rows, columns]",
        "[out channels, channels / groups, window rows, window columns]",
    ],
};
