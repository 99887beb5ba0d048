#!/usr/bin/env python3
"""Preprocessing of pictures in CPU time of one core: deltaserve (bench_images) beside Pillow with numpy.

Pictures of 224x224, 1920x1080 and 4096x4096 with smooth colours and some noise, as JPEG and PNG, with the sizes of
released checkpoints (65,536 to 16,777,216 pixels) and those of models/tiny (4,096 to 262,144).
"""
import argparse
import io
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

SIZES = [(224, 224), (1920, 1080), (4096, 4096)]
AREAS = {"released": (65536, 16777216), "tiny": (4096, 262144)}
PASSES = 5


def picture(width, height):
    y, x = np.mgrid[0:height, 0:width]
    waves = np.stack([128 + 100 * np.sin(x / (30 + c) + y / (50 - c)) for c in range(3)], 2)
    noise = np.random.default_rng(1).integers(-8, 9, waves.shape)
    return Image.fromarray(np.clip(waves + noise, 0, 255).astype(np.uint8))


def target_size(width, height, areas):
    """Width and height after resizing, by the family's rule; none of the sizes here is at its edges."""
    factor, (low, high) = 32, areas
    size = [round(side / factor) * factor for side in (width, height)]
    if size[0] * size[1] > high:
        beta = (width * height / high) ** 0.5
        size = [int(side / beta / factor) * factor for side in (width, height)]
    elif size[0] * size[1] < low:
        beta = (low / (width * height)) ** 0.5
        size = [-int(-side * beta // factor) * factor for side in (width, height)]
    return size


def pillow_ms(data, areas):
    """The median of decoding, resizing, normalising and cutting into patches."""
    times = []
    for _ in range(PASSES):
        began = time.process_time()
        image = Image.open(io.BytesIO(data)).convert("RGB")
        image = image.resize(target_size(*image.size, areas), Image.Resampling.BICUBIC)
        values = (np.asarray(image, dtype=np.float32) - np.float32(127.5)) / np.float32(127.5)
        height, width = values.shape[0] // 32, values.shape[1] // 32
        blocks = values.transpose(2, 0, 1).reshape(3, height, 2, 16, width, 2, 16)
        patches = blocks.transpose(1, 4, 2, 5, 0, 3, 6).reshape(height * width * 4, 3, 1, 256)
        np.ascontiguousarray(np.repeat(patches, 2, 2))
        times.append((time.process_time() - began) * 1000)
    return sorted(times)[PASSES // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/release/bin/bench_images")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for width, height in SIZES:
            image = picture(width, height)
            for form in ("jpeg", "png"):
                path = pathlib.Path(folder) / f"{width}x{height}.{form}"
                image.save(path)
                for name, areas in AREAS.items():
                    line = subprocess.run([arguments.tool, *map(str, areas), path], capture_output=True, text=True, check=True)
                    print(f"{name:8} {pathlib.Path(line.stdout.strip()).name}; Pillow {pillow_ms(path.read_bytes(), areas):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
