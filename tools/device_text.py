#!/usr/bin/env python3
"""Serves the bundled model on the GPU and on the CPU and compares their greedy answers.

In float32 every answer must be the same; in bfloat16, where a near tie may fall to either side,
the sums must be right. Usage: device_text.py PROGRAM
"""
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

PROMPTS = ["What is 12 + 30?", "What is 7 + 8?", "Hello!", "Who are you?", "Count from 1 to 5."]
SUMS = {"What is 12 + 30?": "42", "What is 7 + 8?": "15"}
START_SECONDS = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port: int, prompt: str) -> str:
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": 96}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            message = json.load(response)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        print(f"{prompt!r}: {error.code} {error.read().decode()}", flush=True)
        return ""
    return message.get("content") or message.get("reasoning_content") or ""


def answers(program: str, backend: str, dtype: str) -> dict[str, str]:
    """The answers to all prompts, asked at once so that they share batches."""
    port = free_port()
    command = [program, "serve", "models/tiny", "--port", str(port), "--backend", backend, "--dtype", dtype]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            deadline = began + START_SECONDS
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                    break
                except (urllib.error.URLError, OSError):
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
            print(f"{backend} {dtype}: ready {time.monotonic() - began:.2f} s after its start", flush=True)
            out: dict[str, str] = {}
            threads = [threading.Thread(target=lambda p=p: out.update({p: ask(port, p)})) for p in PROMPTS]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return out
        finally:
            server.terminate()


def main() -> int:
    program = sys.argv[1]
    expected = answers(program, "cpu", "float32")
    failed = 0
    for dtype in ("float32", "bfloat16"):
        found = answers(program, "cuda", dtype)
        for prompt in PROMPTS:
            text = found.get(prompt, "")
            right = text != "" and (SUMS.get(prompt, "") in text if dtype == "bfloat16" else text == expected.get(prompt))
            failed += not right
            print(f"{'ok    ' if right else 'WRONG '} {dtype} {prompt!r} -> {text!r}")
            if not right:
                print(f"       on the CPU: {expected.get(prompt)!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
