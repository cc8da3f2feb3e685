//! A child of a module that does not exist.
// fixed

module Layer {
    target "nvidia.h200_sxm";

    entry func layer(x: f32[4]) -> f32[4] {
        x + x
    }
}

module M {
    target "nvidia.h200_sxm";
    child layers: Layr[4]; // error[TF0201]: there is no module `Layr`

    entry func f(x: f32[4]) -> f32[4] {
        layers[0](x)
    }
}
