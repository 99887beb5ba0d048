"""The same random model for both: checkpoints for deltaserve and GGUF files for llama.cpp, in every
type that is compared. What is there already is kept."""

import json
import math
import pathlib
import subprocess
import sys

import gguf
import numpy

# Bits that a type's name promises; how many it has with scales and the kept parts is counted.
OURS = {"bf16": 16, "int8": 8, "int4": 4}
THEIRS = {"bf16": 16, "q8_0": 8, "q4_0": 4, "q4_k": 4}
# llama-quantize has its K types in mixtures; the small one is 4 bits but for a few matrices.
QUANTIZE_NAMES = {"q8_0": "Q8_0", "q4_0": "Q4_0", "q4_k": "Q4_K_S"}


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}")


class ModelFiles:
    """A preset of make-model, all of it or its first layers, under `folder`."""

    def __init__(self, preset, layers, folder):
        self.preset = preset
        self.layers = layers
        self._base = pathlib.Path(folder) / (f"{preset}-{layers}" if layers else preset)

    def checkpoint(self, kind):
        return pathlib.Path(f"{self._base}-{kind}")

    def gguf(self, kind):
        return pathlib.Path(f"{self._base}-{kind}.gguf")

    def make(self, binary, quantize, threads):
        """Writes what is missing, with deltaserve's `binary` and llama.cpp's `quantize`."""
        self._once(self.checkpoint("bf16"), lambda path: run(
            binary, "make-model", self.preset, "--layers", self.layers, "--out", path))
        for kind in ("int8", "int4"):
            self._once(self.checkpoint(kind), lambda path, kind=kind: run(
                binary, "quantize", self.checkpoint("bf16"), "--to", kind, "--out", path,
                "--threads", threads))
        self._once(self.gguf("bf16"), lambda path: run(
            sys.executable, pathlib.Path(__file__).with_name("write_gguf.py"),
            self.checkpoint("bf16"), path))
        for kind, name in QUANTIZE_NAMES.items():
            self._once(self.gguf(kind), lambda path, name=name: run(
                quantize, self.gguf("bf16"), path, name, threads))

    @staticmethod
    def _once(path, write):
        if not path.exists():
            partial = path.with_name("partial-" + path.name)
            write(partial)
            partial.rename(path)

    def _tensors(self, kind):
        """[(name, number of elements, bytes)] of a checkpoint of ours."""
        for path in self.checkpoint(kind).glob("*.safetensors"):
            data = numpy.memmap(path, numpy.uint8, "r")
            length = int(data[:8].view("<u8")[0])
            for name, entry in json.loads(data[8:8 + length].tobytes()).items():
                if name != "__metadata__":
                    begin, end = entry["data_offsets"]
                    yield name, math.prod(entry["shape"]), end - begin

    def _read(self, kind):
        """The tensors that a token's step multiplies with: all, but embeddings beside a head."""
        tensors = list(self._tensors(kind))
        has_head = any(name.startswith("lm_head") for name, _, _ in tensors)
        return [tensor for tensor in tensors if not (has_head and "embed_tokens" in tensor[0])]

    def num_parameters(self):
        return sum(elements for _, elements, _ in self._tensors("bf16"))

    def _num_read(self):
        return sum(elements for _, elements, _ in self._read("bf16"))

    def bits_of_ours(self, kind):
        """Bits for each element of these tensors."""
        return 8 * sum(size for _, _, size in self._read(kind)) / self._num_read()

    def bits_of_theirs(self, kind):
        tensors = {tensor.name: int(tensor.n_bytes)
                   for tensor in gguf.GGUFReader(self.gguf(kind)).tensors}
        total = sum(tensors.values())
        if "output.weight" in tensors:
            total -= tensors["token_embd.weight"]
        return 8 * total / self._num_read()
