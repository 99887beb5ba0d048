#!/usr/bin/env python3
"""Compares grammars with Python's `re` and `jsonschema`: random patterns, numbers and schemas.

A text that the grammar accepts has to be valid. A valid text has to be accepted if it is written
the way the grammar writes: properties in their order, no exponents where numbers have limits.
"""
import argparse
import json
import random
import re
import subprocess
import sys
from fractions import Fraction

import jsonschema

PATTERNS = ["abc", "^abc$", "a|b", "(a|b)*c", "[a-c]{2,3}", r"\d+", r"^\w+@\w+\.com$", "x(^a|b)y", "(^|,)a(,|$)",
            r"[^\s]+", "a{3}", "(?:ab)+?c", r"[\]\-a]+", ".", r"\.", r"^\.$", "a*", "(a*)*b", "^(foo|bar)$|^baz",
            "[\u4e00-\u9fa5]{2}", "(a|ab)(c|bcd)(d*)", "^$", "$", "a(?:b|c(?:d|e){2}){1,2}f", "[^a-z]{2}"]
ALPHABET = "abcdefxyz,.@-]\u4e00\u00e9 019AB\n"
NUMBERS = [0, 1, -1, 5, 7, -7, 10, 15, 29, 30, 31, 70, 99, 100, 101, 1000, -1000, 0.5, -0.5, 2.25, 2.5, 0.1, 0.05,
           3.14159, 12.5, -12.75]
WORDS = ["a", "b", "name", "x y", "\u00e9", "k\"q", ""]


def ask(tool, items):
    lines = "".join(json.dumps(item) + "\n" for item in items)
    done = subprocess.run([tool], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def mutate(g, text):
    at = g.randint(0, len(text))
    return text[:at] + g.choice(ALPHABET) + text[at + g.randint(0, 1):]


def check_patterns(tool, g, wrong):
    items = []
    for pattern in PATTERNS:
        texts = ["".join(g.choice(ALPHABET) for _ in range(g.randint(0, 6))) for _ in range(200)]
        texts += ["abc", "aabc", "ababc", "me@x.com", "foo", "bazz", "a,a", "acdf", "accdf", "abcd", "acddef", ""]
        items.append({"kind": "regex", "spec": pattern, "texts": texts})
    for item, answer in zip(items, ask(tool, items)):
        for text, accepted in zip(item["texts"], answer["accepted"]):
            # Python's $ also matches before a last line end; ECMA-262's does not.
            expected = re.fullmatch(item["spec"].replace("$", r"\Z"), text) is not None
            if accepted != expected:
                wrong.append(f"pattern {item['spec']!r} on {text!r}: {accepted}")
    return sum(len(item["texts"]) for item in items)


def number_valid(schema, text):
    """jsonschema's view, with exact arithmetic for multipleOf."""
    rest = {key: value for key, value in schema.items() if key != "multipleOf"}
    if not jsonschema.Draft202012Validator(rest).is_valid(json.loads(text)):
        return False
    factor = schema.get("multipleOf")
    return factor is None or (Fraction(text) / Fraction(str(factor))).denominator == 1


def check_numbers(tool, g, wrong):
    items = []
    for _ in range(1500):
        schema = {"type": g.choice(["number", "integer"])}
        for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]:
            if g.random() < 0.4:
                schema[key] = g.choice(NUMBERS)
        if g.random() < 0.2:
            schema["multipleOf"] = g.choice([1, 2, 3, 7, 10, 0.1, 0.01])
        texts = [json.dumps(number) for number in NUMBERS]
        texts += [str(g.randint(-1200, 1200)) for _ in range(10)] + [f"{g.uniform(-40, 40):.2f}" for _ in range(10)]
        items.append({"kind": "schema", "spec": schema, "texts": texts})
    for item, answer in zip(items, ask(tool, items)):
        accepted = answer.get("accepted", [False] * len(item["texts"]))
        for text, verdict in zip(item["texts"], accepted):
            valid = number_valid(item["spec"], text)
            canonical = "." not in text or item["spec"]["type"] == "number"
            places = text.split(".")[1] if "." in text else ""
            if item["spec"].get("multipleOf") == 0.1 and len(places) > 1:
                canonical = False
            if isinstance(item["spec"].get("multipleOf"), int) and "." in text:
                canonical = False
            if (verdict and not valid) or (valid and canonical and not verdict):
                wrong.append(f"number {item['spec']} on {text}: {verdict}")
    return sum(len(item["texts"]) for item in items)


