//! Attributes of functions take what their types say, as those of ops do.
// no fix: the values are the author's

use std::nn::{geglu, rms_norm};
use std::attention::{attention};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[1, 4, 2, 8], w: f32[8]) -> f32[1, 4, 2, 8] {
        let a = rms_norm(x, w, eps = true); // error[TF0212]: `eps` takes a number, found a bool
        let b = attention(x, x, x, causal = 1); // error[TF0212]: `causal` takes `true` or `false`, found an integer
        let c = geglu(x, x, approximate = 2); // error[TF0212]: `approximate` takes a string, found an integer
        a + b + c
    }

    pub func g(x: f32[4]) -> f32[4] {
        geglu(x, x, approximate = "erf") // error[TF0212]: `gelu` takes "none" or "tanh" as `approximate`
    }
}
