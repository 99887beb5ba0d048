"""Times the vision tower of transformers on the sizes of bench_vision_tower, for the same GPU and day.

    python3 bench/peers/vision_tower.py          (needs torch and transformers with Qwen3.5)

The tower of the 27B and 35B models (27 blocks of 1,152, random weights, bfloat16), scaled dot product attention,
pictures of 256x256, 1920x1080 (as 1920x1088) and 4096x4096; the best of five encodings, patches already on the GPU.
"""

import sys
import time

try:
    import torch
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5VisionConfig
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5VisionModel
except ImportError as error:
    sys.exit(f"not installed: {error}")

GRIDS = [(16, 16), (68, 120), (256, 256)]  # patches of 16 pixels
RUNS = 5


def main():
    config = Qwen3_5VisionConfig(
        depth=27, hidden_size=1152, intermediate_size=4304, num_heads=16, out_hidden_size=5120, num_position_embeddings=2304
    )
    config._attn_implementation = "sdpa"
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        tower = Qwen3_5VisionModel(config).eval()
    for height, width in GRIDS:
        patches = torch.rand(height * width, 1536, device="cuda", dtype=torch.bfloat16) * 2 - 1
        grid = torch.tensor([[1, height, width]], device="cuda")
        best = float("inf")
        for _ in range(RUNS):
            torch.cuda.synchronize()
            began = time.perf_counter()
            with torch.inference_mode():
                tower(patches, grid_thw=grid)
            torch.cuda.synchronize()
            best = min(best, time.perf_counter() - began)
        print(f"{height:5} x {width:4} {height * width // 4:8} tokens {best * 1e3:10.2f} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
