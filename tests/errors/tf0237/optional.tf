//! A `match` of an optional argument has an arm for what is given and one for what is not.
// no fix: what the missing arm gives is the author's

func scaled(x: f32[4], w: f32[4] = none) -> f32[4] {
    match w { // error[TF0237]: no arm of this `match` covers one that is given
        none => x,
    }
}

func capped(x: f32[4], cap: f32 = none) -> f32[4] {
    match cap { // error[TF0237]: no arm of this `match` covers `none`
    }
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        scaled(x, w = x) + capped(x)
    }
}
