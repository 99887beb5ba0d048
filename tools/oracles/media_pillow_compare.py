#!/usr/bin/env python3
"""Compares decoding, resizing and preprocessing of pictures with Pillow.

* decode: every colour type and depth of PNG, JPEG in all its subsamplings and inks, WebP, GIF, EXIF
  orientations, against `ImageOps.exif_transpose(image).convert("RGB")`. JPEG may differ by 2 levels
  (another version of the same library), 16-bit greys are compared with their high byte, which Pillow
  clips instead; the rest is equal.
* resize: 200 random sizes, equal to Pillow 12 (13 sometimes takes columns before rows, which differs by 1).
* process: patches from Pillow's pixels by the definition, equal as levels.
"""
import argparse
import io
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps

TOY = {"patch_size": 16, "merge_size": 2, "size": {"shortest_edge": 4096, "longest_edge": 65536}}


class Comparison:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.items, self.wrong = tool, pathlib.Path(folder), [], []

    def add(self, name, data, expected, tolerance=0, **line):
        """`expected`: array that the tool's output must equal, or None for an error."""
        file = self.folder / f"{len(self.items)}"
        file.write_bytes(data)
        line = {"do": "decode", "file": str(file), "out": f"{file}.out", **line}
        self.items.append((name, line, expected, tolerance))

    def run(self):
        text = "".join(json.dumps(line) + "\n" for _, line, _, _ in self.items)
        done = subprocess.run([self.tool], input=text, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for (name, line, expected, tolerance), answer in zip(self.items, answers, strict=True):
            problem = self.problem(line, expected, tolerance, answer)
            if problem:
                self.wrong.append(f"{name}: {problem}")

    @staticmethod
    def problem(line, expected, tolerance, answer):
        if expected is None:
            return None if "error" in answer else "no error"
        if "error" in answer:
            return answer["error"]
        got = np.fromfile(line["out"], expected.dtype)
        if got.size != expected.size:
            return f"{answer} for {expected.shape}"
        if expected.dtype == np.uint8:
            off = int(np.abs(got.astype(int) - expected.reshape(-1).astype(int)).max())
            return f"differs by {off}" if off > tolerance else None
        return None if np.array_equal(got, expected.reshape(-1)) else "differs"


def pillow_rgb(data):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))


def picture(rng, width, height):
    """Smooth colours with some noise."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin(x / rng.uniform(2, 40) + y / rng.uniform(2, 40) + c) for c in range(3)]
    noise = np.random.default_rng(rng.randrange(1 << 30)).integers(-25, 26, (height, width, 3))
    return Image.fromarray(np.clip(np.stack(waves, 2) + noise, 0, 255).astype(np.uint8))


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(rng, width, height, depth, color, extra=b""):
    """A PNG of random samples, which Pillow cannot write in every type."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    row = (width * channels * depth + 7) // 8
    rows = b"".join(bytes([rng.randrange(5)]) + rng.randbytes(row) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + extra + png_chunk(b"IDAT", zlib.compress(rows))
            + png_chunk(b"IEND", b""))


