#!/usr/bin/env python3
"""Makes the small copies of recorded cases under tests/data/goldens.

The originals are tiny random checkpoints and what Hugging Face transformers computes from them in
float32 (tests/data/goldens/README.md says how). Copies keep config.json and every weight, and of the
cases what a small copy can hold:

* of the cases with pictures those in IMAGE_CASES, without hidden states, with patches as the bytes
  they were normalised from, every fourth row of logits and the first 8 greedy steps;
* prompts longer than 100 tokens keep the logits of every 16th position and of the last 16, listed in
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
LAST_ROWS = 16
WIDE_HIDDEN = 128

# Two pictures in one prompt, and the released rotary sections.
IMAGE_CASES = {"qwen3_5-dense": ["image1"], "qwen3_5-wide": ["image0"]}
IMAGE_ROW_STEP = 4
IMAGE_GREEDY = 8


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


def shrink_image_case(tensors, name):
    case = {}
    for suffix in ("input_ids", "grid_thw", "position_ids", "vision_embeds"):
        case[f"{name}.{suffix}"] = tensors[f"{name}.{suffix}"]
    for suffix in ("greedy_ids", "greedy_logits"):
        case[f"{name}.{suffix}"] = np.ascontiguousarray(tensors[f"{name}.{suffix}"][:IMAGE_GREEDY])
    length = tensors[f"{name}.input_ids"].shape[0]
    rows = np.array(sorted({*range(0, length, IMAGE_ROW_STEP), length - 1}), dtype=np.int32)
    case[f"{name}.logits_rows"] = rows
    case[f"{name}.logits"] = np.ascontiguousarray(tensors[f"{name}.logits"][rows])
    pixels = tensors[f"{name}.pixel_values"]
    levels = np.rint(pixels * 127.5 + 127.5).astype(np.uint8)
    restored = (levels.astype(np.float32) - np.float32(127.5)) / np.float32(127.5)
    assert np.abs(restored - pixels).max() < 1e-6
    case[f"{name}.pixel_values"] = levels
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
    for name in IMAGE_CASES.get(source.name, []):
        kept.update(shrink_image_case(tensors, name))
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
