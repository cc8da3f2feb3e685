"""Writes the fixtures of tests/models.rs: the models of examples/models at small sizes with random
weights, and what the classes of transformers compute with them in f32.

    python tests/models/make.py [NAME..]

needs the packages of tests/torch/requirements.txt and transformers. Each folder gets the config, the
bytes of the published checkpoint, a checkpoint under the published names, and `expected.safetensors`: of a decoder the tokens of a
greedy run from one token on, with the output of every layer and the logits of every step; of an
encoder its inputs, the output of every layer and the result.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "models"
STEPS = 64


def randomize(model, seed, embed=1.0):
    """Weights that keep a row's size through a layer, norms near 1, biases near 0. Rows of an
    embedding have the size `embed`."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            if not p.is_floating_point() or "inv_freq" in name:
                continue
            draw = torch.randn(p.shape, generator=gen)
            if name.endswith("A_log"):
                p.copy_(torch.log(1.0 + 3.0 * torch.rand(p.shape, generator=gen)))
            elif "embed" in name and p.dim() == 2:
                p.copy_(embed * draw)
            elif p.dim() >= 2:
                p.copy_(draw / p.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                p.copy_(1.0 + 0.2 * draw)
            else:
                p.copy_(0.2 * draw)


def watch(layers):
    """Collects what each layer gives, call by call."""
    seen = []

    def hook(_module, _args, out):
        seen.append((out[0] if isinstance(out, tuple) else out).detach().clone())

    for layer in layers:
        layer.register_forward_hook(hook)
    return seen


def greedy(model, layers, first):
    """A greedy run of STEPS steps, one token at a time."""
    seen = watch(layers)
    cache = transformers.DynamicCache(config=model.config)
    tokens, logits, hidden = [first], [], []
    with torch.no_grad():
        for _ in range(STEPS):
            seen.clear()
            ids = torch.tensor([[tokens[-1]]])
            out = model(input_ids=ids, use_cache=True, cache=cache)
            logits.append(out.logits[0].float())
            hidden.append(torch.stack([h[0] for h in seen]))
            tokens.append(int(out.logits[0, -1].argmax()))
    logits = torch.stack(logits)
    top = logits[:, 0].topk(2, dim=-1).values
    gap = (top[:, 0] - top[:, 1]).min().item()
    print(f"  {len(set(tokens))} different tokens, least gap {gap:.3g} of logits up to {top.max():.3g}")
    return {
        "tokens": torch.tensor(tokens, dtype=torch.int32),
        "logits": logits,
        "hidden": torch.stack(hidden),
    }


def qwen3():
    raw = dict(
        architectures=["Qwen3ForCausalLM"], model_type="qwen3", attention_bias=False, head_dim=16,
        hidden_act="silu", hidden_size=32, intermediate_size=48, max_position_embeddings=128,
        num_attention_heads=4, num_hidden_layers=3, num_key_value_heads=2, rms_norm_eps=1e-6,
        rope_theta=1000000, tie_word_embeddings=True, torch_dtype="float32", vocab_size=96,
    )
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**raw)).eval()
    # a tied head turns a large embedding into the token that it came from
    randomize(model, 5, embed=0.1)
    weights = {k: v for k, v in model.state_dict().items() if k != "lm_head.weight"}
    return model, raw, weights, greedy(model, model.model.layers, 1)


