"""Muon for the matrices of the network, Adam for everything else."""

import torch


def orthogonalise(matrices, steps=5):
    """Newton-Schulz iteration on a batch of matrices: nearest matrices with equal singular values."""
    x = matrices.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return (x.mT if tall else x).float()


class Muon:
    """Momentum whose matrix updates are orthogonalised; matrices of one shape go through together."""

    def __init__(self, parameters, momentum=0.95, decay=0.05):
        self.momentum, self.decay, self.groups = momentum, decay, {}
        for parameter in parameters:
            self.groups.setdefault(tuple(parameter.shape[-2:]), []).append(parameter)
        self.buffers = {shape: [torch.zeros_like(parameter) for parameter in group] for shape, group in self.groups.items()}

    @torch.no_grad()
    def step(self, rate):
        """One update."""
        for shape, group in self.groups.items():
            buffers, gradients = self.buffers[shape], [parameter.grad for parameter in group]
            torch._foreach_lerp_(buffers, gradients, 1 - self.momentum)
            ahead = torch._foreach_lerp(gradients, buffers, self.momentum)
            stacked = torch.cat([matrix.reshape(-1, *shape) for matrix in ahead])
            update = orthogonalise(stacked) * (0.2 * max(shape) ** 0.5)
            pieces = update.split([parameter.numel() // (shape[0] * shape[1]) for parameter in group])
            torch._foreach_mul_(group, 1 - rate * self.decay)
            torch._foreach_add_(group, [piece.reshape(parameter.shape) for piece, parameter in zip(pieces, group)], alpha=-rate)

    def state(self):
        """Buffers for a checkpoint."""
        return self.buffers

    def load(self, buffers):
        """Restore the buffers."""
        for shape, saved in buffers.items():
            for buffer, value in zip(self.buffers[shape], saved):
                buffer.copy_(value)


def split(model):
    """Parameters for Muon and for Adam."""
    matrices, others = [], []
    small = ("embed", "conv1d", "gate.weight", "in_proj_a", "in_proj_b", "patch_embed")
    for name, parameter in model.tensors().items():
        matrices.append(parameter) if parameter.dim() in (2, 3) and not any(part in name for part in small) else others.append(parameter)
    return matrices, others
