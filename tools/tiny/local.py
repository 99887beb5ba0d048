"""Greedy answers from transformers on the CPU, for abilities that a server does not have yet."""

import numpy as np
import torch

from generate.render import segments
from packing import IMAGE_PAD, PAD
from scoring import judge

ENDS = (4000, 4002)


def load(folder):
    """The checkpoint in float32 and its tokenizer."""
    from tokenizers import Tokenizer
    from transformers import Qwen3_5MoeForConditionalGeneration
    torch.set_num_threads(1)
    model = Qwen3_5MoeForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    return model, Tokenizer.from_file(f"{folder}/tokenizer.json")


def answers(model, tokenizer, samples, limit):
    """(text, ended) for every sample, left-padded in one batch."""
    prompts, images = [], []
    for sample in samples:
        pieces, pictures = segments(sample, complete=False)
        prompts.append([one for text, _ in pieces for one in tokenizer.encode(text, add_special_tokens=False).ids])
        images += pictures
    longest = max(map(len, prompts))
    ids, mask = torch.full((len(prompts), longest), PAD), torch.zeros((len(prompts), longest), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt):] = torch.tensor(prompt)
        mask[row, longest - len(prompt):] = 1
    extra = {}
    if images:
        pixels = torch.from_numpy(np.concatenate([rows for rows, _ in images])).float() / 127.5 - 1.0
        extra = {"pixel_values": pixels, "image_grid_thw": torch.tensor([[1, h, w] for _, (h, w) in images]), "mm_token_type_ids": (ids == IMAGE_PAD).int()}
    with torch.no_grad():
        output = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=limit, do_sample=False, eos_token_id=list(ENDS), pad_token_id=PAD, **extra)
    results = []
    for row in output[:, longest:].tolist():
        end = next((place for place, one in enumerate(row) if one in ENDS), len(row))
        results.append((tokenizer.decode(row[:end], skip_special_tokens=False), end < len(row)))
    return results


def measure(folder, samples, limit=120, batch=8):
    """Judge samples: a list of (right, text)."""
    model, tokenizer = load(folder)
    results = []
    for start in range(0, len(samples), batch):
        part = samples[start:start + batch]
        results += [(judge(sample, text, ended), text) for sample, (text, ended) in zip(part, answers(model, tokenizer, part, limit))]
    return results
