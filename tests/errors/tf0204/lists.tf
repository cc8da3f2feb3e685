// no fix: what was meant is not known
const WIDTHS = [4, 2];

func step(x: f32[4]) -> f32[4] {
    let mut y = x;
    for n in WIDTHS step 2 { // error[TF0204]: a list has no `step`
        y = y * n;
    }
    y
}

func tensor(x: f32[4]) -> f32[4] {
    let mut y = x;
    for n in x { // error[TF0204]: a `for` walks a range or a list, found a tensor
        y = y + 1.0;
    }
    y
}

func once(x: f32[4]) -> f32[4] {
    let mut y = x;
    for n in WIDTHS {
        y = y + zeros(f32[4], n); // error[TF0204]
    }
    y
}

func length(x: f32[4]) -> f32[4] {
    x * len(4) // error[TF0204]: `len` takes a list or a string
}

func places(x: f32[4]) -> f32[4] {
    x * len(positions(WIDTHS)) // error[TF0204]: `positions` takes a list or a string, and a value
}
