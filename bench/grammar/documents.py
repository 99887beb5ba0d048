#!/usr/bin/env python3
"""Random schemas answered by a model on the grammar: every answer that ends by itself has to be valid.

    python bench/grammar/documents.py BENCH_GRAMMAR_DOCUMENTS MODEL --grammar-lines GRAMMAR_LINES

The schemas are those of tools/oracles/grammar_compare.py. Answers cut at max_tokens count as such and are no error.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "oracles"))
import grammar_compare  # noqa: E402


def make_schemas(count, tool, seed):
    """Schemas that some value satisfies and that the grammar keeps; the others are answered with 400."""
    made = grammar_compare.Schemas(random.Random(seed))
    schemas = []
    while len(schemas) < count:
        candidates = [schema if isinstance(schema, dict) else {"anyOf": [schema]}
                      for schema in (made.make() for _ in range(count))]
        candidates = [{**schema, "$defs": {"tree": grammar_compare.TREE}} for schema in candidates]
        answers = grammar_compare.ask(tool, [{"kind": "schema", "spec": s, "texts": []} for s in candidates])
        schemas += [schema for schema, answer in zip(candidates, answers) if "error" not in answer]
    return schemas[:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("model")
    parser.add_argument("--grammar-lines", required=True, help="the oracle's tool, to leave out what is refused")
    parser.add_argument("--schemas", type=int, default=1000)
    parser.add_argument("--max-tokens", type=int, default=150)
    parser.add_argument("--seed", type=int, default=4)
    arguments = parser.parse_args()
    schemas = make_schemas(arguments.schemas, arguments.grammar_lines, arguments.seed)
    lines = "".join(json.dumps(schema) + "\n" for schema in schemas)
    # An answer that is cut may end within a character.
    done = subprocess.run([arguments.bench, arguments.model, str(arguments.max_tokens)], input=lines, text=True,
                          encoding="utf-8", errors="replace", capture_output=True, check=True)
    counts, wrong = {"stop": 0, "length": 0}, []
    for schema, line in zip(schemas, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        counts[answer["finish"]] = counts.get(answer["finish"], 0) + 1
        if answer["finish"] == "stop":
            try:
                jsonschema.Draft202012Validator(schema).validate(json.loads(answer["text"]))
            except ValueError as error:
                wrong.append(f"{json.dumps(schema)}: {answer['text']!r}: {error}")
            except jsonschema.ValidationError as error:
                wrong.append(f"{json.dumps(schema)}: {answer['text']!r}: {error.message}")
        elif answer["finish"] != "length":
            wrong.append(f"{json.dumps(schema)}: {answer['finish']}")
    for line in wrong[:20]:
        print(line)
    print(f"{len(schemas)} schemas: {counts['stop']} documents, {counts['length']} cut at max_tokens, "
          f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
