//! An attribute by position: one mistake, one message.
// no fix: the name of the attribute is not known

func f(x: f32[5, 4]) -> (f32[5, 2], i64[5, 2]) {
    topk(x, 2) // error[TF0204]: `topk` has no positional parameter left for this
}
