#!/usr/bin/env python3
"""Times the one-token step of Qwen3-1.7B at its full size beside PyTorch's on the CPU, in one run.

    python scripts/step-beside-torch.py FOLDER

needs `torch` and `transformers`, a release binary (`cargo build --release`), and 4 GB in the folder,
which gets a random checkpoint in the published layout if it has none. Each round runs, one after the
other and each in a process of its own, `tilefoundry generate` and the class of `transformers` on the
same checkpoint, prompt and threads; both read one token a step, the class with its KV cache. Memory
is the most that the system saw resident in the process; weights that are mapped from the file
count. `floor` is the time of a sum over all bytes of the weights by as many threads: a step reads
each weight once, but for the rows of the embedding, which the head reads anyway.
"""

import argparse
import inspect
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples/models/qwen3_1_7b"
THREADS = len(os.sched_getaffinity(0))
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def write(folder):
    """A checkpoint with the names and shapes of the class; norms are 1, all else is noise."""
    config = Qwen3Config.from_json_file(MODEL / "config.json")
    with torch.device("meta"):
        model = Qwen3ForCausalLM(config)
    torch.manual_seed(1)
    noise = lambda shape: torch.empty(shape, dtype=torch.bfloat16).normal_(std=config.initializer_range)
    ones = lambda shape: torch.ones(shape, dtype=torch.bfloat16)
    tensors = {n: (noise if p.dim() == 2 else ones)(p.shape) for n, p in model.named_parameters()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_bytes((MODEL / "config.json").read_bytes())


def torch_steps(folder, dtype, prompt, tokens):
    """A process of the class: seconds and gap of each step, the ids, the logits of the first."""
    transformers.utils.logging.disable_progress_bar()
    start = time.perf_counter()
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=DTYPES[dtype]).eval()
    out = {"load_s": time.perf_counter() - start, "ids": [], "step_s": [], "gaps": []}
    # the name of the argument changed
    named = inspect.signature(Qwen3ForCausalLM.forward).parameters
    cache = {"cache" if "cache" in named else "past_key_values": DynamicCache(config=model.config)}
    ids = prompt[:]
    with torch.inference_mode():
        for i in itertools.count():
            start = time.perf_counter()
            made = model(input_ids=torch.tensor([[ids[i]]]), use_cache=True, **cache)
            best = int(made.logits[0, -1].argmax())
            out["step_s"].append(time.perf_counter() - start)
            if i == 0:
                save_first(folder / f"first-{dtype}.safetensors", made.logits[0].float(), *cache.values())
            if i + 1 >= len(prompt):
                top = made.logits[0, -1].float().topk(2).values
                out["gaps"].append(float(top[0] - top[1]))
                out["ids"].append(best)
                ids.append(best)
            if len(out["ids"]) == tokens:
                return out


def save_first(file, logits, cache):
    """What the first step gives, as `check` names and shapes it."""
    rows = lambda of: torch.stack([of(x)[0].transpose(0, 1).bfloat16() for x in cache.layers])
    best = logits.argmax(-1).int()
    save_file({"output[0]": best, "output[1]": logits, "kc": rows(lambda x: x.keys).contiguous(),
               "vc": rows(lambda x: x.values).contiguous()}, file)


