//! The op `conv1d`.

use super::conv::Conv;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Conv {
    name: "conv1d",
    doc: Doc {
        summary: "A convolution along the last axis.",
        details: "As in PyTorch: x is [batch, channels, positions], w is [out channels, channels \
                  / groups, window], and `y[n, o, l]` is the sum of `w[o, c, k] x[n, c', l stride \
                  + k dilation - padding]`, plus `bias[o]`; positions outside x are 0. c' is \
                  channel c of the group of o, so `groups` as large as the channels is a \
                  depthwise convolution. `causal` pads before the first position alone, as much \
                  as a window reaches back: result l sees positions up to l, and at stride 1 \
                  there are as many results as positions. Sums accumulate in f32 (f64 for f64), \
                  as a matrix product does; then the bias is added, and the result is rounded \
                  once to `out`, or to the operands' dtype. In index order a sum goes channel by \
                  channel in the order of the window. Two operations for each point, padding \
                  included; one more for each result with a bias. Not linear in `x` where it has \
                  a bias, so partial operands are refused.",
        examples: &[
            example(
                "conv1d(x, w)",
                &[
                    ("x", "f32[1, 1, 4]", &[1.0, 2.0, 3.0, 5.0]),
                    ("w", "f32[1, 1, 2]", &[10.0, 1.0]),
                ],
                ("f32[1, 1, 3]", &[12.0, 23.0, 35.0]),
            ),
            example(
                "conv1d(x, w, bias = b, groups = 2, causal = true)",
                &[
                    ("x", "f32[1, 2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ("w", "f32[2, 1, 2]", &[10.0, 1.0, 0.0, 2.0]),
                    ("b", "f32[2]", &[0.5, -1.0]),
                ],
                ("f32[1, 2, 3]", &[1.5, 12.5, 23.5, 7.0, 9.0, 11.0]),
            ),
            example(
                "conv1d(x, w, stride = 2, padding = 1, out = f32)",
                &[
                    ("x", "bf16[1, 2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ("w", "bf16[1, 2, 3]", &[1.0, 10.0, 100.0, 0.0, 1.0, 0.0]),
                ],
                ("f32[1, 1, 2]", &[214.0, 38.0]),
            ),
        ],
    },
    params: &[
        Param::tensor("x"),
        Param::tensor("w"),
        Param::named("bias", ParamKind::OptTensor, DefaultValue::Absent),
        Param::named("stride", ParamKind::Int, DefaultValue::Int(1)),
        Param::named("padding", ParamKind::Int, DefaultValue::Int(0)),
        Param::named("dilation", ParamKind::Int, DefaultValue::Int(1)),
        Param::named("groups", ParamKind::Int, DefaultValue::Int(1)),
        Param::named("causal", ParamKind::Bool, DefaultValue::Bool(false)),
        Param::named("out", ParamKind::DType, DefaultValue::Absent),
    ],
    axes: 1,
    layout: ["[batch, channels, positions]", "[out channels, channels / groups, window]"],
};