def nemotron_h():
    raw = dict(
        architectures=["NemotronHForCausalLM"], model_type="nemotron_h", attention_bias=False,
        chunk_size=8, conv_kernel=4, head_dim=16, hidden_size=32,
        hybrid_override_pattern="MEM*E-ME", intermediate_size=40, layer_norm_epsilon=1e-5,
        mamba_head_dim=8, mamba_hidden_act="silu", mamba_num_heads=4, mlp_bias=False,
        mlp_hidden_act="relu2", moe_intermediate_size=24, moe_shared_expert_intermediate_size=40,
        n_group=2, n_groups=2, n_routed_experts=8, n_shared_experts=1, norm_topk_prob=True,
        num_attention_heads=4, num_experts_per_tok=3, num_hidden_layers=8, num_key_value_heads=2,
        rescale_prenorm_residual=False, routed_scaling_factor=2.5, ssm_state_size=8,
        tie_word_embeddings=False, topk_group=1, torch_dtype="float32", use_bias=False,
        use_conv_bias=True, vocab_size=96,
    )
    model = transformers.NemotronHForCausalLM(transformers.NemotronHConfig(**raw)).eval()
    randomize(model, 9)
    weights = {}
    for k, v in model.state_dict().items():
        k = k.replace("model.", "backbone.", 1)
        if k.endswith(("mixer.experts.up_proj", "mixer.experts.down_proj")):
            head, which = k.rsplit(".", 1)
            weights.update({f"{head}.{i}.{which}.weight": w for i, w in enumerate(v)})
        else:
            weights[k] = v
    return model, raw, weights, greedy(model, model.model.layers, 1)


def minilm():
    raw = dict(
        architectures=["BertModel"], model_type="bert", hidden_act="gelu", hidden_size=32,
        intermediate_size=64, layer_norm_eps=1e-12, max_position_embeddings=24,
        num_attention_heads=4, num_hidden_layers=2, pad_token_id=0, type_vocab_size=2,
        vocab_size=96,
    )
    model = transformers.BertModel(transformers.BertConfig(**raw), add_pooling_layer=False).eval()
    randomize(model, 5)
    lengths, longest = [11, 1, 17, 6], 17
    gen = torch.Generator().manual_seed(6)
    ids = torch.randint(1, 96, (len(lengths), longest), generator=gen)
    mask = (torch.arange(longest) < torch.tensor(lengths)[:, None]).long()
    ids = ids * mask
    seen = watch(model.encoder.layer)
    with torch.no_grad():
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask[:, :, None].float()
        mean = (h * m).sum(1) / m.sum(1).clamp(min=1e-9)
        out = torch.nn.functional.normalize(mean, p=2, dim=1)
    weights = {k: v for k, v in model.state_dict().items() if "position_ids" not in k}
    return model, raw, weights, {
        "ids": ids.int(), "mask": mask.int(), "hidden": torch.stack(seen), "output": out,
    }


def size(model, raw, dtype):
    """Bytes of the checkpoint of a model at the sizes of a published config."""
    with torch.device("meta"):
        full = type(model)(type(model.config)(**raw))
    wide = getattr(full, "_keep_in_fp32_modules_strict", None) or []
    tied = {"lm_head.weight"} if raw.get("tie_word_embeddings") else set()
    total = 0
    for name, t in full.state_dict().items():
        unused = name in tied or not t.is_floating_point() or name.startswith("pooler.")
        kept = any(name.endswith(w) for w in wide)
        total += 0 if unused else t.numel() * (torch.float32 if kept else dtype).itemsize
    return total


# the maker, the module and its entry, and the dtype of the published checkpoint
MODELS = {
    "qwen3_1_7b": (qwen3, "Qwen3", "step", torch.bfloat16),
    "nemotron_h": (nemotron_h, "NemotronH", "step", torch.bfloat16),
    "minilm": (minilm, "MiniLM", "encode", torch.float32),
}


def main():
    for name in sys.argv[1:] or MODELS:
        print(name)
        maker, module, entry, dtype = MODELS[name]
        model, raw, weights, expected = maker()
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(raw, indent=2, sort_keys=True) + "\n")
        published = json.loads((EXAMPLES / name / "config.json").read_text())
        case = {
            "model": name, "module": module, "entry": entry,
            "bytes": size(model, published, dtype),
        }
        print(f"  {case['bytes']:,} bytes of the published checkpoint")
        (folder / "case.json").write_text(json.dumps(case, indent=2) + "\n")
        tidy = {k: v.detach().clone().contiguous() for k, v in weights.items()}
        save_file(tidy, folder / "model.safetensors")
        # `check` takes the inputs from a file of their own
        inputs = {k: expected.pop(k) for k in ["ids", "mask"] if k in expected}
        if inputs:
            save_file(inputs, folder / "inputs.safetensors")
        save_file({k: v.contiguous() for k, v in expected.items()}, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
