"""Times whole models of transformers on the shapes of `deltaserve bench`, for the same GPU and day.

    python3 bench/peers/transformers_text.py [27b] [35b]      (needs torch, transformers with Qwen3.5, and
                                                               flash-linear-attention, which it uses where it is installed)

Random weights in bfloat16, full depth. Prefill is the best of three passes over one prompt, logits of its last token only;
a decode step is the median of 20 after 1,024 tokens with transformers' own cache. Every pass is waited for.
"""

import importlib.util
import statistics
import sys
import time

try:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM
    from transformers.initialization import no_init_weights
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
    from transformers.models.qwen3_5_moe.configuration_qwen3_5_moe import Qwen3_5MoeTextConfig
except ImportError as error:
    sys.exit(f"not installed: {error}")

COMMON = {
    "vocab_size": 248320,
    "head_dim": 256,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "tie_word_embeddings": False,
}
CONFIGS = {
    "27b": lambda: Qwen3_5TextConfig(
        **COMMON, hidden_size=5120, num_hidden_layers=64, num_attention_heads=24, num_key_value_heads=4,
        linear_num_value_heads=48, intermediate_size=17408,
    ),
    "35b": lambda: Qwen3_5MoeTextConfig(
        **COMMON, hidden_size=2048, num_hidden_layers=40, num_attention_heads=16, num_key_value_heads=2,
        linear_num_value_heads=32, num_experts=256, num_experts_per_tok=8, moe_intermediate_size=512,
        shared_expert_intermediate_size=512,
    ),
}  # fmt: skip
CONTEXT = 1024
STEPS = 20


def random_model(config):
    """The model with parameters of standard deviation 0.02, made on the GPU."""
    config._attn_implementation = "sdpa"
    torch.manual_seed(0)
    with torch.device("cuda"), no_init_weights():
        torch.set_default_dtype(torch.bfloat16)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.02)
    return model


def timed(work):
    torch.cuda.synchronize()
    began = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - began, result


@torch.inference_mode()
def measure(name, model):
    def ids(rows, tokens):
        return torch.randint(0, COMMON["vocab_size"], (rows, tokens), device="cuda")

    for tokens in (4096, 8192):
        prompt = ids(1, tokens)
        seconds = min(timed(lambda: model(prompt, use_cache=True, logits_to_keep=1))[0] for _ in range(4))
        print(f"{name}: prefill {tokens} {seconds:8.3f} s", flush=True)
    for rows in (1, 32):
        cache = model(ids(rows, CONTEXT), use_cache=True, logits_to_keep=1).past_key_values
        times = []
        for _ in range(STEPS):
            token = ids(rows, 1)
            seconds, _ = timed(lambda: model(token, past_key_values=cache, use_cache=True))
            times.append(seconds)
        print(f"{name}: decode of {rows:2} at {CONTEXT} {statistics.median(times) * 1e3:8.1f} ms", flush=True)


def main():
    fla = importlib.util.find_spec("fla") is not None
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "transformers", transformers.__version__,
          "with" if fla else "without", "flash-linear-attention")  # fmt: skip
    for name in sys.argv[1:] or CONFIGS:
        model = random_model(CONFIGS[name]())
        measure(name, model)
        del model
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
