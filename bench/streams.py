#!/usr/bin/env python3
"""Streams from a running server: time to the first token, time between tokens, tokens a second.

Starts `deltaserve serve` on a free port, opens N concurrent chat streams of fixed length, and prints
one line for each N. Latencies include HTTP and JSON on the client's side.
"""
import argparse
import concurrent.futures
import http.client
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

PROMPT = "Tell me a story about a lighthouse keeper and the sea."


def start_server(binary: str, model: str) -> tuple[subprocess.Popen, int]:
    port_file = pathlib.Path(tempfile.mkdtemp()) / "port"
    server = subprocess.Popen(
        [binary, "serve", model, "--port", "0", "--port-file", str(port_file),
         "--max-model-len", "4096"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (port_file.exists() and port_file.read_text().strip()):
        if server.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.01)
    return server, int(port_file.read_text())


def stream(port: int, seed: int, tokens: int) -> list[float]:
    """Arrival times of the token events, the first entry being the moment of sending."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    body = json.dumps({"messages": [{"role": "user", "content": PROMPT}], "stream": True,
                       "max_tokens": tokens, "ignore_eos": True, "seed": seed})
    times = [time.perf_counter()]
    connection.request("POST", "/v1/chat/completions", body,
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise SystemExit(response.read().decode())
    for line in response:
        if line.startswith(b"data: {"):
            times.append(time.perf_counter())
    return times


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(port: int, streams: int, tokens: int) -> None:
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        runs = list(pool.map(lambda seed: stream(port, seed, tokens), range(streams)))
    seconds = time.perf_counter() - start
    first = [run[1] - run[0] for run in runs]
    gaps = [after - before for run in runs for before, after in zip(run[1:], run[2:])]
    print(f"{streams:>8} {streams * tokens / seconds:>10.0f} {statistics.median(first) * 1e3:>11.1f} "
          f"{statistics.median(gaps) * 1e3:>11.2f} {percentile(gaps, 0.99) * 1e3:>11.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/release/bin/deltaserve")
    parser.add_argument("--model", default="models/tiny")
    parser.add_argument("--streams", default="1,16,64")
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()
    server, port = start_server(options.binary, options.model)
    try:
        print(f"{'streams':>8} {'tokens/s':>10} {'first ms':>11} {'gap ms p50':>11} {'p99':>11}")
        measure(port, 1, 16)
        for count in options.streams.split(","):
            measure(port, int(count), options.tokens)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
