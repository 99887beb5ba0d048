#!/usr/bin/env python3
"""Compiling schemas and computing token masks: bench_grammar beside llguidance and xgrammar, in one run.

    python bench/grammar/compare.py BENCH_GRAMMAR VOCABULARY.tiktoken [--size 248000]

VOCABULARY has lines of base64 and a rank, such as the one in the `dashscope` package; with --size it is
filled up with pairs of its words. Schemas and documents are seeded; a document's tokens are the longest
that fit. Each library walks the same documents, three times each, and times the mask at every token, in processor
time of all its threads.
llguidance and xgrammar (with torch) have to be installed; one that is missing is left out and said so.
"""
import argparse
import base64
import json
import random
import subprocess
import tempfile
import time

WORDS = ("the quick brown fox jumps over lazy dog lorem ipsum dolor sit amet weather Paris Rome meeting tomorrow "
         "\u6f22\u5b57 donn\u00e9es na\u00efve").split()


class Generator:
    """Random object schemas, each with a function that makes documents for it."""

    def __init__(self, seed):
        self.g = random.Random(seed)

    def text(self, count):
        return " ".join(self.g.choice(WORDS) for _ in range(count))

    def make(self, depth=0):
        g = self.g
        kinds = ["string", "string", "integer", "number", "boolean", "enum"] + (["array", "object"] if depth < 3 else [])
        return getattr(self, "make_" + ("object" if depth == 0 else g.choice(kinds)))(depth)

    def make_string(self, depth):
        g, chance = self.g, self.g.random()
        if chance < 0.15:
            size = g.randint(20, 200)
            return {"type": "string", "maxLength": size}, lambda: self.text(3)[:size]
        if chance < 0.25:
            return {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}, lambda: "AB-1234"
        if chance < 0.3:
            return {"type": "string", "format": "date"}, lambda: "2024-05-06"
        return {"type": "string"}, lambda: self.text(g.randint(1, 25))

    def make_integer(self, depth):
        if self.g.random() < 0.3:
            return {"type": "integer", "minimum": 0, "maximum": 1000}, lambda: self.g.randint(0, 1000)
        return {"type": "integer"}, lambda: self.g.randint(-5, 10**6)

    def make_number(self, depth):
        return {"type": "number"}, lambda: round(self.g.random() * 100, 6)

    def make_boolean(self, depth):
        return {"type": "boolean"}, lambda: True

    def make_enum(self, depth):
        values = [f"{self.text(1)}{i}" for i in range(self.g.randint(2, 9))]
        return {"type": "string", "enum": values}, lambda: self.g.choice(values)

    def make_array(self, depth):
        schema, make = self.make(depth + 1)
        return {"type": "array", "items": schema}, lambda: [make() for _ in range(self.g.randint(0, 6))]

    def make_object(self, depth):
        parts = [(f"{self.g.choice(WORDS)}_{i}", *self.make(depth + 1)) for i in range(self.g.randint(1, 9))]
        required = [name for name, _, _ in parts if self.g.random() < 0.7]
        schema = {"type": "object", "properties": {name: schema for name, schema, _ in parts}, "required": required,
                  "additionalProperties": False}
        return schema, lambda: {name: make() for name, _, make in parts if name in required or self.g.random() < 0.5}


def make_cases(count, seed):
    generator = Generator(seed)
    cases = []
    for _ in range(count):
        schema, make = generator.make()
        cases.append({"schema": schema, "documents": [json.dumps(make(), ensure_ascii=False) for _ in range(3)]})
    return cases


def read_vocabulary(path, size):
    tokens = [base64.b64decode(line.split()[0]) for line in open(path, "rb") if line.strip()]
    known, g = set(tokens), random.Random(1)
    words = [token for token in tokens if len(token) > 3]
    while len(tokens) < size:
        token = g.choice(words) + g.choice(words)
        if token not in known:
            known.add(token)
            tokens.append(token)
    return tokens


class Cutter:
    def __init__(self, tokens):
        self.ids = {token: index for index, token in enumerate(tokens)}
        self.longest = max(map(len, tokens))

    def cut(self, text):
        data, ids, at = text.encode(), [], 0
        while at < len(data):
            size = min(self.longest, len(data) - at)
            while data[at:at + size] not in self.ids:
                size -= 1
            ids.append(self.ids[data[at:at + size]])
            at += size
        return ids


