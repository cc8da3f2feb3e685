//! A `match` of a string without an arm for it.
// no fix: what the arm gives is not known

const ACT = "relu";

func f(x: f32[4]) -> f32[4] {
    match ACT { // error[TF0237]: no arm of this `match` covers `"relu"`
        "silu" => silu(x),
        "gelu" => gelu(x),
    }
}
