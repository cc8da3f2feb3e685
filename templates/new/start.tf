//! The attention probabilities of Hugging Face's eager attention: `scores * scaling + mask` in bf16,
//! softmax in f32, the result in bf16. `make_reference.py` has the same in PyTorch.

const KEYS = 512;
const SCALING = 1.0 / sqrt(128);

dim rows in 1..=65536;

module Probs {
    target "nvidia.h200_sxm";

    entry func probs(scores: bf16[rows, KEYS], mask: bf16[rows, KEYS]) -> bf16[rows, KEYS] {
        // PyTorch multiplies by the number in f32 and rounds the product, not the number
        let scaled = cast(cast(scores, f32) * SCALING, bf16);
        let w = cast(scaled + mask, f32);
        let e = exp(w - max(w, dim = -1, keepdim = true));
        cast(e / sum(e, dim = -1, keepdim = true), bf16)
    }
}
