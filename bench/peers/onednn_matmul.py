#!/usr/bin/env python3
"""Times of oneDNN's bfloat16 products (as PyTorch calls it on the CPU, weights reordered before) for
the shapes of bench_linear; weights rotate over 512 MiB, best call of each. Needs torch.

    taskset -c 0,1 python bench/peers/onednn_matmul.py [THREADS]
"""

import sys
import time

import torch
from torch.nn import functional

SHAPES = ((3584, 1024), (9216, 2560), (2560, 9216))
ROWS = (1, 4, 16, 64, 512, 2048)
ROTATED_BYTES = 512 << 20
SECONDS = 0.3


def best_seconds(call):
    """Best of the calls that fit SECONDS, three at least; the first one is not counted."""
    call()
    best, total, calls = float("inf"), 0.0, 0
    while calls < 3 or total < SECONDS:
        begin = time.perf_counter()
        call()
        took = time.perf_counter() - begin
        best, total, calls = min(best, took), total + took, calls + 1
    return best


def rotating(weights, multiply):
    turn = iter(range(1 << 60))
    return lambda: multiply(weights[next(turn) % len(weights)])


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
          f"{torch.backends.cpu.get_cpu_capability()}")
    for columns, inner in SHAPES:
        count = ROTATED_BYTES // (2 * columns * inner) + 1
        plain = [torch.full((columns, inner), 0.01, dtype=torch.bfloat16) for _ in range(count)]
        for rows in ROWS:
            x = torch.full((rows, inner), 0.01, dtype=torch.bfloat16)
            packed = [torch.ops.mkldnn._reorder_linear_weight(weight, rows)
                      for weight in plain]
            ways = {
                "plain": rotating(plain, lambda w, x=x: functional.linear(x, w)),
                "reordered": rotating(packed, lambda w, x=x: torch.ops.mkldnn._linear_pointwise(
                    x, w, None, "none", [], "")),
            }
            text = []
            for name, call in ways.items():
                took = best_seconds(call)
                gflop = 2e-9 * rows * columns * inner / took
                text.append(f"{name} {1e3 * took:8.3f} ms {gflop:6.0f} GFLOP/s")
            print(f"N {columns:5} K {inner:5} M {rows:4}: {', '.join(text)}", flush=True)


if __name__ == "__main__":
    main()
