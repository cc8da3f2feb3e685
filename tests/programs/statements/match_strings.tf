//! `match` chooses by a string, such as a field of a config.

const ACT = "silu";

func f(x: f32[4]) -> f32[4] {
    // reveal: f.y: f32[4] in gmem
    let y = match ACT {
        "gelu" => gelu(x),
        "silu" => silu(x),
        _ => x,
    };
    y
}
