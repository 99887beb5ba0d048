"""The two operations that see document borders: on the GPU from libraries, on the CPU as plain loops for checks."""

import torch
import torch.nn.functional as F

import deltagrad


class GpuKernels:
    """flash-linear-attention's chunked rule and PyTorch's variable-length flash attention."""

    def __init__(self):
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule
        from torch.nn.attention.varlen import varlen_attn
        deltagrad.install()
        self.rule, self.varlen = chunk_gated_delta_rule, varlen_attn

    def delta_rule(self, q, k, v, decay, beta, batch):
        """The gated delta rule restarted at every border."""
        output, _ = self.rule(q, k, v, decay, beta, use_qk_l2norm_in_kernel=True, cu_seqlens=batch["long_borders"], cu_seqlens_cpu=batch["cpu_borders"])
        return output

    def attention(self, q, k, v, borders, longest, causal):
        """Attention inside documents."""
        return self.varlen(q, k, v, borders, borders, longest, longest, window_size=(-1, 0) if causal else (-1, -1))


class CpuKernels:
    """Reference loops."""

    def delta_rule(self, q, k, v, decay, beta, batch):
        """The recurrence, token by token."""
        borders, outputs = batch["borders"].tolist(), []
        q = F.normalize(q[0].float(), dim=-1, eps=1e-6).repeat_interleave(2, dim=1) * 128 ** -0.5
        k = F.normalize(k[0].float(), dim=-1, eps=1e-6).repeat_interleave(2, dim=1)
        for start, end in zip(borders, borders[1:]):
            state = torch.zeros(4, 128, 128, device=v.device)
            for t in range(start, end):
                state = state * decay[0, t].exp()[:, None, None]
                delta = beta[0, t][:, None] * (v[0, t].float() - torch.einsum("hkv,hk->hv", state, k[t]))
                state = state + k[t][:, :, None] * delta[:, None, :]
                outputs.append(torch.einsum("hkv,hk->hv", state, q[t]))
        return torch.stack(outputs)[None].to(v.dtype)

    def attention(self, q, k, v, borders, longest, causal):
        """One document after the other."""
        borders, outputs = borders.tolist(), []
        for start, end in zip(borders, borders[1:]):
            parts = [x[start:end].transpose(0, 1)[None] for x in (q, k, v)]
            outputs.append(F.scaled_dot_product_attention(*parts, is_causal=causal)[0].transpose(0, 1))
        return torch.cat(outputs)
