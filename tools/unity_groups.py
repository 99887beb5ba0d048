#!/usr/bin/env python3
"""Divides the sources of one target into groups that can be compiled as one file each.

Prints `group;source` lines for CMake. Files of a group define no name twice in unnamed namespaces,
which is all that keeps sources of one folder apart. Every file is still compiled alone by the
presets for users and developers: what it includes is checked there.
"""

import re
import sys

# Headers take most of a file's compile time; beyond so many files they are a small part, and larger
# groups would leave cores without work at the end of a build.
MOST_FILES = 8

TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:struct|class|enum(?:\s+class)?|using)\s+(\w+)", re.S)
FUNCTION = re.compile(r"(\w+)\s*\(")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|\{|$)")


def unnamed_namespaces(text):
    """Their statements, without what stands in inner braces."""
    for opening in re.finditer(r"\bnamespace\s*\{", text):
        depth, outer, begin = 1, "", opening.end()
        for brace in re.finditer(r"[{}]", text[begin:]):
            if depth == 1:
                outer += text[begin:opening.end() + brace.start()]
            depth += 1 if brace.group() == "{" else -1
            outer += "{" if depth == 2 and brace.group() == "{" else ";" if depth == 1 else ""
            begin = opening.end() + brace.end()
            if depth == 0:
                break
        yield from outer.split(";")


def names(path):
    """What a file defines in unnamed namespaces, and its macros."""
    with open(path, encoding="utf-8") as file:
        text = TOKENS.sub(lambda token: " " if token[0].startswith("/") else '""', file.read())
    found = set(re.findall(r"#\s*define\s+(\w+)", text))
    for statement in unnamed_namespaces(re.sub(r"^\s*#.*$", "", text, flags=re.M)):
        statement = statement.strip()
        kind = TYPE.match(statement)
        function, variable = FUNCTION.search(statement), VARIABLE.search(statement)
        if kind:
            found.add(kind.group(1))
        elif function and (not variable or function.start() <= variable.start()):
            found.add(function.group(1))
        elif variable:
            found.add(variable.group(1))
    return {name for name in found if not name.startswith(("TEST", "INSTANTIATE_"))}


def main():
    groups = []  # (sources, names)
    for source in sys.argv[1:]:
        own = names(source)
        for sources, taken in groups:
            if len(sources) < MOST_FILES and not own & taken:
                sources.append(source)
                taken |= own
                break
        else:
            groups.append(([source], own))
    for number, (sources, _) in enumerate(groups):
        for source in sources:
            print(f"{number};{source}")


if __name__ == "__main__":
    main()
