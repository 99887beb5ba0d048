#!/usr/bin/env python3
"""Writes tests/data/media/video.json: what transformers makes of videos whose frames a formula makes.

Needs transformers (5.24.0), torch and torchvision. Per case: size, frames and rate of the video, limits of the processor; then
the frames taken, the times of the patches, the grid, the patches as levels 0 to 255 (a hash where no resampling is needed,
else every 509th level: torchvision's resampling and Pillow's differ by a level here and there), the prompt's text around
the frames, and the M-RoPE positions of a prompt of 5 text tokens, the frames with 3 text tokens before each, and 4 more.
"""
import argparse
import hashlib
import json
import pathlib
import struct

import numpy as np
import torch
from transformers import Qwen3_5Config
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5Model
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor, smart_resize
from transformers.video_utils import VideoMetadata

# width, height, frames, rate, least and greatest area, cap of tokens
CASES = [(96, 64, 20, 10.0, 4096, 1048576, 0), (64, 64, 5, 30.0, 4096, 25165824, 0), (48, 80, 7, 2.0, 4096, 25165824, 0),
         (100, 37, 61, 29.97, 4096, 65536, 0), (333, 217, 24, 24.0, 65536, 131072, 0), (7, 5, 3, 1.0, 4096, 65536, 0),
         (64, 96, 9, 3.0, 4096, 25165824, 1), (160, 120, 30, 12.5, 4096, 262144, 2)]
# Sizes alone: frames, height, width, least and greatest area
SIZES = [(4, 1080, 1920), (20, 1080, 1920), (768, 720, 1280), (2, 1, 1), (3, 7, 601), (5, 31, 33), (5, 1080, 1920),
         (64, 4096, 2304), (7, 200, 40), (2, 100, 20000), (11, 16, 3000)]
RELEASED = (4096, 25165824)
SAMPLES = [(total, rate) for total in (2, 3, 4, 5, 7, 11, 59, 100, 1799, 36000) for rate in (0.5, 2.0, 24.0, 29.97, 60.0)]
STRIDE = 509


def frames_of(width, height, count):
    n, y, x = np.mgrid[0:count, 0:height, 0:width]
    mixed = x * 7 + y * 13 + ((x ^ y) * 5) + n * 37
    return np.stack([(mixed * (c + 1) + 31 * c) & 255 for c in range(3)], 1).astype(np.uint8)


def processor_of(least, greatest, cap):
    extra = {"cap_pixels_per_frame": True, "max_video_tokens": cap} if cap else {"cap_pixels_per_frame": False}
    return Qwen3VLVideoProcessor(patch_size=16, merge_size=2, temporal_patch_size=2, image_mean=[0.5] * 3,
                                 image_std=[0.5] * 3, size={"shortest_edge": least, "longest_edge": greatest}, **extra)


def text_of(processor, metadata, grid):
    """The text of replace_video_token with one letter a placeholder token."""
    shell = Qwen3VLProcessor.__new__(Qwen3VLProcessor)
    shell.video_processor = processor
    shell.vision_start_token, shell.vision_end_token, shell.video_token = "[", "]", "v"
    return shell.replace_video_token({"video_grid_thw": grid, "video_metadata": [metadata]}, 0)


def positions_of(grid):
    model = Qwen3_5Model.__new__(Qwen3_5Model)
    torch.nn.Module.__init__(model)
    model.config = Qwen3_5Config()
    t, h, w = (int(n) for n in grid[0])
    kinds = [0] * 5
    for _ in range(t):
        kinds += [0] * 3 + [2] * (h * w // 4)
    kinds += [0] * 4
    ids = torch.zeros((1, len(kinds)), dtype=torch.long)
    positions, _ = model.get_rope_index(ids, torch.tensor([kinds]), video_grid_thw=grid)
    return positions[:, 0].T.flatten().tolist()


def run(width, height, count, rate, least, greatest, cap):
    processor = processor_of(least, greatest, cap)
    video = torch.from_numpy(frames_of(width, height, count))
    metadata = VideoMetadata(total_num_frames=count, fps=rate)
    indices = processor.sample_frames(metadata).tolist()
    metadata.frames_indices = list(indices)
    out = processor(videos=[video[indices]], do_sample_frames=False, return_tensors="pt")
    levels = np.rint(out["pixel_values_videos"].numpy() * 127.5 + 127.5).astype(np.uint8)
    grid = out["video_grid_thw"]
    case = {"width": width, "height": height, "frames": count, "fps": rate, "min_pixels": least, "max_pixels": greatest,
            "max_frame_tokens": cap, "indices": indices, "grid": grid[0].tolist(),
            "text": text_of(processor, metadata, grid), "positions": positions_of(grid)}
    case["times"] = Qwen3VLProcessor._calculate_timestamps(None, list(indices), rate, 2)
    if [height, width] == [n * 16 for n in grid[0].tolist()[1:]]:
        case["digest"] = [f"{n:016x}" for n in struct.unpack("<QQ", hashlib.sha256(levels.tobytes()).digest()[:16])]
    else:
        case["levels"] = levels.flatten()[::STRIDE].tolist()
    return case


def resized(frames, height, width):
    try:
        least, greatest = RELEASED
        return list(smart_resize(frames, height, width, 2, 32, least, greatest))
    except ValueError:
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/data/media/video.json"))
    processor = processor_of(*RELEASED, 0)
    sizes = [{"frames": n, "height": h, "width": w, "resized": resized(n, h, w)} for n, h, w in SIZES]
    samples = [{"frames": total, "fps": rate,
                "indices": processor.sample_frames(VideoMetadata(total_num_frames=total, fps=rate)).tolist()}
               for total, rate in SAMPLES]
    whole = {"stride": STRIDE, "cases": [run(*case) for case in CASES], "sizes": sizes, "samples": samples}
    parser.parse_args().out.write_text(json.dumps(whole, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
