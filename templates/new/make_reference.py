"""Records what PyTorch gives: inputs.safetensors, and expected.safetensors, which `check` reads."""

import torch
from safetensors.torch import save_file

ROWS, KEYS, REAL = 4, 512, 400


def attention_probs(scores, mask, scaling):
    """Eager attention of Hugging Face's models: scores in bf16, softmax in f32, result in bf16."""
    weights = scores * scaling
    weights = weights + mask
    return torch.nn.functional.softmax(weights, dim=-1, dtype=torch.float32).to(scores.dtype)


torch.manual_seed(0)
scores = (8 * torch.randn(ROWS, KEYS)).to(torch.bfloat16)
mask = torch.zeros(ROWS, KEYS, dtype=torch.bfloat16)
mask[:, REAL:] = torch.finfo(torch.bfloat16).min
probs = attention_probs(scores, mask, 128**-0.5)
save_file({"scores": scores, "mask": mask}, "inputs.safetensors")
save_file({"output": probs}, "expected.safetensors")
