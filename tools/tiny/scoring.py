"""Decide whether an answer fulfils what a held-out conversation expects."""

import json
import re


def split_thinking(text, thinking):
    """(reasoning, visible text, well formed) of raw output that starts inside the thought when thinking is on."""
    text = text.removeprefix("<think>")
    if "</think>" in text:
        reasoning, _, visible = text.partition("</think>")
        return reasoning.strip(), visible.strip(), True
    return ("", text.strip(), True) if not thinking else (text.strip(), "", False)


def parse_value(text, schema):
    """A parameter value by its schema."""
    kind = schema.get("type")
    if "anyOf" in schema:
        kind = [option.get("type") for option in schema["anyOf"]]
    if kind == "string":
        return text
    if isinstance(kind, list) and text != "null":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_calls(text, tools):
    """Calls of the XML form as [(name, arguments)]."""
    calls = []
    for name, body in re.findall(r"<tool_call>\n<function=([^>]+)>\n(.*?)</function>\n</tool_call>", text, re.S):
        properties = next((tool["function"]["parameters"].get("properties", {}) for tool in tools if tool["function"]["name"] == name), {})
        calls.append((name, {key: parse_value(value, properties.get(key, {})) for key, value in re.findall(r"<parameter=([^>]+)>\n(.*?)\n</parameter>\n", body, re.S)}))
    return calls


def numbers_in(text):
    """All integers in a text, thousands separators removed."""
    return [int(number) for number in re.findall(r"-?\d+", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))]


def fulfilled(expect, visible, calls):
    """Whether the visible text or the calls are what was expected."""
    kind, low = expect[0], visible.lower()
    if kind == "calls":
        return [[name, arguments] for name, arguments in calls] == [[name, arguments] for name, arguments in expect[1]]
    if calls:
        return False
    if kind == "chat":
        return 0 < len(visible) < 400
    if kind == "contains":
        return all(str(part).strip() in visible for part in expect[1])
    if kind == "contains_ci":
        return all(str(part).lower() in low for part in expect[1])
    if kind in ("number", "number_last"):
        found = numbers_in(visible)
        return bool(found) and found[-1] == expect[1]
    if kind == "ends":
        return visible.endswith(expect[1])
    if kind == "starts":
        return visible.startswith(expect[1])
    if kind == "upper":
        return visible == visible.upper()
    if kind == "lower":
        return visible == visible.lower()
    if kind == "json":
        try:
            return json.loads(visible) == expect[1]
        except ValueError:
            return False
    if kind == "repeats":
        return abs(visible.count(expect[1]) - expect[2]) <= max(1, expect[2] // 5)
    if kind == "story":
        return len(visible) > 150 and visible[-1] in ".!\"" and expect[1].lower() in low
    if kind == "order":
        places = [low.find(part) for part in expect[1]]
        return min(places) >= 0 and places == sorted(places)
    raise ValueError(kind)


def judge(sample, text, ended):
    """Score raw output of the model."""
    reasoning, visible, closed = split_thinking(text, sample.thinking)
    calls = parse_calls(visible, sample.tools)
    formed = ended and closed and bool(reasoning) == sample.thinking
    return formed and fulfilled(sample.expect, visible, calls)
