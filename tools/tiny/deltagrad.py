"""One piece of the backward pass of the chunked gated delta rule, in PyTorch.

flash-linear-attention refuses its own kernel for this piece on Hopper GPUs with Triton 3.4 to 3.7.0, which miscompile
it. The piece works chunk by chunk without any recurrence, so batched products do it: every chunk is gathered into 64
padded rows, multiplied, and gathered back.
"""

import torch


def product(a, b):
    """Batched product with float32 results."""
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (x.expand(*shape, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (a, b))
    result = torch.bmm(a, b, out_dtype=torch.float32) if a.is_cuda and a.dtype != torch.float32 else torch.bmm(a.float(), b.float())
    return result.reshape(*shape, *result.shape[-2:])


def rows_of_chunks(borders, chunk_indices, size, count):
    """Rows of every chunk (count where padded), whether they are real, and each row's place in the padded layout."""
    start = borders[chunk_indices[:, 0]] + chunk_indices[:, 1] * size
    rows = start[:, None] + torch.arange(size, device=borders.device)
    real = rows < borders[chunk_indices[:, 0] + 1][:, None]
    place = torch.empty(count + 1, dtype=torch.long, device=borders.device)
    flat = torch.where(real, rows, count).reshape(-1)
    place.scatter_(0, flat, torch.arange(flat.numel(), device=borders.device))
    return torch.where(real, rows, count), real, place[:count]


def combine(dq, dk, ds, q, k, decay, last, dstate, real, scale):
    """Everything after the products with the states: gradients of q, k and the cumulated decay."""
    lower = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).tril()
    pairs = lower & real[:, None, :, None] & real[:, None, None, :]
    dq = dq * torch.exp2(decay)[..., None] * scale
    dk = dk * torch.where(real[:, None], torch.exp2(last[..., None] - decay), 0.0)[..., None]
    at_end = dstate * torch.exp2(last) + (dk * k.float()).sum((-1, -2))
    ds = torch.where(pairs, ds * torch.exp2(torch.where(pairs, decay[..., :, None] - decay[..., None, :], 0.0)), 0.0) * scale
    ds = ds.to(k.dtype)
    dq = dq + product(ds, k)
    dk = dk + product(ds.mT, q)
    dg = (dq * q.float()).sum(-1) - (dk * k.float()).sum(-1)
    following = torch.cat([real[:, 1:], torch.zeros_like(real[:, :1])], dim=1)
    ending = (real & ~following)[:, None]
    return dq, dk, dg + torch.where(ending, at_end[..., None], 0.0)


def chunk_bwd_dqkwg(q, k, v, do, h, dh, w=None, g=None, g_gamma=None, dv=None, scale=None, state_v_first=False, cu_seqlens=None, chunk_size=64, chunk_indices=None):
    """Gradients of q, k, w and the cumulated decay (base-2 logarithms) given those of the outputs and the states."""
    count, heads, groups = v.shape[1], v.shape[2], v.shape[2] // q.shape[2]
    rows, real, place = rows_of_chunks(cu_seqlens.long(), chunk_indices.long(), chunk_size, count)

    def gather(x, repeat=1):
        padded = torch.cat([x[0], torch.zeros_like(x[0, :1])])[rows]
        padded = padded.transpose(1, 2)
        return padded.repeat_interleave(repeat, dim=1) if repeat > 1 else padded.contiguous()

    def scatter(x):
        return x.transpose(1, 2).reshape(-1, *x.shape[1:2], *x.shape[3:])[place][None]

    q4, k4, v4, do4, dv4 = gather(q, groups), gather(k, groups), gather(v), gather(do), gather(dv)
    decay = gather(g[..., None])[..., 0].float()
    lengths = real.sum(1)
    last = decay.gather(2, (lengths - 1)[:, None, None].expand(-1, heads, 1))[..., 0]
    states, dstates = h[0].to(v.dtype), dh[0].to(v.dtype)
    dstate = (h[0].float() * dh[0].float()).sum((-1, -2))
    dq, dk, dg = combine(product(do4, states.mT), product(v4, dstates.mT), product(do4, v4.mT), q4, k4, decay, last, dstate, real, scale)
    dw = scatter(-product(dv4.to(v.dtype), states.mT)).to(w.dtype)
    dq, dk = (scatter(x).unflatten(2, (-1, groups)).sum(3).to(q.dtype) for x in (dq, dk))
    return dq, dk, dw, scatter(dg[..., None])[..., 0].contiguous()


def install():
    """Use this piece in flash-linear-attention."""
    from fla.ops.gated_delta_rule import chunk
    chunk.chunk_bwd_dqkwg = chunk_bwd_dqkwg
