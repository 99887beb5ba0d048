#!/usr/bin/env python3
"""Cuts tests/data/ops/gated_delta_rule.safetensors out of a larger golden file.

The golden file holds the gated delta rule computed by its definition in float64 on bfloat16 inputs
(2 key heads, 4 value heads, 200 tokens, four decay cases). The test data keeps key head 0 and its
two value heads, so that it stays below 3 MiB.

Usage: ops_delta_rule.py GOLDEN.safetensors OUT.safetensors   (needs no packages)
"""

import json
import struct
import sys

# Axis of the heads in each tensor, and how many heads stay.
KEEP = {"q": (1, 1), "k": (1, 1), "v": (1, 2), "g": (1, 2), "beta": (1, 2), "output": (1, 2),
        "initial_state": (0, 2), "final_state": (0, 2)}
ITEM_BYTES = {"F32": 4, "BF16": 2}


def cut(data, shape, dtype, axis, count):
    """The first `count` entries of `axis`, and the new shape."""
    inner = ITEM_BYTES[dtype]
    for size in shape[axis + 1:]:
        inner *= size
    outer = 1
    for size in shape[:axis]:
        outer *= size
    row = shape[axis] * inner
    parts = [data[i * row:i * row + count * inner] for i in range(outer)]
    return b"".join(parts), shape[:axis] + [count] + shape[axis + 1:]


def main(source, target):
    with open(source, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        body = file.read()
    out_header, out_body = {}, b""
    for name in sorted(header, key=lambda key: (header[key].get("dtype") != "F32", key)):
        if name == "__metadata__":
            continue
        entry = header[name]
        begin, end = entry["data_offsets"]
        axis, count = KEEP[name.split(".")[1]]
        data, shape = cut(body[begin:end], entry["shape"], entry["dtype"], axis, count)
        out_header[name] = {"dtype": entry["dtype"], "shape": shape,
                            "data_offsets": [len(out_body), len(out_body) + len(data)]}
        out_body += data
    text = json.dumps(out_header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + out_body)


if __name__ == "__main__":
    main(*sys.argv[1:])
