"""Turn a packed batch of numpy arrays into the tensors that the model wants."""

import numpy as np
import torch

from packing import IMAGE_PAD


def patch_tables(grids, side, head):
    """Positions of patches in block order: interpolation taps and weights of the learned table, and rotary angles."""
    taps, weights, angles = [], [], []
    frequencies = 10000.0 ** (-np.arange(0, head // 2, 2) / (head // 2))
    for gh, gw in grids:
        order = np.arange(gh * gw).reshape(gh // 2, 2, gw // 2, 2).transpose(0, 2, 1, 3).reshape(-1)
        row, column = order // gw, order % gw
        y, x = row * (side - 1) / max(gh - 1, 1), column * (side - 1) / max(gw - 1, 1)
        y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
        y1, x1 = np.minimum(y0 + 1, side - 1), np.minimum(x0 + 1, side - 1)
        fy, fx = y - y0, x - x0
        taps.append(np.stack([y0 * side + x0, y0 * side + x1, y1 * side + x0, y1 * side + x1], axis=1))
        weights.append(np.stack([(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx], axis=1))
        angles.append(np.concatenate([row[:, None] * frequencies, column[:, None] * frequencies], axis=1))
    return np.concatenate(taps), np.concatenate(weights).astype(np.float32), np.concatenate(angles).astype(np.float32)


def axis_of_frequency():
    """Which of time, height and width each of the 32 rotary frequencies follows."""
    return torch.tensor([index % 3 if index < (33 if index % 3 == 1 else 30) else 0 for index in range(32)])


def to_device(batch, config, device):
    """A packed batch as tensors on the device."""
    return move(prepare(batch, config, device != "cpu"), device)


def move(tensors, device):
    """Send prepared tensors to the device; plain numbers and host copies stay as they are."""
    return {name: value.to(device, non_blocking=True) if torch.is_tensor(value) and name != "cpu_borders" else value for name, value in tensors.items()}


def prepare(batch, config, pinned):
    """Tensors on the host, with what the vision tower needs when there are pictures."""
    def send(array, dtype):
        tensor = torch.from_numpy(np.ascontiguousarray(array)).to(dtype)
        return tensor.pin_memory() if pinned else tensor

    borders = batch["borders"]
    result = {
        "ids": send(batch["ids"].astype(np.int64), torch.int64), "targets": send(batch["targets"].astype(np.int64), torch.int64), "weights": send(batch["weights"], torch.float32),
        "positions": send(batch["positions"], torch.int32), "local": send(batch["local"], torch.int32), "borders": send(borders, torch.int32), "long_borders": send(borders, torch.int64),
        "cpu_borders": torch.from_numpy(borders.astype(np.int64)), "longest": int(np.diff(borders).max()), "axis": axis_of_frequency(),
        "frequencies": (10000000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)).float(),
    }
    if "patches" in batch:
        vision = config["vision_config"]
        taps, weights, angles = patch_tables(batch["grids"], int(vision["num_position_embeddings"] ** 0.5), vision["hidden_size"] // vision["num_heads"])
        counts = batch["grids"].prod(axis=1)
        result |= {
            "patches": send(batch["patches"], torch.uint8), "patch_taps": send(taps, torch.int64), "patch_tap_weights": send(weights, torch.float32), "patch_cos": send(np.cos(angles), torch.float32),
            "patch_sin": send(np.sin(angles), torch.float32), "patch_borders": send(np.concatenate([[0], np.cumsum(counts)]), torch.int32), "patch_longest": int(counts.max()),
            "image_rows": send(np.flatnonzero(batch["ids"] == IMAGE_PAD), torch.int64),
        }
    return result
