//! Round brackets where extents stand; nothing calls the function.
// no fix: what was meant is not known

func f(
    x: f32(4), // error[TF0204]: expected a tensor type such as `f32[M, N]`
) -> f32[4] {
    x
}
