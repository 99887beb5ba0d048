"""Formats, schemas and forced tool calls: t8, t9, E27 to E29, E31, E32, F15, F39. What a grammar
forces holds whatever the model would have said, so most prompts here have nothing to do with it."""

import json
import os
import random

import jsonschema
import pytest

from acceptance.prompts import tool, weather_tool
from acceptance.target import TAGS, error_of

check = pytest.mark.check
extension = pytest.mark.extension
fault = pytest.mark.fault
model = pytest.mark.model
policy = pytest.mark.policy

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}
NESTED = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8},
                 "minItems": 1, "maxItems": 3},
        "owner": {"anyOf": [{"$ref": "#/$defs/owner"}, {"type": "null"}]},
        "size": {"type": "number", "minimum": 0, "exclusiveMaximum": 10},
    },
    "required": ["kind", "tags", "owner", "size"], "additionalProperties": False,
    "$defs": {"owner": {"type": "object", "properties": {"id": {"type": "string",
                                                                "pattern": "^[a-z]{2}-[0-9]+$"}},
                        "required": ["id"], "additionalProperties": False}},
}
ALICE = ["Give me a JSON object with name Alice and age 30.",
         "Return JSON for a person: name Alice, age 30."]


def schema(value):
    return {"type": "json_schema",
            "json_schema": {"name": "person", "schema": value, "strict": True}}


def is_free_of_tags(answer):
    return not any(tag in answer.text() + answer.reasoning() for tag in TAGS)


@check("t8")
@extension("E27")
@fault("F15")
@model
@pytest.mark.parametrize("question", ALICE)
@pytest.mark.parametrize("thinking", [False, True])
def test_t8_json_object(target, switch, question, thinking):
    fields = {"response_format": {"type": "json_object"}, "temperature": 0, "max_tokens": 400}
    whole, streamed = target.both(question, **fields, **switch(thinking))
    value = json.loads(whole.check().text())
    assert value["name"] == "Alice" and value["age"] == 30 and isinstance(value["age"], int)
    assert bool(whole.reasoning()) == thinking and whole.finish() == "stop"
    assert whole.meaning() == streamed.meaning()


@check("t9")
@extension("E27")
@fault("F15")
@model
@pytest.mark.parametrize("question", ALICE)
@pytest.mark.parametrize("thinking", [False, True])
def test_t9_json_schema(target, switch, question, thinking):
    answer = target.chat(question, response_format=schema(PERSON), temperature=0, max_tokens=400,
                         **switch(thinking))
    assert json.loads(answer.check().text()) == {"name": "Alice", "age": 30}
    assert bool(answer.reasoning()) == thinking


@extension("E28")
@pytest.mark.parametrize("thinking", [False, True])
def test_e28_strict_schema(target, switch, thinking):
    fields = {"response_format": schema(NESTED), "temperature": 1, "seed": 1, "n": 8,
              "max_tokens": 600}
    whole, streamed = target.both("hi", **fields, **switch(thinking))
    assert whole.check().meaning() == streamed.meaning()
    finished = [index for index in range(8) if whole.finish(index) == "stop"]
    assert len(finished) >= 2
    for index in finished:
        jsonschema.validate(json.loads(whole.text(index)), NESTED)


@extension("E28")
def test_e28_with_stop_strings_logprobs_and_penalties(target, off):
    answer = target.chat("hi", response_format=schema(PERSON), stop=["zzzz"], logprobs=True,
                         top_logprobs=2, frequency_penalty=1.5, temperature=0, max_tokens=200,
                         **off).check()
    jsonschema.validate(json.loads(answer.text()), PERSON)
    entries = answer.choice()["logprobs"]["content"]
    assert b"".join(bytes(e["bytes"] or []) for e in entries).decode() == answer.text()


def deep_schema(depth):
    value = {"type": "string"}
    for _ in range(depth):
        value = {"type": "array", "items": value}
    return value


@extension("E29")
@policy
@pytest.mark.parametrize("value", [
    {"type": "strng"}, {"$ref": "#/$defs/none"}, {"not": {}}, {"type": "array", "contains": {}},
    {"type": "string", "pattern": "("}, {"type": "string", "format": "colour"}, deep_schema(90)])
def test_e29_bad_schemas(target, value):
    for stream in (False, True):
        response = target.ask("hi", response_format=schema(value), stream=stream, max_tokens=20)
        if value == deep_schema(90):
            assert response.status_code in (200, 400)
        else:
            error = error_of(response, 400)
            assert error["param"].startswith("response_format"), error
    assert target.chat("hi", max_tokens=2).token_count() > 0


@extension("E29")
def test_e29_schema_deeper_than_any_body(target):
    body = b'{"messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"x",' + \
        b'"schema":' + b'{"items":' * 2000 + b"{}" + b"}" * 2003
    response = target.http.post("/v1/chat/completions", content=body,
                                headers={"Content-Type": "application/json"})
    error_of(response, 400)


