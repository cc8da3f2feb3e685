//! Weights are seen inside their own module only.
// no fix: the weight becomes a parameter, which changes the callers too

module Norm {
    target "nvidia.h200_sxm";
    weight gamma: bf16[64];

    entry func scale(x: bf16[4, 64]) -> bf16[4, 64] {
        x * gamma
    }
}

module Other {
    target "nvidia.h200_sxm";

    entry func scale(x: bf16[4, 64]) -> bf16[4, 64] {
        x * gamma // error[TF0201]: `gamma` is not declared here
    }
}
