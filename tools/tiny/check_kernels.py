"""Compare the GPU kernels with the reference loops, forward and backward, on ragged documents."""

import torch
import torch.nn.functional as F

from kernels import CpuKernels, GpuKernels


def relative(a, b):
    """Relative error in the Frobenius norm."""
    return ((a.float() - b.float()).norm() / b.float().norm()).item()


def run(kernels, inputs, call):
    """Output and gradients for a fixed output gradient."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    output = call(kernels, leaves)
    generator = torch.Generator(device="cuda").manual_seed(1)
    output.backward(torch.randn(output.shape, generator=generator, device="cuda").to(output.dtype))
    return [output] + [leaf.grad for leaf in leaves]


def main():
    """Print relative errors; fail above two per cent."""
    torch.manual_seed(0)
    borders = torch.tensor([0, 70, 75, 203, 420], device="cuda")
    batch = {"borders": borders.int(), "long_borders": borders, "cpu_borders": borders.cpu()}
    count = 420
    q, k = torch.randn(1, count, 2, 128, device="cuda"), torch.randn(1, count, 2, 128, device="cuda")
    v, decay, beta = torch.randn(1, count, 4, 128, device="cuda"), -F.softplus(torch.randn(1, count, 4, device="cuda") - 2), torch.rand(1, count, 4, device="cuda")
    half = [x.bfloat16() for x in (q, k, v)]
    worst = 0.0
    delta = lambda kernels, x: kernels.delta_rule(*x, batch)
    ours, theirs = run(GpuKernels(), half + [decay, beta], delta), run(CpuKernels(), [x.float() for x in half] + [decay, beta], delta)
    for name, a, b in zip("o dq dk dv ddecay dbeta".split(), ours, theirs):
        print(f"delta rule {name:7} {relative(a, b):.4f}")
        worst = max(worst, relative(a, b))
    for width, heads, causal in ((256, 2, True), (64, 2, False)):
        qkv = [torch.randn(count, heads, width, device="cuda").bfloat16() for _ in range(3)]
        attend = lambda kernels, x: kernels.attention(*x, batch["borders"], 217, causal)
        ours, theirs = run(GpuKernels(), qkv, attend), run(CpuKernels(), [x.float() for x in qkv], attend)
        for name, a, b in zip("o dq dk dv".split(), ours, theirs):
            print(f"attention {width} {name:3} {relative(a, b):.4f}")
            worst = max(worst, relative(a, b))
    raise SystemExit(worst > 0.02)


if __name__ == "__main__":
    main()
