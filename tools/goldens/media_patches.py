#!/usr/bin/env python3
"""Prints what tests/unit/media/processor_golden_test.cc expects: patches of pictures that a formula makes.

Needs transformers (5.17.0) and Pillow (12.0.0); the values are those of its Pillow image processor. A line is width, height,
least and greatest area, grid height and width, and the first 16 bytes of the SHA-256 of the patches as levels 0 to 255:
in float32 its processors for Pillow and torch already differ in the last bit.
"""
import hashlib
import struct

import numpy as np
from PIL import Image
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

CASES = [(224, 224, 65536, 16777216), (80, 48, 65536, 16777216), (640, 480, 65536, 16777216), (3000, 16, 65536, 16777216),
         (1, 1, 4096, 65536), (100, 37, 4096, 65536), (333, 517, 4096, 65536), (1200, 900, 4096, 262144)]


def picture(width, height):
    y, x = np.mgrid[0:height, 0:width]
    mixed = x * 7 + y * 13 + ((x ^ y) * 5)
    return Image.fromarray(np.stack([(mixed * (c + 1) + 31 * c) & 255 for c in range(3)], 2).astype(np.uint8))


for width, height, low, high in CASES:
    processor = Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, temporal_patch_size=2, image_mean=[0.5] * 3,
                                         image_std=[0.5] * 3, size={"shortest_edge": low, "longest_edge": high})
    out = processor(images=picture(width, height), return_tensors="np")
    levels = np.rint(np.asarray(out["pixel_values"]) * 127.5 + 127.5).astype(np.uint8)
    grid = [int(n) for n in out["image_grid_thw"][0]]
    first, second = struct.unpack("<QQ", hashlib.sha256(levels.tobytes()).digest()[:16])
    print(f"{{{width}, {height}, {low}, {high}, {grid[1]}, {grid[2]}, {{0x{first:016x}, 0x{second:016x}}}}},")
