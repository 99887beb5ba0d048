#!/usr/bin/env python3
"""Serves the bundled model on the GPU and on the CPU and compares their greedy answers.

In float32 every answer must be the same, those about a video too; in bfloat16, where a near tie may
fall to either side, the sums must be right. With --batch-invariant a request must have the same tokens
and logprobs alone and among others, to the last bit. `wide` checks that with random weights in the widths
of releases, whose kernels the bundled model does not reach. Usage: device_text.py PROGRAM [wide]
"""
import base64
import re
import struct
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

from device_server import Server

TEXTS = ["What is 12 + 30?", "What is 7 + 8?", "Hello!", "Who are you?", "Count from 1 to 5."]
SUMS = {"What is 12 + 30?": "42", "What is 7 + 8?": "15"}
CLIP = Path("tests/data/media/h264.mp4")


def png(colour: tuple[int, int, int], width: int, height: int) -> str:
    """A picture of one colour as a data URL."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(data).decode()


def video_prompts(program: str) -> dict[str, list]:
    """A list of frames, and a file where the program can read one."""
    question = {"type": "text", "text": "What is shown?"}
    colours = [(200, 30, 30), (200, 30, 30), (30, 30, 200), (30, 200, 30)]
    frames = {"type": "video", "video": [png(colour, 96, 64) for colour in colours], "fps": 2}
    prompts = {"frames of a video": [frames, question]}
    report = subprocess.run([program, "doctor"], capture_output=True, text=True, check=True).stdout
    if re.search(r"video files +libav", report):
        file = "data:video/mp4;base64," + base64.b64encode(CLIP.read_bytes()).decode()
        prompts["a video file"] = [{"type": "video_url", "video_url": {"url": file}}, question]
    return prompts


def at_once(jobs: dict[str, Callable[[], object]]) -> dict[str, object]:
    """What all jobs return, started together so that they share batches; None where one has failed."""
    out: dict[str, object] = dict.fromkeys(jobs)

    def run(name: str) -> None:
        try:
            out[name] = jobs[name]()
        except Exception as error:  # of whatever kind: the comparison reports it
            print(f"{name!r}: {error}", flush=True)
    threads = [threading.Thread(target=run, args=(name,)) for name in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def ask(server: Server, content, **fields) -> dict:
    body = {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 96, **fields}
    return server.post("/v1/chat/completions", body)["choices"][0]


def text_of(choice: dict) -> str:
    return choice["message"].get("content") or choice["message"].get("reasoning_content") or ""


def answers(program: str, backend: str, dtype: str, prompts: dict) -> dict[str, object]:
    with Server(program, "models/tiny", "--backend", backend, "--dtype", dtype) as server:
        print(f"{backend} {dtype}: ready {server.ready_seconds:.2f} s after its start", flush=True)
        return at_once({name: lambda content=content: text_of(ask(server, content))
                        for name, content in prompts.items()})


def compare_answers(program: str, prompts: dict) -> int:
    expected = answers(program, "cpu", "float32", prompts)
    failed = 0
    for dtype in ("float32", "bfloat16"):
        found = answers(program, "cuda", dtype, prompts)
        for name in prompts:
            text = found[name]
            right = bool(text) and (SUMS.get(name, "") in text if dtype == "bfloat16" else text == expected[name])
            failed += not right
            print(f"{'ok    ' if right else 'WRONG '} {dtype} {name!r} -> {text!r}")
            if not right:
                print(f"       on the CPU: {expected[name]!r}")
    return failed


def same_bits(what: str, jobs: dict[str, Callable[[], object]]) -> int:
    """Each job alone, one after the other, and then all at once."""
    alone = {name: job() for name, job in jobs.items()}
    together = at_once(jobs)
    failed = 0
    for name in jobs:
        same = alone[name] == together[name]
        failed += not same
        print(f"{'ok    ' if same else 'WRONG '} {what}, alone and among {len(jobs)}: {name!r}")
        if not same:
            print(f"       alone:    {str(alone[name])[:300]}\n       together: {str(together[name])[:300]}")
    return failed


def batch_invariance(program: str, dtype: str, prompts: dict) -> int:
    """Choices carry text and logprobs. Nothing is taken from earlier requests."""
    flags = ["--backend", "cuda", "--dtype", dtype, "--batch-invariant", "--no-enable-prefix-caching"]
    with Server(program, "models/tiny", *flags) as server:
        return same_bits(f"models/tiny {dtype}", {
            name: lambda content=content: ask(server, content, logprobs=True, top_logprobs=5)
            for name, content in prompts.items()})


def wide_batch_invariance(program: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        failed = 0
        for preset in ("qwen3.5-0.8b", "qwen3.5-35b-a3b"):
            model = f"{directory}/{preset}"
            subprocess.run([program, "make-model", preset, "--layers", "4", "--out", model], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            flags = ["--backend", "cuda", "--batch-invariant", "--no-enable-prefix-caching",
                     "--max-model-len", "8192"]
            with Server(program, model, *flags) as server:
                failed += same_bits(preset, {f"{words} words": lambda words=words: complete(server, words)
                                             for words in (1, 3, 8, 20, 60, 150, 400, 600)})
    return failed


def complete(server: Server, words: int) -> list:
    body = {"prompt": "a word and " * words, "max_tokens": 24, "temperature": 0, "logprobs": 5, "ignore_eos": True}
    return server.post("/v1/completions", body)["choices"]


def main() -> int:
    program = sys.argv[1]
    if sys.argv[2:] == ["wide"]:
        return 1 if wide_batch_invariance(program) else 0
    prompts = {**{text: text for text in TEXTS}, **video_prompts(program)}
    failed = compare_answers(program, prompts)
    for dtype in ("float32", "bfloat16"):
        failed += batch_invariance(program, dtype, prompts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
