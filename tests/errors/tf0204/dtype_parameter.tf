//! A `dtype` parameter takes a dtype, and a pattern of a dtype is one.
// no fix: which dtype is meant is not known

func narrow<..B>(x: f32[..B], to: dtype) -> to[..B] {
    cast(x, to)
}

func pick<..B>(x: f32[..B], to: dtype) -> f32[..B] {
    match to {
        "f8" => x, // error[TF0204]: the pattern of a dtype is a dtype, found a string
        _ => -x,
    }
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        narrow(x, 8) // error[TF0204]: `to` is a dtype, found
    }

    pub func g(x: f32[4]) -> f32[4] {
        pick(x, f16)
    }
}
