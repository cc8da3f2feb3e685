//! Tuples of tuples: each `let` doubles the tensors.
// no fix: what was meant is not known

func f(x: f32[4]) -> f32[4] {
    let a = (x, x, x, x, x, x, x, x);
    let b = (a, a, a, a, a, a, a, a);
    let c = (b, b, b, b, b, b, b, b);
    let d = (c, c, c, c, c, c, c, c);
    let e = (d, d, d, d, d, d, d, d);
    let g = (e, e, e, e, e, e, e, e); // error[TF0221]: a tuple holds at most 65536 tensors
    x
}