def add_png(comparison, rng):
    for color, depths in {0: (1, 2, 4, 8), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            palette = png_chunk(b"PLTE", rng.randbytes(3 << depth)) if color == 3 else b""
            transparent = png_chunk(b"tRNS", b"\0\1\0\2\0\3" if color == 2 else b"\0\1")
            for extra in (palette, palette + transparent)[:1 if color in (4, 6) else 2]:
                data = raw_png(rng, 13, 7, depth, color, extra)
                comparison.add(f"png {color}/{depth}", data, pillow_rgb(data))
    data = raw_png(rng, 13, 7, 16, 0)
    grey = np.asarray(Image.open(io.BytesIO(data))).astype(np.uint32) >> 8
    comparison.add("png 0/16", data, np.repeat(grey[:, :, None], 3, 2).astype(np.uint8))


def add_jpeg(comparison, rng):
    for mode in ("RGB", "L", "CMYK"):
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                data = saved(picture(rng, 67, 45).convert(mode), "JPEG", quality=85, subsampling=subsampling,
                             progressive=progressive)
                comparison.add(f"jpeg {mode} {subsampling} {progressive}", data, pillow_rgb(data), tolerance=2)
    for orientation in range(10):
        exif = Image.Exif()
        exif[0x0112] = orientation
        for form, tolerance in (("JPEG", 2), ("PNG", 0), ("WEBP", 0)):
            data = saved(picture(rng, 23, 11), form, exif=exif)
            comparison.add(f"{form} orientation {orientation}", data, pillow_rgb(data), tolerance)


def add_webp_and_gif(comparison, rng):
    alpha = picture(rng, 31, 17)
    alpha.putalpha(Image.fromarray(np.arange(31 * 17, dtype=np.uint16).reshape(17, 31).astype(np.uint8)))
    frames = [picture(rng, 40, 30) for _ in range(3)]
    for lossless in (False, True):
        for image in (frames[0], alpha):
            data = saved(image, "WEBP", lossless=lossless, exact=True)
            comparison.add(f"webp {image.mode} {lossless}", data, pillow_rgb(data))
    for form in ("WEBP", "GIF"):
        data = saved(frames[0], form, save_all=True, append_images=frames[1:], duration=50)
        comparison.add(f"animated {form}", data, pillow_rgb(data))
    for colors in (2, 3, 16, 200, 256):
        for interlace in (0, 1):
            image = picture(rng, 61, 37).quantize(colors)
            data = saved(image, "GIF", interlace=interlace, transparency=1)
            comparison.add(f"gif {colors} {interlace}", data, pillow_rgb(data))
    grey = saved(picture(rng, 61, 37).convert("L"), "GIF")
    comparison.add("gif grey", grey, pillow_rgb(grey))
    whole = bytearray(saved(picture(rng, 20, 20).quantize(8), "GIF"))
    whole[6:10] = struct.pack("<HH", 33, 29)  # the frame covers a corner of the screen
    comparison.add("gif corner", bytes(whole), pillow_rgb(bytes(whole)))
    whole[6:10] = struct.pack("<HH", 5, 6)  # the frame reaches beyond it
    comparison.add("gif beyond", bytes(whole), pillow_rgb(bytes(whole)))


def add_resize(comparison, rng):
    for _ in range(200):
        width, height, to_width, to_height = (rng.choice((rng.randint(1, 40), rng.randint(1, 400))) for _ in range(4))
        image = picture(rng, width, height)
        expected = np.asarray(image.resize((to_width, to_height), Image.Resampling.BICUBIC))
        comparison.add(f"resize {width}x{height} to {to_width}x{to_height}", saved(image, "PNG"), expected, do="resize",
                       height=to_height, width=to_width)


def smart_resize(height, width, config):
    """As the family's reference code defines it."""
    factor = config["patch_size"] * config["merge_size"]
    low, high = config["size"]["shortest_edge"], config["size"]["longest_edge"]
    if max(height, width) / min(height, width) > 200:
        return None
    size = [round(side / factor) * factor for side in (height, width)]
    if size[0] * size[1] > high:
        beta = math.sqrt(height * width / high)
        size = [max(factor, math.floor(side / beta / factor) * factor) for side in (height, width)]
    elif size[0] * size[1] < low:
        beta = math.sqrt(low / (height * width))
        size = [math.ceil(side * beta / factor) * factor for side in (height, width)]
    return size


def patches(pixels, config):
    size, merge = config["patch_size"], config["merge_size"]
    height, width = pixels.shape[0] // size, pixels.shape[1] // size
    blocks = pixels.transpose(2, 0, 1).reshape(3, height // merge, merge, size, width // merge, merge, size)
    return np.ascontiguousarray(blocks.transpose(1, 4, 2, 5, 0, 3, 6))


def add_process(comparison, rng):
    for _ in range(40):
        width, height = (round(math.exp(rng.uniform(0, 7))) for _ in range(2))
        image = picture(rng, width, height)
        size = smart_resize(height, width, TOY)
        expected = None
        if size is not None:
            resized = image.resize((size[1], size[0]), Image.Resampling.BICUBIC)
            expected = patches(np.asarray(resized), TOY)
        comparison.add(f"process {width}x{height}", saved(image, "PNG"), expected, do="process", config=TOY)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    warnings.simplefilter("ignore")  # on palettes with alpha, which is dropped on purpose
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(arguments.tool, folder)
        for add in (add_png, add_jpeg, add_webp_and_gif, add_resize, add_process):
            add(comparison, rng)
        comparison.run()
    print("\n".join(comparison.wrong))
    print(f"{len(comparison.items)} pictures, {len(comparison.wrong)} differ from Pillow")
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
