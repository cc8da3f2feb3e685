//! A config file that is no JSON.
// no fix: the file is at fault, not the program

config cfg = "broken.json"; // error[TF0106]: broken.json

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x * cfg.scale
    }
}
