//! Integers outside their dtype.
// no fix: the tensor is cast, or the literal is wrong

func f(x: i32[4], y: u8[4]) -> (i32[4], u8[4]) {
    let a = x + 3_000_000_000; // warning[TF0219]: `3000000000` is no value of i32
    let b = y * -1; // warning[TF0219]: `-1` is no value of u8
    (a, b)
}