BOOK = tool("book", {"seats": {"type": "integer", "minimum": 1, "maximum": 4},
                     "class": {"type": "string", "enum": ["first", "second"]},
                     "note": {"type": "string"}}, ["seats", "class"])


@extension("E31")
@fault("F39")
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("question", ["Hello!", "Tell me a short story."])
def test_e31_required_call(target, switch, question, thinking):
    fields = {"tools": [weather_tool(), BOOK], "tool_choice": "required", "temperature": 0,
              "max_tokens": 600}
    whole, streamed = target.both(question, **fields, **switch(thinking))
    assert whole.check().finish() == "tool_calls" and whole.calls()
    assert not whole.text() and bool(whole.reasoning()) == thinking
    parameters = {"get_weather": weather_tool()["function"]["parameters"],
                  "book": BOOK["function"]["parameters"]}
    for name, arguments in whole.call_list():
        jsonschema.validate(arguments, parameters[name])
    assert whole.meaning() == streamed.meaning()


@extension("E32")
@fault("F39")
@pytest.mark.parametrize("thinking", [False, True])
def test_e32_named_call(target, switch, thinking):
    choice = {"type": "function", "function": {"name": "book"}}
    answer = target.chat("Hello!", tools=[weather_tool(), BOOK], tool_choice=choice, temperature=1,
                         seed=1, n=6, max_tokens=400, **switch(thinking)).check()
    finished = [index for index in range(6) if answer.finish(index) == "tool_calls"]
    assert len(finished) >= 2
    for index in finished:
        assert [name for name, _ in answer.call_list(index)] == ["book"]
        jsonschema.validate(answer.call_list(index)[0][1], BOOK["function"]["parameters"])
        assert bool(answer.reasoning(index)) == thinking


@extension("E32")
@pytest.mark.parametrize("fields", [{"tools": [weather_tool()]}, {}])
def test_e32_unknown_function(target, fields):
    choice = {"type": "function", "function": {"name": "unknown"}}
    error = error_of(target.ask("hi", tool_choice=choice, **fields), 400)
    assert error["param"] == "tool_choice"


@policy
@pytest.mark.parametrize("rule, valid", [
    ({"choice": ["yes", "no"]}, lambda text: text in ("yes", "no")),
    ({"regex": "[a-c]{3}-[0-9]{2}"}, lambda text: len(text) == 6 and text[3] == "-"),
    ({"grammar": 'root ::= "<" [xyz]{2,4} ">"'}, lambda text: text[0] == "<" and text[-1] == ">"),
    ({"json": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
     lambda text: isinstance(json.loads(text), list))])
@pytest.mark.parametrize("thinking", [False, True])
def test_structured_outputs(target, switch, rule, valid, thinking):
    answer = target.chat("Hello!", structured_outputs=rule, temperature=0, max_tokens=300,
                         **switch(thinking)).check()
    assert answer.finish() == "stop" and valid(answer.text()), answer.text()
    assert is_free_of_tags(answer)


# 1,000 take minutes and are run by hand: see docs/performance.md.
RANDOM_SCHEMAS = int(os.environ.get("DELTASERVE_RANDOM_SCHEMAS", "60"))


def test_random_schemas_give_valid_documents(target, off):
    """Every answer is valid if it ends by itself; else it has come to max_tokens."""
    g = random.Random(4)

    def make(depth):
        kinds = ["string", "integer", "number", "boolean", "null", "enum"]
        kind = g.choice(kinds + (["array", "object"] if depth < 2 else []))
        if kind == "enum":
            return {"enum": g.sample(["red", "blue", 1, 2.5, None, False], g.randint(1, 3))}
        if kind == "string":
            return {"type": "string", "maxLength": g.randint(1, 12)}
        if kind == "integer":
            return {"type": "integer", "minimum": g.randint(-9, 0), "maximum": g.randint(1, 99)}
        if kind == "array":
            return {"type": "array", "items": make(depth + 1), "maxItems": g.randint(0, 3)}
        if kind == "object":
            names = g.sample(["a", "id", "name", "x y", "\u00e9"], g.randint(1, 3))
            return {"type": "object", "properties": {name: make(depth + 1) for name in names},
                    "required": [name for name in names if g.random() < 0.6],
                    "additionalProperties": False}
        return {"type": kind}

    finished = 0
    for seed in range(RANDOM_SCHEMAS):
        value = make(0)
        answer = target.chat("hi", response_format=schema(value), temperature=1, seed=seed,
                             max_tokens=150, **off).check()
        assert answer.finish() in ("stop", "length")
        if answer.finish() == "stop":
            finished += 1
            jsonschema.validate(json.loads(answer.text()), value)
    print(f"{RANDOM_SCHEMAS} schemas: {finished} valid documents, {RANDOM_SCHEMAS - finished} cut at max_tokens")
    assert finished * 3 >= RANDOM_SCHEMAS * 2
