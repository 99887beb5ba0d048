"""Times FLA's gated delta rule on the shapes of bench_gpu_gated_delta_rule, for the same GPU and day.

    python3 bench/peers/fla_gdn.py          (needs torch and flash-linear-attention)

Prefill is chunk_gated_delta_rule from plain [1, T, heads, 128] bfloat16 tensors with packed
sequences, l2 norm of q and k inside, initial and final state; decode is
fused_recurrent_gated_delta_rule. Medians of CUDA events around single calls.
"""

import statistics
import sys

try:
    import torch
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
except ImportError as error:
    sys.exit(f"not installed: {error}")

KEY_HEADS = 16
DIM = 128
COPY_BYTES = 4.269e12  # of one H200, read + written


def inputs(batch, tokens, value_heads):
    """Decays and betas are given, which spares FLA their kernels."""

    def heads_of(count):
        return torch.randn(batch, tokens, count, DIM, device="cuda", dtype=torch.bfloat16)

    gate = torch.randn(batch, tokens, value_heads, device="cuda")
    return {
        "q": heads_of(KEY_HEADS),
        "k": heads_of(KEY_HEADS),
        "v": heads_of(value_heads),
        "g": -0.1 * torch.nn.functional.softplus(gate),
        "beta": torch.sigmoid(-gate).to(torch.bfloat16),
    }


def median_us(work, repeats=30):
    for _ in range(5):  # the first calls tune Triton's kernels
        work()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


@torch.no_grad()
def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for heads, count, rows in [(48, 1, 8192), (48, 1, 32768), (48, 4, 8192), (32, 1, 8192), (32, 8, 4096)]:
        x = inputs(1, count * rows, heads)
        state = torch.randn(count, heads, DIM, DIM, device="cuda")
        starts = torch.arange(count + 1, device="cuda") * rows
        us = median_us(
            lambda: chunk_gated_delta_rule(
                **x, initial_state=state, output_final_state=True, use_qk_l2norm_in_kernel=True, cu_seqlens=starts
            )
        )
        print(f"FLA prefill 16/{heads} heads, {count} x {rows:5d}: {us:8.1f} us", flush=True)
    for heads in (48, 32):
        for batch in (1, 32, 256):
            x = inputs(batch, 1, heads)
            state = torch.randn(batch, heads, DIM, DIM, device="cuda")
            us = median_us(
                lambda: fused_recurrent_gated_delta_rule(
                    **x, initial_state=state, output_final_state=True, use_qk_l2norm_in_kernel=True
                )
            )
            floor = 2 * batch * heads * DIM * DIM * 4 / COPY_BYTES * 1e6
            print(f"FLA decode {heads} heads, batch {batch:3d}: {us:8.2f} us ({floor / us * 100:5.1f} % of copy)", flush=True)


if __name__ == "__main__":
    main()
