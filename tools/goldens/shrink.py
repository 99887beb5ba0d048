#!/usr/bin/env python3
"""Makes the small copies of recorded cases under tests/data/goldens.

The originals are tiny random checkpoints and what Hugging Face transformers computes from them in
float32 (tests/data/goldens/README.md says how). Copies keep config.json and every weight, and of the
cases what a text model can check:

* cases with pixel_values are dropped;
* prompts longer than 100 tokens keep the logits of every 16th position and of the last 64, listed in
  NAME.logits_rows, and no hidden states;
* hidden states are kept for the first case only where a hidden state is wider than 128.

usage: shrink.py SOURCE TARGET     (folders of checkpoints, one folder each)
"""

import pathlib
import shutil
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

LONG_PROMPT = 100
ROW_STEP = 16
LAST_ROWS = 64
WIDE_HIDDEN = 128


def kept_rows(length):
    return np.array(
        sorted(set(range(0, length, ROW_STEP)) | set(range(max(0, length - LAST_ROWS), length))),
        dtype=np.int32,
    )


def shrink_case(tensors, name, is_first):
    case = {}
    for suffix in ("input_ids", "logits", "greedy_ids", "greedy_logits"):
        case[f"{name}.{suffix}"] = tensors[f"{name}.{suffix}"]
    length = tensors[f"{name}.input_ids"].shape[0]
    if length > LONG_PROMPT:
        rows = kept_rows(length)
        case[f"{name}.logits_rows"] = rows
        case[f"{name}.logits"] = np.ascontiguousarray(tensors[f"{name}.logits"][rows])
        return case
    for key, value in tensors.items():
        if key.startswith(f"{name}.hidden.") and (is_first or value.shape[1] <= WIDE_HIDDEN):
            case[key] = value
    return case


def shrink(source, target):
    target.mkdir(parents=True, exist_ok=True)
    for file in ("config.json", "model.safetensors"):
        shutil.copyfile(source / file, target / file)
    tensors = load_file(source / "cases.safetensors")
    names = sorted(key.removesuffix(".input_ids") for key in tensors if key.endswith(".input_ids"))
    names = [name for name in names if f"{name}.pixel_values" not in tensors]
    kept = {}
    for index, name in enumerate(names):
        kept.update(shrink_case(tensors, name, index == 0))
    save_file(kept, target / "cases.safetensors")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, sys.argv[1:])
    for checkpoint in sorted(source.iterdir()):
        if (checkpoint / "cases.safetensors").exists():
            shrink(checkpoint, target / checkpoint.name)


if __name__ == "__main__":
    main()