class Schemas:
    """Random schemas with values that satisfy them by construction, mostly."""

    def __init__(self, g):
        self.g = g

    def make(self, depth=0):
        g = self.g
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "any"]
        if depth < 3:
            kinds += ["array", "object", "object", "anyOf", "allOf", "tuple", "ref", "map"] * 2
        kind = g.choice(kinds)
        return getattr(self, "make_" + kind)(depth)

    def make_string(self, depth):
        schema = {"type": "string"}
        if self.g.random() < 0.3:
            schema["maxLength"] = self.g.randint(0, 5)
        if self.g.random() < 0.3:
            schema["minLength"] = self.g.randint(0, 3)
        if self.g.random() < 0.2:
            schema["pattern"] = self.g.choice(["^a", "[xy]+", "b|^x", "^[ab]{2}"])
        return schema

    def make_integer(self, depth):
        schema = {"type": "integer"}
        if self.g.random() < 0.5:
            schema["minimum"] = self.g.randint(-5, 5)
        if self.g.random() < 0.3:
            schema["exclusiveMaximum"] = self.g.randint(0, 12)
        return schema

    def make_number(self, depth):
        return {"type": "number"}

    def make_boolean(self, depth):
        return {"type": ["boolean", "null"]} if self.g.random() < 0.3 else {"type": "boolean"}

    def make_null(self, depth):
        return {"type": "null"}

    def make_enum(self, depth):
        return {"enum": self.g.sample([1, 2, "a", "b", None, True, [1, "x"], {"q": 1}, 2.5], self.g.randint(1, 4))}

    def make_const(self, depth):
        return {"const": self.g.choice([0, "c", False, ["z"]])}

    def make_any(self, depth):
        return self.g.choice([True, {}])

    def make_array(self, depth):
        schema = {"type": "array", "items": self.make(depth + 1)}
        if self.g.random() < 0.4:
            schema["minItems"] = self.g.randint(0, 2)
        if self.g.random() < 0.4:
            schema["maxItems"] = self.g.randint(0, 3)
        return schema

    def make_tuple(self, depth):
        schema = {"type": "array", "prefixItems": [self.make(depth + 1) for _ in range(self.g.randint(1, 3))]}
        if self.g.random() < 0.6:
            schema["items"] = self.g.choice([False, {"type": "integer"}])
        if self.g.random() < 0.4:
            schema["minItems"] = self.g.randint(0, 3)
        return schema

    def make_object(self, depth):
        names = self.g.sample(WORDS, self.g.randint(1, 4))
        schema = {"type": "object", "properties": {name: self.make(depth + 1) for name in names}}
        schema["required"] = [name for name in names if self.g.random() < 0.5]
        if self.g.random() < 0.3:
            schema["additionalProperties"] = self.g.choice([False, True, {"type": "integer"}])
        if self.g.random() < 0.15:
            schema["minProperties"] = self.g.randint(0, 2)
        if self.g.random() < 0.15:
            schema["maxProperties"] = self.g.randint(1, 3)
        return schema

    def make_map(self, depth):
        schema = {"type": "object", "additionalProperties": self.make(depth + 1)}
        if self.g.random() < 0.5:
            schema["patternProperties"] = {"^a": self.make(depth + 1)}
        if self.g.random() < 0.3:
            schema["propertyNames"] = {"pattern": "^[a-z]*$"}
        return schema

    def make_anyOf(self, depth):
        return {"anyOf": [self.make(depth + 1) for _ in range(self.g.randint(1, 3))]}

    def make_allOf(self, depth):
        return {"allOf": [self.make_object(depth + 1), self.make_object(depth + 1)]}

    def make_ref(self, depth):
        return {"$ref": "#/$defs/tree"}

    def value(self, schema, depth=0):
        """Something near the schema; about half of what comes out is valid."""
        g = self.g
        if g.random() < 0.06 or depth > 8:
            return g.choice([None, 1, "a", [], {}, True, 0.5])
        if schema is True or schema is False or schema == {}:
            return g.choice([1, "x", None, {"a": [1]}, []])
        if "$ref" in schema:
            return {"v": 1, "kids": [self.value(schema, depth + 3) for _ in range(g.randint(0, 2))]}
        if "enum" in schema:
            return g.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        if "anyOf" in schema:
            return self.value(g.choice(schema["anyOf"]), depth)
        if "allOf" in schema:
            merged = {}
            for part in schema["allOf"]:
                value = self.value(part, depth)
                if isinstance(value, dict):
                    merged.update({key: item for key, item in value.items() if key not in merged})
            return merged
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = g.choice(kind)
        if kind == "string":
            return "".join(g.choice("abxy\n\"\u00e9\U0001f600") for _ in range(g.randint(0, 4)))
        if kind == "integer":
            return g.randint(-6, 14)
        if kind == "number":
            return g.choice([0, 1.5, -2.25, 1e20, 3])
        if kind == "boolean":
            return g.random() < 0.5
        if kind == "null":
            return None
        if kind == "array":
            if "prefixItems" in schema:
                items = [self.value(item, depth + 1) for item in schema["prefixItems"]]
                return items[:g.randint(0, len(items))] if g.random() < 0.3 else items + [7] * g.randint(0, 1)
            return [self.value(schema["items"], depth + 1) for _ in range(g.randint(0, 3))]
        result = {}
        for name, item in schema.get("properties", {}).items():
            if name in schema.get("required", []) or g.random() < 0.5:
                result[name] = self.value(item, depth + 1)
        extra = schema.get("additionalProperties")
        if extra not in (None, False):
            for name in g.sample(["zz", "abc", "Q"], g.randint(0, 2)):
                result[name] = self.value(extra, depth + 1)
        return result


TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["v", "kids"], "additionalProperties": False}


def has_extra(schema):
    """Whether an object is closed by default, where JSON Schema itself would leave it open."""
    if isinstance(schema, dict):
        if ("properties" in schema or "required" in schema) and "additionalProperties" not in schema:
            return True
        return any(has_extra(value) for value in schema.values())
    return isinstance(schema, list) and any(has_extra(value) for value in schema)


def check_schemas(tool, g, wrong):
    schemas = Schemas(g)
    items = []
    for _ in range(3000):
        schema = schemas.make()
        values = [schemas.value(schema) for _ in range(12)]
        if not isinstance(schema, dict):
            schema = {"anyOf": [schema]}
        schema = {**schema, "$defs": {"tree": TREE}}
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        items.append({"kind": "schema", "spec": schema, "texts": texts, "values": values})
    counts = {"valid": 0, "accepted": 0, "refused": 0}
    for item, answer in zip(items, ask(tool, [{k: item[k] for k in ("kind", "spec", "texts")} for item in items])):
        validator = jsonschema.Draft202012Validator(item["spec"])
        if "error" in answer:
            counts["refused"] += 1
            if "other limits" in answer["error"]:
                continue
        accepted = answer.get("accepted", [False] * len(item["texts"]))
        for value, text, verdict in zip(item["values"], item["texts"], accepted):
            valid = validator.is_valid(value)
            counts["valid"] += valid
            counts["accepted"] += verdict
            if verdict and not valid:
                wrong.append(f"schema {json.dumps(item['spec'])} accepts {text}")
            elif valid and not verdict and "allOf" not in json.dumps(item["spec"]) and not has_extra(
                    {key: part for key, part in item["spec"].items() if key != "$defs"}) and "e+" not in text:
                wrong.append(f"schema {json.dumps(item['spec'])} refuses {text}: {answer.get('error')}")
    print(counts)
    if counts["accepted"] < 8000:
        wrong.append(f"too few texts were accepted to mean anything: {counts}")
    return 12 * len(items)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    g = random.Random(arguments.seed)
    wrong = []
    count = check_patterns(arguments.tool, g, wrong)
    count += check_numbers(arguments.tool, g, wrong)
    count += check_schemas(arguments.tool, g, wrong)
    for line in wrong[:20]:
        print(line)
    print(f"{count} texts, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
