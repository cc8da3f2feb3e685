//! A child's private function is no boundary.
// no fix: whether the function becomes a boundary is decided where it is declared

module Layer {
    target "nvidia.h200_sxm";

    entry func layer(x: f32[4]) -> f32[4] {
        twice(x)
    }

    func twice(x: f32[4]) -> f32[4] {
        x + x
    }
}

module M {
    target "nvidia.h200_sxm";
    child layer: Layer;

    entry func f(x: f32[4]) -> f32[4] {
        layer.twice(x) // error[TF0201]: `twice` is private to its module
    }
}
