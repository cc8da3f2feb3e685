//! An axis and a flag by position, as PyTorch takes them.
// fixed

func f(x: f32[5, 4]) -> f32[5] {
    mean(x, -1) // error[TF0204]: `dim` of `mean` is given by name: `dim = -1`
}

func g(x: f32[5, 4]) -> f32[5, 1] {
    sum(x, 1, true) // error[TF0204]: `dim` of `sum` is given by name: `dim = 1` // error[TF0204]: `keepdim` of `sum` is given by name
}

func h(x: f32[5, 4], y: f32[5, 4]) -> f32[10, 4] {
    concat(x, y, 0) // error[TF0204]: `dim` of `concat` is given by name: `dim = 0`
}