def read_once(folder):
    """A process that adds up the bytes of the checkpoint, thrice."""
    whole = torch.from_file(str(folder / "model.safetensors"), dtype=torch.int64,
                            size=(folder / "model.safetensors").stat().st_size // 8)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        whole.sum()
        times.append(time.perf_counter() - start)
    return {"step_s": times}


def process(command):
    """Runs a command that prints JSON; adds its peak memory."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, cwd=ROOT)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(command)} failed")
        out.seek(0)
        doc = json.loads(out.read())
    doc["peak"] = usage.ru_maxrss * 1024
    return doc


def sides(args):
    here = [sys.executable, str(Path(__file__).resolve()), str(args.folder)]
    prompt = ",".join(map(str, args.prompt))
    run = ["--prompt", prompt, "--tokens", str(args.tokens)]
    ours = [str(args.binary), "generate", str(MODEL / "qwen3_1_7b.tf:Qwen3"), "--json",
            "--weights", f"ckpt:{args.folder}", *run]
    # the floor first, which brings the file into memory for all
    all = {"floor": [*here, "--side", "floor"], "tilefoundry": ours,
           "torch bf16": [*here, "--side", "bf16", *run]}
    if args.f32:
        all["torch f32"] = [*here, "--side", "f32", *run]
    return all


def table(runs, weights):
    print(f"{'':12} {'first step':>11} {'median step':>12} {'least':>9} {'tokens/s':>9} {'peak memory':>12}")
    for name, rounds in runs.items():
        later = [s for r in rounds for s in (r["step_s"] if name == "floor" else r["step_s"][1:])]
        middle = statistics.median(later)
        row = f"{middle * 1e3:9.1f} ms {min(later) * 1e3:6.1f} ms"
        if name == "floor":
            print(f"{name:12} {'':>11} {row}   ({weights / min(later) / 1e9:.1f} GB/s)")
            continue
        first = statistics.median(r["step_s"][0] for r in rounds)
        peak = max(r["peak"] for r in rounds)
        print(f"{name:12} {first * 1e3:8.1f} ms {row} {1 / middle:9.2f} {peak / 1e9:9.3f} GB")
    for name in list(runs)[2:]:
        print(f"tilefoundry / {name}: {ratio(runs, name):.3f} (median over the rounds)")


def ratio(runs, other):
    middle = lambda r: statistics.median(r["step_s"][1:])
    return statistics.median(middle(a) / middle(b) for a, b in zip(runs["tilefoundry"], runs[other]))


def same(runs):
    """Whether the ids are the same; if not, where they part and how close the best two were there."""
    ours = runs["tilefoundry"][0]
    for name in list(runs)[2:]:
        other = runs[name][0]
        apart = [i for i, (a, b) in enumerate(zip(ours["ids"], other["ids"])) if a != b]
        if not apart:
            print(f"ids as {name}: all {len(ours['ids'])} the same; the two best logits are at least "
                  f"{min(ours['gaps']):.3f} apart ({min(other['gaps']):.3f} there)")
            continue
        i = apart[0]
        print(f"ids as {name}: the first {i} the same; at the next the two best logits are "
              f"{ours['gaps'][i]:.4f} apart ({other['gaps'][i]:.4f} there)")


def logits(args, dtypes):
    """How far the logits of the first step are from those of the class, by `check`."""
    config = Qwen3Config.from_json_file(MODEL / "config.json")
    caches = [config.num_hidden_layers, 1, config.num_key_value_heads, config.head_dim]
    inputs = {n: torch.zeros(caches, dtype=torch.bfloat16) for n in ("kc", "vc")}
    inputs["token"] = torch.tensor(args.prompt[:1], dtype=torch.int32)
    save_file(inputs, args.folder / "inputs.safetensors")
    parts, firsts = [], {}
    for dtype in dtypes:
        file = str(args.folder / f"first-{dtype}.safetensors")
        command = [str(args.binary), "check", str(MODEL / "qwen3_1_7b.tf:Qwen3"), "--const", "MAX=1",
                   "--dim", "ctx=1", "--inputs", str(args.folder / "inputs.safetensors"), "--weights",
                   f"ckpt:{args.folder}", "--expected", file, "--fn", "finite", "--out", "output[1]",
                   "--fn", "rel_l2", "--max", "1", "--json"]
        outputs = {o["name"]: o for o in process(command)["runs"][0]["outputs"]}
        found = [v["value"] for v in outputs["output[1]"]["verdicts"] if v["predicate"]["fn"] == "rel_l2"]
        parts.append(f"tilefoundry to torch {dtype} {found[0]:.2e}")
        firsts[dtype] = load_file(file)["output[1]"]
    if len(dtypes) == 2:
        a, b = firsts.values()
        parts.append(f"torch bf16 to f32 {((a - b).norm() / b.norm()).item():.2e}")
    print("relative L2 distance of the first logits:", ", ".join(parts))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder", type=lambda f: Path(f).resolve())
    p.add_argument("--prompt", type=lambda t: [int(i) for i in t.split(",")], default=[9707])
    p.add_argument("--tokens", type=int, default=16)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--f32", action="store_true", help="PyTorch in f32 too (7 GB)")
    p.add_argument("--binary", type=lambda f: Path(f).resolve(), default=ROOT / "target/release/tilefoundry")
    p.add_argument("--side", choices=["bf16", "f32", "floor", "write"], help=argparse.SUPPRESS)
    args = p.parse_args()
    torch.set_num_threads(THREADS)
    if args.side == "write":
        return write(args.folder)
    if args.side:
        made = read_once(args.folder) if args.side == "floor" else torch_steps(
            args.folder, args.side, args.prompt, args.tokens)
        return print(json.dumps(made))
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / "model.safetensors"
    if not file.exists():
        # in a process of its own: what this one ever held counts as held by those that it starts
        subprocess.run([sys.executable, str(Path(__file__).resolve()), str(args.folder), "--side", "write"], check=True)
    runs = {name: [] for name in sides(args)}
    for _ in range(args.rounds):
        for name, command in sides(args).items():
            runs[name].append(process(command))
    version = subprocess.run([args.binary, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{version}, torch {torch.__version__}, transformers {transformers.__version__}, "
          f"{THREADS} threads, weights {file.stat().st_size / 1e9:.3f} GB, "
          f"{args.rounds} rounds of {len(args.prompt)} + {args.tokens} tokens")
    table(runs, file.stat().st_size)
    same(runs)
    logits(args, ["bf16", "f32"] if args.f32 else ["bf16"])


if __name__ == "__main__":
    main()
