"""Runs the two programs' own benchmarks and reads their speeds, tokens a second by test."""

import json
import os
import subprocess

PREFILL = 512
DECODE = 32
BATCHES = (1, 4, 16)


def prefill_test(length=PREFILL):
    return f"prefill {length}"


def decode_test(batch, context=0):
    return f"decode {batch} at {context}" if context else f"decode {batch}"


class Failed(Exception):
    """A program that did not end well; the text says how."""


def output_of(command, environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, env={**os.environ, **(environment or {})})
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
                     f"{done.stdout}{done.stderr}")
    return done.stdout


class Ours:
    """deltaserve bench. A decode's speed is of the median of its steps, without context of 1 to 32
    tokens (nothing can be decoded at none)."""

    def __init__(self, binary, threads, isa):
        self._command = [binary, "bench"]
        self._options = ["--threads", threads, "--json", *(["--cpu-isa", isa] if isa else [])]
        self.ceilings = []  # of every run: read in GB/s, matrices in GFLOP/s
        self.shares = {}  # by (directory, test): GB/s and GFLOP/s of the latest run

    def _run(self, directory, *arguments):
        report = json.loads(output_of([*self._command, directory, *arguments, *self._options]))
        self.ceilings.append((report["read_gb_per_s"], report["matrix_gflop_per_s"]))
        return report["tests"]

    def _take(self, directory, rows):
        for test, row in rows:
            self.shares[directory, test] = row["gb_per_s"], row["gflop_per_s"]
        return {test: row["tokens_per_s"] for test, row in rows}

    def speeds(self, directory):
        tests = self._run(directory, "-p", PREFILL, "-n", DECODE, "-b",
                          ",".join(map(str, BATCHES)), "--context", 1, "-r", 1)
        names = [prefill_test(), *map(decode_test, BATCHES)]
        return self._take(directory, list(zip(names, tests, strict=True)))

    def deep_speeds(self, directory, context):
        tests = self._run(directory, "-p", 1, "-n", DECODE, "-b", 1, "--context", context, "-r", 1)
        return self._take(directory, [(decode_test(1, context), tests[1])])


class Theirs:
    """llama-bench, and llama-batched-bench for more than one sequence. A decode's speed is of all
    its steps together."""

    def __init__(self, folder, threads):
        self._folder = folder
        self._threads = ["-t", threads]
        self._environment = {"LD_LIBRARY_PATH": str(folder)}
        self.num_parameters = None

    def _bench(self, path, *arguments):
        rows = json.loads(output_of([self._folder / "llama-bench", "-m", path, *self._threads, "-r",
                                     1, "-o", "json", *arguments], self._environment))
        self.num_parameters = rows[0]["model_n_params"]
        return rows

    def speeds(self, path):
        rows = self._bench(path, "-p", PREFILL, "-n", DECODE)
        speeds = {prefill_test(): rows[0]["avg_ts"], decode_test(1): rows[1]["avg_ts"]}
        batches = [batch for batch in BATCHES if batch > 1]
        text = output_of([self._folder / "llama-batched-bench", "-m", path, *self._threads, "-c",
                          (DECODE + 32) * max(batches), "-npp", 1, "-ntg", DECODE, "-npl",
                          ",".join(map(str, batches)), "--output-format", "jsonl"],
                         self._environment)
        for line in text.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                speeds[decode_test(row["pl"])] = row["speed_tg"]
        return speeds

    def deep_speeds(self, path, context):
        row = self._bench(path, "-p", 0, "-n", DECODE, "-d", context)[-1]
        return {decode_test(1, context): row["avg_ts"]}
