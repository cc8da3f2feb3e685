//! A `for` over a list stands for its body once for each element, and numbers change in it.

// agrees: f = logical
const WIDTHS = [4, 2, 6];

func f(x: f32[12]) -> f32[12] {
    let mut y = empty(f32[12]);
    let mut at = 0;
    for n in WIDTHS {
        y[at..at + n] = x[at..at + n] * n;
        at = at + n;
    }
    for name in ["one", "two"] {
        let by = match name {
            "one" => 1.0,
            "two" => 2.0,
        };
        y = y + by;
    }
    for nothing in positions(WIDTHS, 5) {
        y = y * nothing;
    }
    y
}

func logical(x: f32[12]) -> f32[12] {
    concat([x[..4] * 4.0, x[4..6] * 2.0, x[6..] * 6.0], dim = 0) + 3.0
}
