"""Compares deltaserve's tokenizer with Hugging Face `tokenizers` over random text.

    oracle_tokenizer.py TEXT_ENCODE_TOOL [MODEL_DIRECTORY] [--count N] [--seed N] [--every-code-point]
"""

import argparse
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Tokenizer

import samples
import tokenizer_cases


class Tool:
    """Runs the C++ program over many records."""

    def __init__(self, program, directory):
        self.command = [program, str(directory)]

    def run(self, records):
        data = b"".join(kind + struct.pack("<I", len(body)) + body for kind, body in records)
        done = subprocess.run(self.command, input=data, stdout=subprocess.PIPE, check=True)
        lines = done.stdout.decode().split("\n")
        assert len(lines) == len(records) + 1, (len(lines), len(records))
        return lines[:-1]


def check(name, inputs, expected, lines, show=repr):
    wrong = [i for i in range(len(inputs)) if lines[i] != expected[i]]
    for i in wrong[:5]:
        print(f"{name}: {show(inputs[i])}\n  library    {expected[i]}\n  deltaserve {lines[i]}")
    if wrong:
        sys.exit(f"{name}: {len(wrong)} of {len(inputs)} differ")
    print(f"{name}: {len(inputs)} equal")


def ids_line(ids):
    return " ".join(map(str, ids))


def check_texts(name, tool, library, inputs):
    """`inputs` are bytes; invalid UTF-8 is what Python makes of it."""
    lines = tool.run([(b"e", data) for data in inputs])
    expected = [ids_line(library.encode(data.decode(errors="replace")).ids) for data in inputs]
    check(name, inputs, expected, lines)


def without_added_tokens(library):
    file = json.loads(library.to_str())
    file["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(file))


def span_ids(library, bare, spans):
    """What spans must give, for added tokens without flags: literals of allowed spans stand for
    themselves, all between is one ordinary text."""
    tokens = {t.content: i for i, t in library.get_added_tokens_decoder().items()}
    by_length = sorted(tokens, key=len, reverse=True)
    literal = re.compile("|".join(map(re.escape, by_length)))
    ids, ordinary = [], ""
    for allowed, text in spans:
        done = 0
        for match in literal.finditer(text) if allowed else ():
            ids += bare.encode(ordinary + text[done : match.start()]).ids + [tokens[match.group()]]
            ordinary, done = "", match.end()
        ordinary += text[done:]
    return ids + bare.encode(ordinary).ids


def check_spans(name, tool, library, literals, rng, count):
    bare = without_added_tokens(library)
    cases = []
    for _ in range(count):
        cases.append([(rng.random() < 0.5, samples.text(rng, literals)[: rng.randint(0, 30)])
                      for _ in range(rng.randint(0, 5))])
    records = [(b"s", b"".join(bytes([allowed]) + struct.pack("<I", len(text.encode())) + text.encode()
                               for allowed, text in spans)) for spans in cases]
    check(name + ", spans", cases, [ids_line(span_ids(library, bare, s)) for s in cases],
          tool.run(records))


def check_decoding(name, tool, library, rng, count):
    size = library.get_vocab_size(with_added_tokens=True)
    added = list(library.get_added_tokens_decoder())
    cases = []
    for _ in range(count):
        ids = [rng.randrange(size + 3) for _ in range(rng.randint(0, 12))]
        if added and rng.random() < 0.5:
            ids.insert(rng.randint(0, len(ids)), rng.choice(added))
        cases.append(ids)
    expected = []
    for ids in cases:
        texts = [library.decode(ids, skip_special_tokens=skip).encode().hex() for skip in (False, True)]
        expected.append("".join(f".{text} .{text} " for text in texts))
    records = [(b"d", struct.pack(f"<{len(ids)}i", *ids)) for ids in cases]
    check(name + ", decoding", cases, expected, tool.run(records))


def long_words(rng):
    yield from ("a" * n for n in (127, 128, 129, 500, 20000))
    for _ in range(20):
        yield "".join(rng.choice("abc") for _ in range(rng.randint(100, 3000)))
    for _ in range(20):
        yield "".join(rng.choice("的了中文分词服务器模型") for _ in range(rng.randint(30, 600)))
    yield "a" + "".join(rng.choice(samples.MARKS) for _ in range(3000))
    yield "\u1100\u1161\u11a8" * 500 + " " * 3000 + "\n" * 200 + "!" * 1000 + "1" * 50


def every_code_point():
    """Each code point after and before letters, digits, spaces, symbols and marks."""
    block = []
    for c in range(0x110000):
        if 0xD800 <= c <= 0xDFFF:
            continue
        x = chr(c)
        block.append(f"a{x}b {x}{x}1{x}.{x}\n{x} e{x}\u0301\u0316'{x}'s \u0f40{x}\u0f71 ")
        if len(block) == 32:
            yield "".join(block).encode()
            block = []
    yield "".join(block).encode()


def check_tokenizer(name, program, directory, library, args, rng):
    tool = Tool(program, directory)
    literals = [token.content for token in library.get_added_tokens_decoder().values()]
    count = args.count
    texts = [samples.text(rng, literals).encode() for _ in range(count)]
    check_texts(name, tool, library, texts)
    check_texts(name + ", invalid UTF-8", tool, library,
                [samples.broken_bytes(rng, literals) for _ in range(count // 4)])
    check_texts(name + ", long words", tool, library, [text.encode() for text in long_words(rng)])
    check_texts(name + ", few letters", tool, library, [
        "".join(rng.choice(letters) for _ in range(rng.randint(1, 60))).encode()
        for letters in ("abc' ", "的了一 a", "的皅甅了", "éèя的a𠀀") for _ in range(count // 8)])
    plain = all(not (t.lstrip or t.rstrip or t.single_word or t.normalized)
                for t in library.get_added_tokens_decoder().values())
    if plain and literals:
        check_spans(name, tool, library, literals, rng, count // 4)
    check_decoding(name, tool, library, rng, count // 4)
    if args.every_code_point:
        check_texts(name + ", every code point", tool, library, list(every_code_point()))


def load_directory(directory):
    """The tokenizer of a checkpoint, with the added tokens that only its config names."""
    library = Tokenizer.from_file(str(directory / "tokenizer.json"))
    config_path = directory / "tokenizer_config.json"
    config = json.loads(config_path.read_text()) if config_path.exists() else {}
    entries = sorted(config.get("added_tokens_decoder", {}).items(), key=lambda item: int(item[0]))
    for token_id, entry in entries:
        content = entry.pop("content")
        library.add_tokens([AddedToken(content, **entry)])
        assert library.token_to_id(content) == int(token_id), (content, token_id)
    return library


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model", nargs="?", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every-code-point", action="store_true")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    for name, library, config_tokens in tokenizer_cases.build():
        with tempfile.TemporaryDirectory() as folder:
            directory = pathlib.Path(folder)
            (directory / "tokenizer.json").write_text(library.to_str())
            first = library.get_vocab_size(with_added_tokens=True)
            entries = {str(first + i): tokenizer_cases.config_entry(token)
                       for i, token in enumerate(config_tokens)}
            (directory / "tokenizer_config.json").write_text(
                json.dumps({"added_tokens_decoder": entries}))
            check_tokenizer(name, args.program, directory, load_directory(directory), args, rng)
    if args.model and (args.model / "tokenizer.json").exists():
        check_tokenizer("models/tiny", args.program, args.model, load_directory(args.model), args, rng)


if __name__ == "__main__":
    main()
