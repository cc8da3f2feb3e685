"""Writes the data that the tests hold the ops to, with PyTorch.

    python tests/torch/make.py [--verify] [--only TOPIC]

`--verify` rebuilds into a temporary folder and compares the sha256 of every file with what is
committed; it says what differs and exits with 1. `--only` does one topic.
"""

import argparse
import hashlib
import importlib
import json
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import torch  # noqa: E402

import common  # noqa: E402

KINDS = ["safetensors", "json"]


def topics():
    return sorted(p.stem for p in (HERE / "cases").glob("*.py") if not p.stem.startswith("_"))


def build(topic, folder):
    cases = list(importlib.import_module(f"cases.{topic}").cases())
    names = [c.name for c in cases]
    twice = {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else set()
    if twice:
        sys.exit(f"{topic}: two cases are named {sorted(twice)}")
    data = common.safetensors(common.tensors(cases))
    (folder / f"{topic}.safetensors").write_bytes(data)
    (folder / f"{topic}.json").write_bytes(common.listing(cases))
    sizes = ", ".join(f"{(folder / f'{topic}.{k}').stat().st_size // 1024} KiB" for k in KINDS)
    print(f"{topic}: {len(cases)} cases, {sizes}", flush=True)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def manifest(data):
    packages = ["torch", "transformers", "numpy", "ml_dtypes"]
    lists = sorted(data.glob("*.json"))
    return {
        "python": sys.version.split()[0],
        "cpu": torch.backends.cpu.get_cpu_capability(),
        **{p: installed(p) for p in packages},
        "topics": {
            p.stem: {
                "seed": "crc32 of each case's name",
                "cases": len(json.loads(p.read_bytes())),
                **{k: sha256(p.with_suffix(f".{k}")) for k in KINDS},
            }
            for p in lists
        },
    }


def verify(names, everything):
    data = HERE / "data"
    stated = json.loads((HERE / "manifest.json").read_bytes())["topics"]
    wrong = []
    with tempfile.TemporaryDirectory() as t:
        for topic in names:
            build(topic, Path(t))
            for k in KINDS:
                file = f"{topic}.{k}"
                found = {
                    "rebuilt": sha256(Path(t) / file),
                    "committed": sha256(data / file),
                    "manifest": stated.get(topic, {}).get(k, "no topic"),
                }
                if len(set(found.values())) > 1:
                    wrong.append(f"{file}: {', '.join(f'{w} {h[:12]}' for w, h in found.items())}")
    if everything:
        known = {f"{n}.{k}" for n in names for k in KINDS}
        wrong += [f"{p.name}: no topic makes it" for p in data.iterdir() if p.name not in known]
        wrong += [f"{n}: in the manifest, but no topic" for n in stated if n not in names]
    for w in wrong:
        print(w)
    print(f"{len(names)} topics, {len(wrong)} differences")
    return 1 if wrong else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--verify", action="store_true")
    p.add_argument("--only", metavar="TOPIC")
    args = p.parse_args()
    # one thread: sums of PyTorch have one order
    torch.set_num_threads(1)
    names = [Path(args.only).stem] if args.only else topics()
    if args.verify:
        sys.exit(verify(names, not args.only))
    data = HERE / "data"
    data.mkdir(exist_ok=True)
    for topic in names:
        build(topic, data)
    for p in data.iterdir():
        if p.stem not in topics():
            p.unlink()
    text = json.dumps(manifest(data), indent=1) + "\n"
    (HERE / "manifest.json").write_text(text)


if __name__ == "__main__":
    main()
