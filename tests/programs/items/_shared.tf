//! Imported by others: a helper, a const, a dim and a module.

const WIDTH = 64;
dim rows in 1..=128;

func twice<..B>(x: f32[..B]) -> f32[..B] {
    x + x
}

module Scale {
    target "nvidia.h200_sxm";
    weight gamma: f32[WIDTH] from "scale";

    entry func scale(x: f32[rows, WIDTH]) -> f32[rows, WIDTH] {
        x * gamma
    }
}
