"""Kinds of faults that users reported of servers' output parsers, with inputs of our own: raw model
text through `deltaserve parse`, whole and one character at a time as deltas. Both must say the same.
(The unit tests of the parser cut at every byte and feed token ids.)"""

import json
import subprocess

import pytest

from acceptance.prompts import tool
from acceptance.target import TAGS

pytestmark = pytest.mark.local


def call(name, **values):
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>"


STRING = {"type": "string"}
TOOLS = [
    tool("get_time", {}), tool("read", {"path": STRING, "lines": {"type": "integer"}}),
    tool("post", {"body": {"type": "object"}}), tool("find", {"city": STRING, "zip": STRING}),
    tool("glob", {"p": STRING}), tool("cal.list-events", {}), tool("mcp__a-b__c", {"x": STRING}),
    tool("flag", {"on": {"type": "boolean"}, "maybe": {"type": ["boolean", "null"]},
                  "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                  "limit": {"type": "integer", "nullable": True}, "text": STRING,
                  "ref": {"$ref": "#/$defs/number"}}),
]
TOOLS[-1]["function"]["parameters"]["$defs"] = {"number": {"type": "number"}}


def case(fault, text, content="", reasoning="", calls=(), thinking=False, tools=True,
         finish="stop", ends=None, name=None):
    expected = (reasoning, content, list(calls), ends or ("tool_calls" if calls else "stop"))
    return pytest.param(text, thinking, tools, finish, expected, marks=pytest.mark.fault(fault),
                        id=f"{fault}-{name or text[:24]!r}")


def on(fault, text, **expected):
    return case(fault, text, thinking=True, **expected)


CASES = [
    on("F01", "sum is 9</think>\n\n9", reasoning="sum is 9", content="9"),
    on("F01", "<think>\nsum is 9</think>\n\n9", reasoning="sum is 9", content="9"),
    on("F02", "let me see", reasoning="let me see", finish="length", ends="length"),
    on("F02", "let me see</thi", reasoning="let me see</thi", finish="length", ends="length"),
    case("F03", "Berlin.", content="Berlin."), case("F03", "Bonn.", content="Bonn.", tools=False),
    case("F04", "<think>\nhm\n</think>\n\n4", content="4", reasoning="hm"),
    case("F07", "A <think> B END", content="A <think> B END", tools=False),
    on("F08", "plan</think>\n\nstop now.</think>\n\n4", reasoning="plan",
       content="stop now.\n\n4", name="second closer"),
    on("F08", "plan</think></think>\n\n4", reasoning="plan", content="4", name="closed twice"),
    on("F10", "plan</think>\n\n" + call("get_time"), reasoning="plan", calls=[("get_time", {})]),
    on("F12", "need time " + call("get_time"), reasoning="need time", calls=[("get_time", {})]),
    on("F12", "say " + call("get_time") + " or so",
       reasoning="say " + call("get_time") + " or so", name="not last"),
    on("F12", "say " + call("nobody"), reasoning="say " + call("nobody"), name="undeclared"),
    on("F12", "say <tool_call>\n<function=get_time>",
       reasoning="say <tool_call>\n<function=get_time>", name="not whole"),
    on("F14", "the four of them</think>\n\nfour", reasoning="the four of them", content="four"),
    on("F16", 'e.\n</think>{"l', reasoning="e.", content='{"l'),
    on("F17", "a sample is\n<|im_end|>", reasoning="a sample is"),
    case("F20", '<tool_call>\n<function=post>\n<parameter=body>\n{"on":true}\n</function>\n'
         "</tool_call>",
         calls=[("post", {"body": {"on": True}})]),
    case("F21", "<tool_call>\n<function=find>\n<parameter=city>\nUlm\n<parameter=zip>\n89073\n"
         "</parameter>\n</function>\n</tool_call>",
         calls=[("find", {"city": "Ulm", "zip": "89073"})]),
    case("F23", call("get_time"), calls=[("get_time", {})]),
    case("F24", call("find", city='a}b{"', zip="{{x}}"),
         calls=[("find", {"city": 'a}b{"', "zip": "{{x}}"})]),
    case("F26", "<tool_call>\n<function=glob>\n<parameter=p>\ntail</parameter>\n</function>\n"
         "</tool_call>", calls=[("glob", {"p": "tail"})]),
    case("F26", call("glob", p="tail</par"), calls=[("glob", {"p": "tail</par"})], name="data"),
    *[case("F28", call("flag", on=text), calls=[("flag", {"on": value})], name=text)
      for text, value in (("True", True), ("FALSE", False), ("maybe", "maybe"), ("false", False))],
    case("F29", call("flag", maybe="false"), calls=[("flag", {"maybe": False})]),
    case("F29", call("flag", maybe="null"), calls=[("flag", {"maybe": None})], name="null"),
    case("F32", call("flag", count="None"), calls=[("flag", {"count": None})], name="None"),
    case("F32", call("flag", limit="None"), calls=[("flag", {"limit": None})], name="nullable"),
    case("F32", call("flag", ref="1.5"), calls=[("flag", {"ref": 1.5})], name="reference"),
    *[case("F32", call("flag", text=text), calls=[("flag", {"text": text})], name=text)
      for text in ("null", "42", '{"a":1}', "True")],
    case("F33", "I'll look.\n\n<function=glob>\n<parameter=p>\n*.md\n</parameter>\n</function>\n"
         "</tool_call>", content="I'll look.", calls=[("glob", {"p": "*.md"})]),
    case("F33", "a\n<function=unknown>\n</function>\nb",
         content="a\n<function=unknown>\n</function>\nb", name="undeclared"),
    case("F33", "I'll look.\n\n<function=glob>\n</function>", tools=False,
         content="I'll look.\n\n<function=glob>\n</function>", name="no tools"),
    case("F34", call("get_time") + "\n</function>\n</function_invocation>",
         calls=[("get_time", {})]),
    case("F35", call("read", path="a") + call("read", path="b"),
         calls=[("read", {"path": "a"}), ("read", {"path": "b"})], name="back to back"),
    case("F35", call("read", path="a", lines=3) + "\n" + call("get_time"),
         calls=[("read", {"path": "a", "lines": 3}), ("get_time", {})], name="on lines"),
    case("F42", call("cal.list-events"), calls=[("cal.list-events", {})]),
    case("F42", call("mcp__a-b__c", x="é\n\t\\"), calls=[("mcp__a-b__c", {"x": "é\n\t\\"})]),
]


