"""The tiny model for training: packed sequences, parameter names equal to the released checkpoints'.

Everything that works token by token is a plain function of tensors, so that torch.compile makes one graph of it for all
layers; the delta rule and the attention between those pieces see the borders of the packed documents.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

HEAD, ROTARY = 256, 64


def rms(x, weight, eps=1e-6):
    """Zero-centred RMSNorm in float32."""
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return (y * (1.0 + weight.float())).to(x.dtype)


def linear(x, weight, bias=None):
    """A product in the dtype of the activations."""
    return F.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))


def before_delta(x, local, norm, w_qkv, w_z, w_b, w_a, conv, a_log, dt_bias):
    """Norm, projections, causal convolution inside documents, decay and beta."""
    h = rms(x, norm)
    mixed = linear(h, w_qkv)
    taps = conv.float()[:, 0, :]
    total = mixed.float() * taps[:, 3]
    for back in (1, 2, 3):
        shifted = F.pad(mixed, (0, 0, back, 0))[:-back]
        total = total + torch.where((local >= back)[:, None], shifted.float(), 0.0) * taps[:, 3 - back]
    mixed = F.silu(total).to(x.dtype)
    count = x.shape[0]
    q, k, v = mixed.split([256, 256, 512], dim=-1)
    decay = -a_log.float().exp() * F.softplus(linear(h, w_a).float() + dt_bias.float())
    beta = linear(h, w_b).float().sigmoid()
    return (q.reshape(1, count, 2, 128).contiguous(), k.reshape(1, count, 2, 128).contiguous(), v.reshape(1, count, 4, 128).contiguous(),
            linear(h, w_z), decay[None], beta[None])


def moe(x, norm, gate, gate_up, down, shared_gate, shared_up, shared_down, shared_scale):
    """Mixture of experts as dense products over all experts; returns the sum and the balance loss."""
    h = rms(x, norm)
    experts, double, _ = gate_up.shape
    logits = linear(h, gate).float()
    p = logits.softmax(-1)
    larger = (p[:, None, :] > p[:, :, None]).sum(-1)
    chosen = (larger < 2).float()
    weights = p * chosen
    weights = weights / weights.sum(-1, keepdim=True)
    hidden = linear(h, gate_up.reshape(experts * double, -1)).reshape(-1, experts, 2, double // 2)
    hidden = F.silu(hidden[:, :, 0]) * hidden[:, :, 1] * weights[:, :, None].to(x.dtype)
    routed = hidden.reshape(x.shape[0], -1) @ down.to(x.dtype).transpose(1, 2).reshape(experts * double // 2, -1)
    shared = linear(F.silu(linear(h, shared_gate)) * linear(h, shared_up), shared_down)
    shared = shared * linear(h, shared_scale).float().sigmoid().to(x.dtype)
    balance = experts / 2 * (chosen.mean(0) * p.mean(0)).sum() + 0.001 * logits.logsumexp(-1).pow(2).mean()
    return x + routed + shared, balance


def after_delta(x, o, z, head_norm, w_out, *ffn):
    """Gated norm, output projection, residual, then the experts."""
    count = x.shape[0]
    y = o.reshape(count, 4, 128).float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * head_norm.float()
    y = (y * F.silu(z.reshape(count, 4, 128).float())).to(x.dtype).reshape(count, 512)
    return moe(x + linear(y, w_out), *ffn)


def before_attention(x, cos, sin, norm, w_q, w_k, w_v, q_norm, k_norm):
    """Norm, projections, head norms and rotary positions."""
    h = rms(x, norm)
    count = x.shape[0]
    q, gate = linear(h, w_q).reshape(count, 2, 2 * HEAD).split(HEAD, dim=-1)
    k, v = linear(h, w_k).reshape(count, 1, HEAD), linear(h, w_v).reshape(count, 1, HEAD)
    q, k = rms(q, q_norm), rms(k, k_norm)

    def rotate(t):
        a, b, rest = t[..., :32].float(), t[..., 32:ROTARY].float(), t[..., ROTARY:]
        return torch.cat([(a * cos - b * sin).to(t.dtype), (b * cos + a * sin).to(t.dtype), rest], dim=-1)

    return rotate(q), rotate(k).expand(-1, 2, -1).contiguous(), v.expand(-1, 2, -1).contiguous(), gate.reshape(count, 2 * HEAD)


def after_attention(x, o, gate, w_o, *ffn):
    """Output gate, projection, residual, then the experts."""
    y = o.reshape(x.shape[0], 2 * HEAD) * gate.sigmoid()
    return moe(x + linear(y, w_o), *ffn)


def head_loss(x, norm, embedding, targets, weights):
    """Weighted mean cross entropy, and the share of answer tokens predicted."""
    logits = linear(rms(x, norm), embedding).float()
    loss = F.cross_entropy(logits, targets, reduction="none")
    right = (logits.detach().argmax(-1) == targets).float()
    answers = (weights >= 0.9).float()
    return (loss * weights).sum() / weights.sum(), (right * answers).sum() / answers.sum().clamp(min=1), (loss.detach() * answers).sum() / answers.sum().clamp(min=1)


def holder(shapes):
    """A module tree whose parameters have the given dotted names."""
    root = nn.Module()
    for name, shape in shapes.items():
        module, parts = root, name.split(".")
        for part in parts[:-1]:
            if not hasattr(module, part):
                module.add_module(part, nn.Module())
            module = getattr(module, part)
        module.register_parameter(parts[-1], nn.Parameter(torch.zeros(shape)))
    return root


def shapes(config):
    """Names and shapes of all tensors of the checkpoint."""
    text, vision = config["text_config"], config["vision_config"]
    h, experts, inner, shared = text["hidden_size"], text["num_experts"], text["moe_intermediate_size"], text["shared_expert_intermediate_size"]
    result = {"model.language_model.embed_tokens.weight": (text["vocab_size"], h), "model.language_model.norm.weight": (h,)}
    for index, kind in enumerate(text["layer_types"]):
        p = f"model.language_model.layers.{index}."
        result |= {p + "input_layernorm.weight": (h,), p + "post_attention_layernorm.weight": (h,)}
        if kind == "linear_attention":
            a = p + "linear_attn."
            result |= {a + "in_proj_qkv.weight": (1024, h), a + "in_proj_z.weight": (512, h), a + "in_proj_b.weight": (4, h), a + "in_proj_a.weight": (4, h), a + "conv1d.weight": (1024, 1, 4),
                       a + "A_log": (4,), a + "dt_bias": (4,), a + "norm.weight": (128,), a + "out_proj.weight": (h, 512)}
        else:
            a = p + "self_attn."
            result |= {a + "q_proj.weight": (1024, h), a + "k_proj.weight": (HEAD, h), a + "v_proj.weight": (HEAD, h), a + "o_proj.weight": (h, 512), a + "q_norm.weight": (HEAD,), a + "k_norm.weight": (HEAD,)}
        m = p + "mlp."
        result |= {m + "gate.weight": (experts, h), m + "experts.gate_up_proj": (experts, 2 * inner, h), m + "experts.down_proj": (experts, h, inner), m + "shared_expert.gate_proj.weight": (shared, h),
                   m + "shared_expert.up_proj.weight": (shared, h), m + "shared_expert.down_proj.weight": (h, shared), m + "shared_expert_gate.weight": (1, h)}
    d, wide, v = vision["hidden_size"], vision["intermediate_size"], "model.visual."
    result |= {v + "patch_embed.proj.weight": (d, 3, 2, 16, 16), v + "patch_embed.proj.bias": (d,), v + "pos_embed.weight": (vision["num_position_embeddings"], d)}
    for index in range(vision["depth"]):
        b = f"{v}blocks.{index}."
        for part, shape in {"norm1": (d,), "norm2": (d,), "attn.qkv": (3 * d, d), "attn.proj": (d, d), "mlp.linear_fc1": (wide, d), "mlp.linear_fc2": (d, wide)}.items():
            result |= {f"{b}{part}.weight": shape, f"{b}{part}.bias": shape[:1]}
    for part, shape in {"norm": (d,), "linear_fc1": (4 * d, 4 * d), "linear_fc2": (h, 4 * d)}.items():
        result |= {f"{v}merger.{part}.weight": shape, f"{v}merger.{part}.bias": shape[:1]}
    return result


class Tiny(nn.Module):
    """The model over one flat row of packed documents."""

    def __init__(self, config, kernels, compiled=False):
        super().__init__()
        self.config, self.kernels = config, kernels
        self.shapes = shapes(config)
        self.tree = holder(self.shapes)
        self.initialise()
        self.plain = {"before_delta": before_delta, "after_delta": after_delta, "before_attention": before_attention, "after_attention": after_attention, "head_loss": head_loss}
        self.fast = {name: torch.compile(function, dynamic=False) for name, function in self.plain.items()} if compiled else self.plain
        self.use_compiled(True)

    def use_compiled(self, compiled):
        """Choose between the compiled functions, made for one length of row, and the plain ones for any other."""
        for name, function in (self.fast if compiled else self.plain).items():
            setattr(self, name, function)

    def tensors(self):
        """Parameters by checkpoint name."""
        return dict(self.tree.named_parameters())

    def initialise(self):
        """Scaled normal weights; decays spread over short and long memories."""
        for name, tensor in self.tensors().items():
            with torch.no_grad():
                if name.endswith("A_log"):
                    tensor.copy_(torch.empty_like(tensor).uniform_(1, 16).log())
                elif name.endswith("dt_bias"):
                    step = torch.exp(torch.rand_like(tensor) * math.log(100) + math.log(0.001))
                    tensor.copy_(step + torch.log(-torch.expm1(-step)))
                elif name.endswith(("linear_attn.norm.weight", "norm1.weight", "norm2.weight", "merger.norm.weight")):
                    tensor.fill_(1.0)
                elif name.endswith("conv1d.weight"):
                    tensor.uniform_(-0.5, 0.5)
                elif tensor.dim() >= 2:
                    deviation = 0.02 if "embed" in name or "gate.weight" in name else 0.6 / math.sqrt(tensor[0].numel() if tensor.dim() != 3 else tensor.shape[-1])
                    tensor.normal_(0, deviation * (0.3 if name.endswith(("out_proj.weight", "o_proj.weight", "down_proj", "down_proj.weight")) else 1.0))

    def vision(self, batch, dtype):
        """Features of all pictures, merged two by two."""
        t, v = self.tensors(), "model.visual."
        pixels = batch["patches"].to(dtype) / 127.5 - 1.0
        x = linear(pixels, t[v + "patch_embed.proj.weight"].flatten(1), t[v + "patch_embed.proj.bias"])
        table = t[v + "pos_embed.weight"]
        x = x + (table[batch["patch_taps"]] * batch["patch_tap_weights"][:, :, None]).sum(1).to(dtype)
        cos, sin = batch["patch_cos"][:, None], batch["patch_sin"][:, None]

        def rotate(y):
            a, b = y.float().chunk(2, dim=-1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(y.dtype)

        width, heads = x.shape[-1], self.config["vision_config"]["num_heads"]
        for index in range(self.config["vision_config"]["depth"]):
            b = f"{v}blocks.{index}."
            y = F.layer_norm(x, (width,), t[b + "norm1.weight"].to(dtype), t[b + "norm1.bias"].to(dtype), 1e-6)
            q, k, value = linear(y, t[b + "attn.qkv.weight"], t[b + "attn.qkv.bias"]).reshape(-1, 3, heads, width // heads).unbind(1)
            y = self.kernels.attention(rotate(q), rotate(k), value.contiguous(), batch["patch_borders"], batch["patch_longest"], False)
            x = x + linear(y.reshape(-1, width), t[b + "attn.proj.weight"], t[b + "attn.proj.bias"])
            y = F.layer_norm(x, (width,), t[b + "norm2.weight"].to(dtype), t[b + "norm2.bias"].to(dtype), 1e-6)
            y = F.gelu(linear(y, t[b + "mlp.linear_fc1.weight"], t[b + "mlp.linear_fc1.bias"]), approximate="tanh")
            x = x + linear(y, t[b + "mlp.linear_fc2.weight"], t[b + "mlp.linear_fc2.bias"])
        m = v + "merger."
        y = F.layer_norm(x, (width,), t[m + "norm.weight"].to(dtype), t[m + "norm.bias"].to(dtype), 1e-6).reshape(-1, 4 * width)
        return linear(F.gelu(linear(y, t[m + "linear_fc1.weight"], t[m + "linear_fc1.bias"])), t[m + "linear_fc2.weight"], t[m + "linear_fc2.bias"])

    def hidden(self, batch, dtype=torch.bfloat16):
        """The residual stream after the last layer, and the summed balance loss."""
        t = self.tensors()
        x = F.embedding(batch["ids"], t["model.language_model.embed_tokens.weight"]).to(dtype)
        if "patches" in batch:
            x = x.index_copy(0, batch["image_rows"], self.vision(batch, dtype))
        angles = batch["positions"].float()[batch["axis"]].T * batch["frequencies"]
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        balance = 0.0
        for index, kind in enumerate(self.config["text_config"]["layer_types"]):
            p = f"model.language_model.layers.{index}."
            ffn = [t[p + name] for name in ("post_attention_layernorm.weight", "mlp.gate.weight", "mlp.experts.gate_up_proj", "mlp.experts.down_proj", "mlp.shared_expert.gate_proj.weight",
                                            "mlp.shared_expert.up_proj.weight", "mlp.shared_expert.down_proj.weight", "mlp.shared_expert_gate.weight")]
            if kind == "linear_attention":
                a = p + "linear_attn."
                q, k, v, z, decay, beta = self.before_delta(x, batch["local"], t[p + "input_layernorm.weight"], *[t[a + name] for name in (
                    "in_proj_qkv.weight", "in_proj_z.weight", "in_proj_b.weight", "in_proj_a.weight", "conv1d.weight", "A_log", "dt_bias")])
                o = self.kernels.delta_rule(q, k, v, decay, beta, batch)
                x, loss = self.after_delta(x, o, z, t[a + "norm.weight"], t[a + "out_proj.weight"], *ffn)
            else:
                a = p + "self_attn."
                q, k, v, gate = self.before_attention(x, cos, sin, t[p + "input_layernorm.weight"], *[t[a + name] for name in ("q_proj.weight", "k_proj.weight", "v_proj.weight", "q_norm.weight", "k_norm.weight")])
                o = self.kernels.attention(q, k, v, batch["borders"], batch["longest"], True)
                x, loss = self.after_attention(x, o, gate, t[a + "o_proj.weight"], *ffn)
            balance = balance + loss
        return x, balance

    def forward(self, batch):
        """Training loss and two figures for the log."""
        t = self.tensors()
        x, balance = self.hidden(batch)
        loss, right, answer_loss = self.head_loss(x, t["model.language_model.norm.weight"], t["model.language_model.embed_tokens.weight"], batch["targets"], batch["weights"])
        return loss + 0.002 * balance, right, answer_loss, balance / 8

    def logits(self, batch, rows, dtype=torch.bfloat16):
        """Logits at some rows."""
        t = self.tensors()
        x, _ = self.hidden(batch, dtype)
        return linear(rms(x[rows], t["model.language_model.norm.weight"]), t["model.language_model.embed_tokens.weight"]).float()
