"""Pack conversations into rows of a fixed number of tokens, in worker processes that write ready batches to files."""

import os
import pickle
import time
from pathlib import Path

import numpy as np

from generate.core import Source
from generate.mixture import long_sample, training_sample
from generate.render import segments

IMAGE_PAD, PAD = 4012, 4000
KIND_WEIGHTS = np.array([0.03, 0.25, 1.0], dtype=np.float32)


def encode(tokenizer, samples):
    """Tokenise conversations: a list of (ids, kinds, images)."""
    written = [segments(sample) for sample in samples]
    encoded = iter(tokenizer.encode_batch([text for pieces, _ in written for text, _ in pieces], add_special_tokens=False))
    result = []
    for pieces, images in written:
        ids, kinds = [], []
        for _, kind in pieces:
            part = next(encoded).ids
            ids += part
            kinds += [kind] * len(part)
        result.append((np.array(ids, dtype=np.int32), np.array(kinds, dtype=np.uint8), images))
    return result


def multimodal_positions(ids, images):
    """Time, height and width positions of one document."""
    result = np.empty((3, len(ids)), dtype=np.int32)
    if not images:
        result[:] = np.arange(len(ids))
        return result
    current, index = 0, 0
    grids = iter(grid for _, grid in images)
    pads = ids == IMAGE_PAD
    while index < len(ids):
        if pads[index]:
            h, w = (side // 2 for side in next(grids))
            count = h * w
            result[0, index:index + count] = current
            result[1, index:index + count] = current + np.arange(count) // w
            result[2, index:index + count] = current + np.arange(count) % w
            current += max(h, w)
            index += count
        else:
            result[:, index] = current
            current += 1
            index += 1
    return result


def pack(documents, length):
    """Build one batch of exactly `length` tokens from encoded documents that fit."""
    ids = np.full(length, PAD, dtype=np.int64)
    targets = np.full(length, PAD, dtype=np.int64)
    weights = np.zeros(length, dtype=np.float32)
    positions = np.zeros((3, length), dtype=np.int32)
    local = np.zeros(length, dtype=np.int32)
    borders, at, pictures = [0], 0, []
    for document, kinds, images in documents:
        size = len(document)
        ids[at:at + size] = document
        targets[at:at + size - 1] = document[1:]
        row = KIND_WEIGHTS[kinds[1:]]
        if size > 1500:
            row = np.where(kinds[1:] == 0, 0.0, row)
        weights[at:at + size - 1] = row
        positions[:, at:at + size] = multimodal_positions(document, images)
        local[at:at + size] = np.arange(size)
        pictures += images
        at += size
        borders.append(at)
    if at < length:
        positions[:, at:] = np.arange(length - at)
        local[at:] = np.arange(length - at)
        borders.append(length)
    batch = {"ids": ids.astype(np.uint16), "targets": targets.astype(np.uint16), "weights": weights, "positions": positions, "local": local, "borders": np.array(borders, dtype=np.int32)}
    if pictures:
        batch["patches"] = np.concatenate([rows for rows, _ in pictures])
        batch["grids"] = np.array([grid for _, grid in pictures], dtype=np.int32)
    return batch


def long_length(g, progress, length):
    """The size of a long document at this point of the training, or 0 for none."""
    if progress < 0.25:
        return 0
    if progress < 0.6:
        return int(1500 * 6 ** g.rng.random())
    return min(length - 3000, int(1500 * (22 if g.chance(0.65) else 40) ** g.rng.random()))


def worker(number, folder, tokenizer_path, length, seed, limit, kind="batch"):
    """Write batches for ever; wait while more than `limit` are unread. The kind `long` is one long document and some more."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer
    os.nice(5)
    tokenizer = Tokenizer.from_file(tokenizer_path)
    folder, g, count, waiting = Path(folder), Source(f"{seed}-{number}"), 0, []
    while True:
        try:
            progress = float((folder / "progress").read_text())
        except (OSError, ValueError):
            progress = 0.0
        documents, room = [], length
        if kind == "long" or number % 2 == count % 2:
            size = g.int(length // 3, max(length // 3, length - 6000)) if kind == "long" else long_length(g, progress, length)
            if size:
                documents += [one for one in encode(tokenizer, [long_sample(g, size)]) if len(one[0]) <= room]
                room -= sum(len(one[0]) for one in documents)
        misses = 0
        while misses < 40 and room > 60:
            if not waiting:
                waiting = encode(tokenizer, [training_sample(g) for _ in range(64)])
            document = waiting.pop()
            if len(document[0]) <= room:
                documents.append(document)
                room -= len(document[0])
            else:
                misses += 1
        batch = pack(documents, length)
        temporary = folder / f"{number}-{kind}.tmp"
        temporary.write_bytes(pickle.dumps(batch, protocol=5))
        temporary.rename(folder / f"{count:06d}-{number:02d}.{kind}")
        count += 1
        while len(list(folder.glob(f"*.{kind}"))) > limit:
            time.sleep(0.2)