@pytest.fixture(scope="session")
def tools_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return path


@pytest.fixture
def parse(tools_file):
    from conftest import BINARY, MODEL

    def run(pieces, thinking, tools, finish, stream):
        command = [BINARY, "parse", MODEL, "--thinking", "on" if thinking else "off", "--pieces",
                   "--finish", finish, *(["--tools", str(tools_file)] if tools else []),
                   *(["--stream"] if stream else [])]
        done = subprocess.run(command, input=json.dumps(pieces), capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
    return run


def pieces_of(text):
    """One character a piece."""
    return list(text)


def joined(deltas):
    reasoning, content, calls = "", "", []
    for delta in deltas:
        reasoning += delta.get("reasoning_content") or ""
        content += delta.get("content") or ""
        for part in delta.get("tool_calls") or []:
            if "id" in part:
                assert part["index"] == len(calls) and part["function"]["arguments"] == ""
                calls.append([part["function"]["name"], ""])
            else:
                calls[part["index"]][1] += part["function"]["arguments"]
    return reasoning, content, [(name, json.loads(text)) for name, text in calls]


@pytest.mark.parametrize("text, thinking, tools, finish, expected", CASES)
def test_parsed(parse, text, thinking, tools, finish, expected):
    reasoning, content, calls, ends = expected
    whole = parse([text], thinking, tools, finish, False)[0]
    message = whole["message"]
    assert (message.get("reasoning_content") or "") == reasoning
    assert (message["content"] or "") == content
    found = message.get("tool_calls") or []
    assert [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in found] == calls
    assert len({c["id"] for c in found}) == len(found)
    assert whole["finish_reason"] == ends
    *deltas, last = parse(pieces_of(text), thinking, tools, finish, True)
    assert joined(deltas) == (reasoning, content, calls) and last["finish_reason"] == ends


@pytest.mark.fault("F04")
def test_a_closer_without_opener_leaves_no_tag(parse):
    message = parse(["hm</think>4"], False, True, "stop", False)[0]["message"]
    assert not any(tag in message["content"] for tag in TAGS) and message["content"].endswith("4")
    *deltas, _ = parse(pieces_of("hm</think>4"), False, True, "stop", True)
    assert joined(deltas)[1] == message["content"]


@pytest.mark.fault("F10")
def test_no_blank_delta_before_a_call(parse):
    *deltas, _ = parse(pieces_of("plan</think>\n\n" + call("get_time")), True, True, "stop", True)
    assert not any("content" in delta for delta in deltas)


@pytest.mark.fault("F25")
def test_long_arguments_stream(parse):
    value = "".join(f"line {i} of a long text\n" for i in range(2500))
    pieces = [call("glob", p=value)[i:i + 100] for i in range(0, len(value) + 200, 100)]
    *deltas, _ = parse(pieces, False, True, "stop", True)
    assert len(value) > 50_000 and len(deltas) > 100
    assert joined(deltas)[2] == [("glob", {"p": value})]


@pytest.mark.fault("F43")
@pytest.mark.parametrize("cut", ["<parameter=path>\nsrc/ma", "<parameter=lines>\n1", "<param", ""])
def test_a_call_that_is_cut_is_no_call(parse, cut):
    text = "ok\n<tool_call>\n<function=read>\n" + cut
    whole = parse([text], False, True, "length", False)[0]
    assert whole["finish_reason"] == "length" and whole["message"]["content"] == "ok"
    assert not whole["message"].get("tool_calls")
    *deltas, last = parse(pieces_of(text), False, True, "length", True)
    assert last["finish_reason"] == "length"
    assert "".join(delta.get("content") or "" for delta in deltas) == "ok"


@pytest.mark.fault("F45")
def test_only_the_first_delta_of_a_call_names_it(parse):
    *deltas, _ = parse(pieces_of(call("read", path="a", lines="3")), False, True, "stop", True)
    first, *later = [part for delta in deltas for part in delta["tool_calls"]]
    assert set(first) == {"index", "id", "type", "function"} and first["type"] == "function"
    assert first["function"] == {"name": "read", "arguments": ""} and first["id"]
    assert later and all(set(part) == {"index", "function"} for part in later)
    assert all(set(part["function"]) == {"arguments"} for part in later)


@pytest.mark.fault("F65")
@pytest.mark.parametrize("stop, text, expected", [
    ("beta gamma", "alpha beta gamma d", "alpha "), ("beta gamma", "alpha bell", "alpha bell")])
def test_stop_strings_over_pieces(target, off, stop, text, expected):
    """Through the server, since stop strings act behind the parser."""
    fields = {"temperature": 0, "max_tokens": 60, **off}
    whole, streamed = target.both(f"Repeat exactly: {text}", stop=stop, **fields)
    assert whole.text() == streamed.text() == expected
