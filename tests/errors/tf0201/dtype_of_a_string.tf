// no fix: which dtype is meant is not known
const DTYPE = "brainfloat";

func f(x: DTYPE[4]) -> f32[4] { // error[TF0201]: `DTYPE` is `"brainfloat"`, which names no dtype
    zeros(f32[4])
}
