#!/usr/bin/env python3
"""Compares the server's template interpreter with jinja2: the same templates and variables through
both, equal text, or an error on both sides. Exit status 1 and the first differences if they differ.

  chat_jinja_compare.py --tool build/release/bin/chat_render_lines --templates tests/data/chat/templates
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

import chat_conversations
import chat_expressions
from chat_jinja_env import make_environment, render

# Python prints an address or a class there.
UNCOMPARABLE = re.compile(r"<(function|built-in|bound|generator|jinja2|list_reverse|reversed|dict_reverse|map object|class|itertools|method|range_iter|str_)|object at 0x|^<[a-z_]+ object")


def cases(arguments):
    for folder in arguments.templates:
        for path in sorted(pathlib.Path(folder).glob("*.jinja")):
            source = path.read_text(encoding="utf-8")
            for variables in chat_conversations.make(path.name, arguments.conversations):
                yield path.name, source, variables
    for source in chat_expressions.make(arguments.seed, arguments.expressions, arguments.blocks):
        yield "random", source, chat_expressions.VARIABLES


def answers(tool, lines):
    result = subprocess.run([tool], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{tool} ended with {result.returncode}: {result.stderr[-2000:]}")
    return [json.loads(line) for line in result.stdout.split("\n") if line]


def check_spans(answer):
    end = 0
    for begin, stop, _ in answer["spans"]:
        if begin != end or stop <= begin:
            return False
        end = stop
    return end == len(answer["text"].encode())


def outside_scope(ours, theirs):
    """Python's complex numbers, the Markup strings of HTML templates, names of Python's own classes."""
    words = ("markupsafe", "Markup(", "iterator object", "_GroupTuple object")
    return "complex numbers" in ours.get("error", "") or any(word in theirs[1] for word in words)


def difference(ours, theirs):
    """None, or what differs. Messages are compared where the template or jinja2 words them."""
    if theirs[0] == "text":
        if UNCOMPARABLE.search(theirs[1]):
            return None
        if "error" in ours:
            return f"error: {ours['error']}\n  jinja2 text: {theirs[1]!r}"
        if ours["text"] != theirs[1]:
            return f"text:   {ours['text']!r}\n  jinja2: {theirs[1]!r}"
        return None if check_spans(ours) else f"spans: {ours['spans']}"
    if "error" not in ours:
        return f"text: {ours['text']!r}\n  jinja2 error: {theirs[1]}"
    if theirs[2] and not ours["error"].startswith(theirs[1]):
        return f"error:  {ours['error']}\n  jinja2: {theirs[1]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--templates", action="append", default=[])
    parser.add_argument("--conversations", type=int, default=120, help="for each template file")
    parser.add_argument("--expressions", type=int, default=6000)
    parser.add_argument("--blocks", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differences to print")
    arguments = parser.parse_args()

    environment, cache = make_environment(), {}
    work = list(cases(arguments))
    ours = answers(arguments.tool, [json.dumps({"template": s, "variables": v}) for _, s, v in work])
    if len(ours) != len(work):
        sys.exit(f"{len(work)} cases, {len(ours)} answers")
    counts, differences = collections.Counter(), []
    for (name, source, variables), answer in zip(work, ours):
        theirs = render(environment, cache, source, variables)
        counts[name, theirs[0]] += 1
        found = None if outside_scope(answer, theirs) else difference(answer, theirs)
        if found:
            differences.append((name, source, variables, found))
    for name, source, variables, found in differences[: arguments.show]:
        shown = source if name == "random" else json.dumps(variables, ensure_ascii=False)[:1500]
        print(f"--- {name}\n  {shown}\n  {found}")
    for name in sorted({name for name, _ in counts}):
        print(f"{name}: {counts[name, 'text']} texts, {counts[name, 'error']} errors")
    print(f"{len(work)} cases, {len(differences)} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
