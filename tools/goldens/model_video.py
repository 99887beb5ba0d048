#!/usr/bin/env python3
"""Writes tests/data/goldens/qwen3_5-dense/video.safetensors: a prompt with a video and an image through transformers (5.24.0).

Float32, eager attention, the reference Gated DeltaNet. src/model/golden_cases.h documents the format; patches are the
bytes that they were normalised from. The video has three temporal patches of 4 x 6, whose frames differ, the image 4 x 4.
"""
import argparse
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import Qwen3_5ForConditionalGeneration

VIDEO, IMAGE = (3, 4, 6), (1, 4, 4)
GREEDY = 8
ROW_STEP = 4


def prompt_of(config):
    """Text ids are below 400; each temporal patch has a time of two before it and the vision tokens around it."""
    start, end = config.vision_start_token_id, config.vision_end_token_id
    ids, kinds = [5, 77, 130, start], [0] * 4
    for patch in range(VIDEO[0]):
        count = VIDEO[1] * VIDEO[2] // 4
        ids += [201 + patch, 17, start] + [config.video_token_id] * count + [end]
        kinds += [0] * 3 + [2] * count + [0]
    count = IMAGE[1] * IMAGE[2] // 4
    ids += [end, 41, start] + [config.image_token_id] * count + [end, 60, 61, 62]
    kinds += [0] * 3 + [1] * count + [0] * 4
    return torch.tensor([ids]), torch.tensor([kinds])


def run(model):
    ids, kinds = prompt_of(model.config)
    sizes = [t * h * w for t, h, w in (VIDEO, IMAGE)]
    levels = np.random.default_rng(8).integers(0, 256, (sum(sizes), 1536), dtype=np.uint8)
    pixels = torch.from_numpy((levels.astype(np.float32) - 127.5) / 127.5)
    video, image = torch.split(pixels, sizes)
    inputs = {"pixel_values_videos": video, "video_grid_thw": torch.tensor([VIDEO]), "pixel_values": image,
              "image_grid_thw": torch.tensor([IMAGE])}
    embeds = torch.cat([model.model.visual(pixels_of, grid).pooler_output for pixels_of, grid in
                        ((video, inputs["video_grid_thw"]), (image, inputs["image_grid_thw"]))])
    positions, _ = model.model.get_rope_index(ids, kinds, inputs["image_grid_thw"], inputs["video_grid_thw"])
    tokens, greedy, after = ids, [], []
    for _ in range(GREEDY + 1):
        types = torch.cat([kinds, torch.zeros((1, tokens.shape[1] - kinds.shape[1]), dtype=kinds.dtype)], 1)
        logits = model(input_ids=tokens, mm_token_type_ids=types, use_cache=False, **inputs).logits[0]
        after.append(logits[-1] if greedy else logits)
        greedy.append(int(logits[-1].argmax()))
        tokens = torch.cat([tokens, torch.tensor([[greedy[-1]]])], 1)
    rows = np.arange(0, ids.shape[1], ROW_STEP, dtype=np.int32)
    case = {"input_ids": ids[0], "grid_thw": torch.tensor([VIDEO, IMAGE]), "position_ids": positions[:, 0],
            "greedy_ids": torch.tensor(greedy[:GREEDY])}
    case = {name: value.numpy().astype(np.int32) for name, value in case.items()}
    case |= {"pixel_values": levels, "vision_embeds": embeds.numpy(), "logits_rows": rows,
             "logits": after[0].numpy()[rows], "greedy_logits": torch.stack(after[1:]).numpy()}
    return {f"video0.{name}": np.ascontiguousarray(value) for name, value in case.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("tests/data/goldens/qwen3_5-dense"))
    folder = parser.parse_args().folder
    model = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        save_file(run(model.eval()), folder / "video.safetensors")


if __name__ == "__main__":
    main()
