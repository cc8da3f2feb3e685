//! A field that the config does not have.
// fixed

config cfg = "model.json";

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + cfg.hiden_size // error[TF0201]: the config has no field `hiden_size`
    }
}