class Times:
    def __init__(self):
        self.values = []

    def measure(self, call):
        start = time.process_time_ns()
        result = call()
        self.values.append((time.process_time_ns() - start) / 1000)
        return result

    def summary(self):
        if not self.values:
            return "-"
        values = sorted(self.values)
        at = [values[int(share * (len(values) - 1))] for share in (0.5, 0.99, 0.999, 1.0)]
        return (f"mean {sum(values) / len(values):8.2f}  p50 {at[0]:8.2f}  p99 {at[1]:8.2f}  p99.9 {at[2]:8.2f}  "
                f"max {at[3]:8.2f} us")


def report(name, refused, compiling, first, later):
    print(f"{name}\nrefused schemas {refused}\ncompile      {compiling.summary()}\nfirst walk   {first.summary()}\n"
          f"later walks  {later.summary()}\n")


def run_llguidance(tokens, cases, cutter):
    import llguidance
    import numpy

    class Vocabulary:
        """What llguidance asks of a tokenizer."""

        def __init__(self):
            self.eos_token_id = len(tokens)
            self.bos_token_id = None
            self.special_token_ids = [len(tokens)]
            self.tokens = [*tokens, b"<|end|>"]

        def __call__(self, text):
            return cutter.cut(text if isinstance(text, str) else text.decode())

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary()))
    mask = numpy.zeros((len(tokens) + 1 + 31) // 32, dtype=numpy.int32)
    refused, compiling, first, later = 0, Times(), Times(), Times()
    for case in cases:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(case["schema"]))
        matcher = compiling.measure(lambda: llguidance.LLMatcher(tokenizer, grammar))
        if matcher.is_error():
            refused += 1
            continue
        for turn in range(3):
            for document in case["documents"]:
                walker = llguidance.LLMatcher(tokenizer, grammar)
                for token in cutter.cut(document):
                    (later if turn else first).measure(
                        lambda: walker.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes))
                    if not walker.consume_token(token):
                        raise SystemExit(f"llguidance does not accept {document}: {walker.get_error()}")
    report(f"llguidance {llguidance.__version__}", refused, compiling, first, later)


def run_xgrammar(tokens, cases, cutter):
    import importlib.metadata

    import xgrammar
    info = xgrammar.TokenizerInfo([*tokens, b""], vocab_type=xgrammar.VocabType.RAW, vocab_size=len(tokens) + 1,
                                  stop_token_ids=[len(tokens)])
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False, max_threads=1)
    mask = xgrammar.allocate_token_bitmask(1, len(tokens) + 1)
    refused, compiling, first, later = 0, Times(), Times(), Times()
    for case in cases:
        try:
            grammar = compiling.measure(lambda: compiler.compile_json_schema(json.dumps(case["schema"])))
        except RuntimeError:
            refused += 1
            continue
        for turn in range(3):
            for document in case["documents"]:
                matcher = xgrammar.GrammarMatcher(grammar)
                for token in cutter.cut(document):
                    (later if turn else first).measure(lambda: matcher.fill_next_token_bitmask(mask))
                    if not matcher.accept_token(token):
                        raise SystemExit(f"xgrammar does not accept {document}")
    report(f"xgrammar {importlib.metadata.version('xgrammar')}", refused, compiling, first, later)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("vocabulary")
    parser.add_argument("--size", type=int, default=248000)
    parser.add_argument("--schemas", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    tokens = read_vocabulary(arguments.vocabulary, arguments.size)
    cases = make_cases(arguments.schemas, arguments.seed)
    cutter = Cutter(tokens)
    positions = sum(len(cutter.cut(document)) for case in cases for document in case["documents"])
    print(f"{len(tokens)} tokens, {len(cases)} schemas, {positions} positions a walk\n")
    with tempfile.NamedTemporaryFile("wb") as vocabulary, tempfile.NamedTemporaryFile("w") as lines:
        vocabulary.writelines(base64.b64encode(token) + f" {index}\n".encode() for index, token in enumerate(tokens))
        lines.writelines(json.dumps(case) + "\n" for case in cases)
        vocabulary.flush()
        lines.flush()
        print("deltaserve")
        print(subprocess.run([arguments.bench, vocabulary.name, lines.name], check=True, text=True,
                             capture_output=True).stdout)
    for run in (run_llguidance, run_xgrammar):
        try:
            run(tokens, cases, cutter)
        except ImportError as missing:
            print(f"{run.__name__[4:]}: not installed ({missing})\n")


if __name__ == "__main__":
    main()
