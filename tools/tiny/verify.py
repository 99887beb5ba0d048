"""Compare the training model with transformers' Qwen3_5MoeForConditionalGeneration on packed text and pictures."""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch

import export
from batching import to_device
from generate.core import Source
from generate.mixture import SAMPLES
from kernels import CpuKernels, GpuKernels
from model import Tiny
from packing import encode, pack


def reference(folder, device):
    """transformers' model in float32."""
    from transformers import Qwen3_5MoeForConditionalGeneration
    model = Qwen3_5MoeForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return model.to(device).eval()


def compare(model, config_path, documents, device, dtype):
    """Largest difference of logits between one packed run here and separate runs there."""
    config = json.loads(Path(config_path).read_text())
    batch = to_device(pack(documents, sum(len(ids) for ids, _, _ in documents)), config, device)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        export.save(model, Path(folder) / "model.safetensors")
        (Path(folder) / "config.json").write_text(Path(config_path).read_text())
        export.load(model, Path(folder) / "model.safetensors")
        theirs = reference(folder, device)
        ours = model.logits(batch, torch.arange(len(batch["ids"]), device=device), dtype)
        worst, scale, at, agree = 0.0, 0.0, 0, 0.0
        for ids, _, images in documents:
            tensor = torch.from_numpy(ids.astype(np.int64))[None].to(device)
            extra = {}
            if images:
                rows = torch.from_numpy(np.concatenate([rows for rows, _ in images])).float() / 127.5 - 1.0
                extra = {"pixel_values": rows.to(device), "image_grid_thw": torch.tensor([[1, h, w] for _, (h, w) in images], device=device), "mm_token_type_ids": (tensor == config["image_token_id"]).int()}
            logits = theirs(input_ids=tensor, **extra).logits[0].float()
            mine = ours[at:at + len(ids)]
            worst, scale = max(worst, (logits - mine).abs().max().item()), max(scale, logits.abs().max().item())
            agree += (logits.argmax(-1) == mine.argmax(-1)).float().sum().item()
            at += len(ids)
    return worst, scale, agree / at


def main():
    """Command line; without a checkpoint the weights are random."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/tiny", help="folder with config.json and tokenizer.json")
    parser.add_argument("--random", action="store_true", help="use random weights instead of the checkpoint's")
    parser.add_argument("--device", default="cpu", help="cuda runs the training kernels in bfloat16, with a wider tolerance")
    arguments = parser.parse_args()
    on_gpu = arguments.device != "cpu"
    from tokenizers import Tokenizer
    folder = Path(arguments.model)
    torch.manual_seed(0)
    model = Tiny(json.loads((folder / "config.json").read_text()), GpuKernels() if on_gpu else CpuKernels()).to(arguments.device)
    if not arguments.random:
        export.load(model, folder / "model.safetensors")
    g = Source(5)
    samples = [SAMPLES["echo"][0](g, True), SAMPLES["picture"][0](g, True), SAMPLES["arithmetic"][0](g, False), SAMPLES["picture"][0](g, False)]
    documents = encode(Tokenizer.from_file(str(folder / "tokenizer.json")), samples)
    worst, scale, agree = compare(model, folder / "config.json", documents, arguments.device, torch.bfloat16 if on_gpu else torch.float32)
    print(f"largest difference {worst:.2e} of logits up to {scale:.2f}; same first choice {agree:.4f}")
    raise SystemExit(worst > (5e-2 if on_gpu else 1e-3) * max(scale, 1.0))


if __name__ == "__main__":
    main()
