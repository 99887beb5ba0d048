"""Measure the abilities without a server: greedy answers to held-out conversations by recomputing packed rows."""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

import export
from batching import to_device
from generate.core import Source
from generate.memory import needle
from generate.mixture import SAMPLES, evaluation_sample
from generate.render import segments
from kernels import CpuKernels, GpuKernels
from model import Tiny
from packing import pack
from scoring import judge

ENDS = (4000, 4002)


def answers(model, tokenizer, samples, device, limit, budget=400000):
    """Greedy outputs as (text, ended) in the order of the samples."""
    rows = []
    for sample in samples:
        pieces, images = segments(sample, complete=False)
        ids = [one for text, _ in pieces for one in tokenizer.encode(text, add_special_tokens=False).ids]
        rows.append([np.array(ids, dtype=np.int32), len(ids), images, False])
    for _ in range(limit):
        open_rows = [row for row in rows if not row[3]]
        if not open_rows:
            break
        while open_rows:
            part, size = [], 0
            while open_rows and (not part or size + len(open_rows[0][0]) <= budget):
                part.append(open_rows.pop(0))
                size += len(part[-1][0])
            batch = to_device(pack([(ids, np.zeros(len(ids), dtype=np.uint8), images) for ids, _, images, _ in part], size), model.config, device)
            last = torch.from_numpy(np.cumsum([len(row[0]) for row in part]) - 1).to(device)
            with torch.no_grad():
                chosen = model.logits(batch, last, torch.bfloat16 if device == "cuda" else torch.float32)[:, :4033].argmax(-1).tolist()
            for row, token in zip(part, chosen):
                row[0] = np.append(row[0], np.int32(token))
                row[3] = token in ENDS
    return [(tokenizer.decode([one for one in ids[start:].tolist() if one not in ENDS], skip_special_tokens=False), ended) for ids, start, _, ended in rows]


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/tiny")
    parser.add_argument("--weights", help="another model.safetensors")
    parser.add_argument("--count", type=int, default=24, help="conversations of each ability and mode")
    parser.add_argument("--only", nargs="*", help="abilities")
    parser.add_argument("--long", type=int, nargs="*", default=[4000, 12000, 30000], help="needle lengths in tokens")
    parser.add_argument("--limit", type=int, default=330, help="new tokens at most")
    parser.add_argument("--out", help="JSON file")
    parser.add_argument("--show", type=int, default=2, help="failures printed for each ability")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = Path(arguments.model)
    model = Tiny(json.loads((folder / "config.json").read_text()), GpuKernels() if device == "cuda" else CpuKernels()).to(device)
    export.load(model, arguments.weights or folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    start, table, samples = time.time(), {}, []
    for name in arguments.only or SAMPLES:
        for thinking in (True, False):
            samples += [(f"{name} {'on' if thinking else 'off'}", evaluation_sample(name, f"{seed}-{thinking}", thinking)) for seed in range(arguments.count)]
    for tokens in arguments.long:
        samples += [(f"needle {tokens}", needle(Source(f"long-{tokens}-{seed}", held_out=True), seed % 2 == 0, int(tokens / 2.2))) for seed in range(8)]
    results = answers(model, tokenizer, [sample for _, sample in samples], device, arguments.limit)
    failures = {}
    for (name, sample), (text, ended) in zip(samples, results):
        right = judge(sample, text, ended)
        table.setdefault(name, []).append(right)
        if not right:
            failures.setdefault(name, []).append([str(sample.messages[-2].content)[-200:], str(sample.expect)[:200], text[:400], ended])
    scores = {name: sum(values) / len(values) for name, values in table.items()}
    for name, score in scores.items():
        print(f"{name:24} {score:.3f}")
        for failure in failures.get(name, [])[:arguments.show]:
            print("    ", failure)
    print(f"mean {sum(scores.values()) / len(scores):.4f} in {time.time() - start:.0f} s")
    if arguments.out:
        Path(arguments.out).write_text(json.dumps({"scores": scores, "failures": failures}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
