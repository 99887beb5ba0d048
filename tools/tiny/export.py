"""Write the weights as a released checkpoint: bfloat16, A_log and the gated norms in float32."""

import torch
from safetensors.torch import load_file, save_file


def rounded(model):
    """Tensors by name in the dtypes of the checkpoint."""
    keep = ("A_log", "linear_attn.norm.weight")
    return {name: tensor.detach().to(torch.float32 if name.endswith(keep) else torch.bfloat16).cpu().contiguous() for name, tensor in model.tensors().items()}


def save(model, path):
    """Write model.safetensors."""
    save_file(rounded(model), str(path), metadata={"format": "pt"})


def load(model, path):
    """Read a checkpoint into the training model."""
    tensors = load_file(str(path))
    with torch.no_grad():
        for name, parameter in model.tensors().items():
            parameter.copy_(tensors[name].float())
