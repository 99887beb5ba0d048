#!/usr/bin/env python3
"""Writes the text part of a Qwen3.5 checkpoint (dense or mixture of experts) as GGUF, in the
weights' own dtype, so that llama.cpp serves the same model.

    bench/peers/llamacpp/write_gguf.py models/tiny /tmp/tiny.gguf

GGUF's conventions for this family: norms that a checkpoint keeps as w are written as 1 + w, A_log
as -exp(A_log), experts' gate and up apart, and the value heads, which a checkpoint groups by key
head, one of each group after the other.
"""

import argparse
import json
import pathlib

import gguf
import numpy

# What the types of safetensors are called in numpy, which has no bfloat16: those stay bits.
DTYPES = {"F32": numpy.float32, "F16": numpy.float16, "BF16": numpy.uint16}


def widen(array):
    """float32 of any of these types."""
    if array.dtype == numpy.uint16:
        return (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.astype(numpy.float32)


def read_tensors(directory):
    """Yields (name, array) of every file, without the vision tower: vectors as float32, matrices as
    they lie in the file, of which nothing is copied."""
    for path in sorted(pathlib.Path(directory).glob("*.safetensors")):
        data = numpy.memmap(path, numpy.uint8, "r")
        size = int(data[:8].view("<u8")[0])
        for name, entry in sorted(json.loads(data[8:8 + size].tobytes()).items()):
            if name == "__metadata__" or ".visual." in name or name.startswith("mtp."):
                continue
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            array = data[begin:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
            yield name, widen(array) if array.ndim < 2 else array


class Names:
    """Names of a checkpoint in GGUF."""

    def __init__(self, arch, num_layers):
        self._map = gguf.get_tensor_name_map(arch, num_layers)

    def of(self, name):
        name = name.replace("model.language_model.", "model.")
        if name.endswith(".dt_bias"):
            name = name.removesuffix(".dt_bias") + ".dt_proj.bias"
        found = self._map.get_name(name, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise SystemExit(f"no GGUF name for {name}")
        return found


def ungroup(array, axis, config, head_size):
    """Value heads from [key head, value head of it] to [value head of it, key head]."""
    keys = config["linear_num_key_heads"]
    per_key = config["linear_num_value_heads"] // keys
    shape = array.shape
    array = array.reshape(*shape[:axis], keys, per_key, head_size, *shape[axis + 1:])
    return numpy.ascontiguousarray(array.swapaxes(axis, axis + 1)).reshape(shape)


def convert_linear_attention(name, array, config):
    head = config["linear_value_head_dim"]
    query_key = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"]
    if name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
        array = array.reshape(array.shape[0], -1)
        return numpy.concatenate([array[:query_key], ungroup(array[query_key:], 0, config, head)])
    if name.endswith("in_proj_z.weight"):
        return ungroup(array, 0, config, head)
    if name.endswith(("in_proj_a.weight", "in_proj_b.weight", "dt_bias")):
        return ungroup(array, 0, config, 1)
    if name.endswith("A_log"):
        return -numpy.exp(ungroup(array, 0, config, 1))
    return ungroup(array, 1, config, head) if name.endswith("out_proj.weight") else array


def convert(name, array, config):
    """Yields what a tensor becomes: (name of the checkpoint's kind, array)."""
    if ".linear_attn." in name:
        yield name, convert_linear_attention(name, array, config)
    elif name.endswith("experts.gate_up_proj"):
        base = name.removesuffix("gate_up_proj")
        half = array.shape[1] // 2
        yield base + "gate_proj.weight", array[:, :half]
        yield base + "up_proj.weight", array[:, half:]
    elif name.endswith("experts.down_proj"):
        yield name + ".weight", array
    elif name.endswith("shared_expert_gate.weight"):
        yield name, array.reshape(-1)
    elif name.endswith("norm.weight"):
        yield name, array + 1
    else:
        yield name, array


def add_parameters(writer, config):
    rope = config["rope_parameters"]
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config.get("intermediate_size", 0))
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(int(config["head_dim"] * rope["partial_rotary_factor"]))
    writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
    writer.add_ssm_state_size(config["linear_key_head_dim"])
    writer.add_ssm_group_count(config["linear_num_key_heads"])
    writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
    writer.add_ssm_inner_size(config["linear_value_head_dim"] * config["linear_num_value_heads"])
    writer.add_full_attention_interval(config["full_attention_interval"])
    if "num_experts" in config:
        writer.add_expert_count(config["num_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])


def add_tokenizer(writer, directory, vocab_size):
    tokenizer = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = {i: t for t, i in tokenizer["model"]["vocab"].items()}
    types = {i: gguf.TokenType.NORMAL for i in tokens}
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        types[added["id"]] = (gguf.TokenType.CONTROL if added["special"]
                              else gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list([tokens.get(i, f"[PAD{i}]") for i in range(vocab_size)])
    writer.add_token_types([types.get(i, gguf.TokenType.UNUSED) for i in range(vocab_size)])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    ends = {token: i for i, token in tokens.items()}
    writer.add_eos_token_id(ends["<|im_end|>"])
    writer.add_pad_token_id(ends["<|endoftext|>"])
    writer.add_add_bos_token(False)
    template = directory / "chat_template.jinja"
    writer.add_chat_template(template.read_text(encoding="utf-8"))


def add_tensor(writer, gguf_name, name, values):
    # llama.cpp wants vectors and the convolution in float32.
    if values.ndim < 2 or "conv1d" in name or values.dtype == numpy.float32:
        writer.add_tensor(gguf_name, numpy.ascontiguousarray(widen(values)))
        return
    kind = gguf.GGMLQuantizationType.BF16
    if values.dtype != numpy.uint16:
        values = gguf.quants.quantize(widen(values), kind)
    writer.add_tensor(gguf_name, numpy.ascontiguousarray(values), raw_dtype=kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("gguf")
    options = parser.parse_args()
    config = json.loads((options.checkpoint / "config.json").read_text(encoding="utf-8"))
    config = config.get("text_config", config)
    moe = "num_experts" in config
    arch = gguf.MODEL_ARCH.QWEN35MOE if moe else gguf.MODEL_ARCH.QWEN35
    writer = gguf.GGUFWriter(options.gguf, gguf.MODEL_ARCH_NAMES[arch])
    add_parameters(writer, config)
    add_tokenizer(writer, options.checkpoint, config["vocab_size"])
    names = Names(arch, config["num_hidden_layers"])
    for name, array in read_tensors(options.checkpoint):
        for part, values in convert(name, array, config):
            add_tensor(writer, names.of(part), part, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
