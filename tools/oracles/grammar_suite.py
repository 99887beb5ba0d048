#!/usr/bin/env python3
"""Compiles the schemas of the public JSON-Schema-Test-Suite (draft 2020-12) and tries its documents on them.

A document that the grammar accepts has to be valid. A valid one has to be accepted in some order of its keys,
written without exponents and integers without a point. A schema that is refused has to be told why: the message
names its place and a keyword, `$ref` or format. The suite is part of jsonschema's source package, which pip fetches
into --cache once, in the version below.
"""
import argparse
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
from collections import Counter
from decimal import Decimal

PACKAGE = "jsonschema"
VERSION = "4.26.0"
MAX_ORDERS = 120  # of the keys of one document
# Schemas of other documents, of vocabularies of their own, and formats that are annotations only: here they hold.
NOT_OURS = {"refRemote", "vocabulary", "format"}
# Valid texts that the patterns of formats leave out on purpose, because readers of the field refuse them.
RARE_FORMS = ("leap second", "case-insensitive", "a quoted string", "address-literal", "many special characters")
NEEDED_FORMATS = {"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri",
                  "json-pointer"}


def fetch(cache):
    archive = pathlib.Path(cache) / f"{PACKAGE}-{VERSION}.tar.gz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE,
                        f"{PACKAGE}=={VERSION}", "--dest", str(cache)], check=True)
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            found = re.fullmatch(r"[^/]+/json/tests/draft2020-12/((?:optional/format/)?[\w-]+)\.json", member.name)
            if found:
                files[found[1]] = json.load(tar.extractfile(member), parse_float=Decimal)
    return files


def orders(value):
    """The value with its keys in every order, as far as MAX_ORDERS goes."""
    if isinstance(value, dict):
        parts = [[(key, item) for item in orders(value[key])] for key in value]
        for order in itertools.permutations(range(len(parts))):
            for chosen in itertools.product(*(parts[i] for i in order)):
                yield dict(chosen)
    elif isinstance(value, list):
        yield from map(list, itertools.product(*(list(itertools.islice(orders(item), MAX_ORDERS)) for item in value)))
    else:
        yield value


def text_of(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(key)}: {text_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, Decimal):
        return format(value.to_integral_value() if value == value.to_integral_value() else value, "f")
    return json.dumps(value, ensure_ascii=False)


def opened(schema):
    """The schema with what JSON Schema means said: objects that name properties may have others."""
    if isinstance(schema, list):
        return [opened(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: item if key in ("const", "enum") else opened(item) for key, item in schema.items()}
    says = {"properties", "required", "patternProperties"} & schema.keys()
    is_schema = all(isinstance(schema[key], list if key == "required" else dict) for key in says)
    if says and is_schema and "additionalProperties" not in schema:
        result["additionalProperties"] = True
    return result


def plain(schema):
    return json.loads(json.dumps(schema, default=float))


def ask(tool, items):
    lines = "".join(json.dumps(item) + "\n" for item in items)
    done = subprocess.run([tool], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def items_of(files):
    for name, groups in sorted(files.items()):
        base = name.split("/")[-1]
        if name in NOT_OURS or ("/" in name and base not in NEEDED_FORMATS):
            continue
        for group in groups:
            for test in group["tests"]:
                texts = [text_of(value) for value in itertools.islice(orders(test["data"]), MAX_ORDERS)]
                for schema in (group["schema"], opened(group["schema"])):
                    yield {"name": f"{name}: {group['description']}: {test['description']}", "texts": texts,
                           "spec": plain(schema), "valid": test["valid"], "open": schema is not group["schema"],
                           "file": name}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--verbose", action="store_true", help="print every refusal")
    arguments = parser.parse_args()
    items = list(items_of(fetch(arguments.cache)))
    answers = ask(arguments.tool, [{"kind": "schema", "spec": i["spec"], "texts": i["texts"]} for i in items])
    counts, refusals, wrong = Counter(), Counter(), []
    for item, answer in zip(items, answers, strict=True):
        if "error" in answer:
            unsatisfiable = answer["error"].startswith(("The schema cannot", "No text can"))
            counts["refused"] += not unsatisfiable
            if unsatisfiable and not item["valid"]:
                continue
            refusals[answer["error"]] += 1
            if unsatisfiable or not re.search(r"^Schema at .*: .*('|regular expression|pattern|properties)", answer["error"]):
                wrong.append(f"{item['name']}: {answer['error']}")
            continue
        accepted = any(answer["accepted"])
        counts["accepted" if accepted else "not accepted"] += 1
        if accepted and not item["valid"]:
            wrong.append(f"{item['name']}: accepts {item['texts'][0]} for {json.dumps(item['spec'])}")
        rare = item["file"].startswith("optional") and any(form in item["name"] for form in RARE_FORMS)
        if item["valid"] and not accepted and item["open"] and not rare:
            wrong.append(f"{item['name']}: refuses {item['texts'][0]} for {json.dumps(item['spec'])}")
    if arguments.verbose:
        for message, count in refusals.most_common():
            print(f"{count:5} {message}")
    for line in wrong:
        print(line)
    print(f"{len(items)} documents: {dict(counts)}, {len(wrong)} differences")
    return 1 if wrong or counts["accepted"] < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
