//! An attribute by position: one mistake, one message, and its name.
// fixed

func f(x: f32[5, 4]) -> (f32[5, 2], i64[5, 2]) {
    topk(x, 2) // error[TF0204]: `k` of `topk` is given by name: `k = 2`
}
