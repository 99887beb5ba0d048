"""Extensions about tools and the forms of messages: E30, E33 to E37."""

import json

import pytest

from acceptance.prompts import WEATHER, call, tool, weather_tool, weather_turn
from acceptance.target import TAGS, error_of, user

extension = pytest.mark.extension
model = pytest.mark.model
GREEDY = {"temperature": 0, "max_tokens": 600}
PAIRS = ["What is the weather in Paris and Rome?", "What is the weather in Paris and in Rome?"]


@extension("E30")
@pytest.mark.parametrize("question, city", WEATHER)
@pytest.mark.parametrize("thinking", [False, True])
def test_tool_choice_none(target, switch, question, city, thinking):
    whole, streamed = target.both(question, tools=[weather_tool()], tool_choice="none",
                                  temperature=0, max_tokens=100, **switch(thinking))
    assert not whole.check().calls() and whole.finish() in ("stop", "length")
    assert not any(tag in whole.text() for tag in TAGS)
    assert whole.meaning() == streamed.meaning()


@extension("E33")
@model
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("question", PAIRS)
def test_parallel_calls(target, switch, question, thinking):
    fields = {"tools": [weather_tool()], **GREEDY, **switch(thinking)}
    stream = target.stream(question, **fields).check()
    folded = stream.fold()
    assert folded.call_list() == [("get_weather", {"city": city}) for city in ("Paris", "Rome")]
    assert len({c["id"] for c in folded.calls()}) == 2
    indices = {c["index"] for d in stream.deltas() for c in d.get("tool_calls") or []}
    assert indices == {0, 1}
    whole = target.chat(question, **fields).check()
    assert whole.call_list() == folded.call_list() and whole.finish() == "tool_calls"


@extension("E33")
@pytest.mark.parametrize("question", PAIRS)
def test_no_parallel_calls(target, off, question):
    fields = {"tools": [weather_tool()], "parallel_tool_calls": False, **GREEDY, **off}
    whole, streamed = target.both(question, **fields)
    assert whole.check().call_list() == [("get_weather", {"city": "Paris"})]
    assert whole.finish() == "tool_calls" and whole.meaning() == streamed.meaning()


@extension("E34")
@model
@pytest.mark.parametrize("question, city", WEATHER)
def test_streamed_call(target, off, question, city):
    fields = {"tools": [weather_tool()], **GREEDY, **off}
    stream = target.stream(question, **fields).check()
    calls = [c for d in stream.deltas() for c in d.get("tool_calls") or []]
    assert set(calls[0]) == {"index", "id", "type", "function"}
    assert calls[0]["function"] == {"name": "get_weather", "arguments": ""}
    joined = "".join(c["function"]["arguments"] for c in calls)
    whole = target.chat(question, **fields).check()
    assert joined == whole.calls()[0]["function"]["arguments"]
    assert json.loads(joined) == {"city": city}


RESULTS = ['{"city": "Beijing", "temperature": 17, "condition": "sunny"}', "sunny, 17 degrees",
           [{"type": "text", "text": "sunny, "}, {"type": "text", "text": "17 degrees"}]]


@extension("E35")
@model
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("thinking", [False, True])
def test_result_of_a_call_is_used(target, switch, result, thinking):
    answer = target.chat(weather_turn(result), tools=[weather_tool()], **GREEDY, **switch(thinking))
    assert "17" in answer.check().text() and "sunny" in answer.text()
    assert answer.finish() == "stop" and not answer.calls()


CALLS = [call("get_weather", '{"city": "Beijing"}')]
GOOD_CONTENT = [
    ("assistant", {"content": None, "tool_calls": CALLS}), ("assistant", {"tool_calls": CALLS}),
    ("assistant", {"content": "", "tool_calls": CALLS}), ("assistant", {"content": None}),
    ("assistant", {"content": ""}), ("assistant", {"content": []}),
    ("assistant", {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
    ("user", {"content": ""}), ("user", {"content": []}),
    ("user", {"content": [{"type": "text", "text": "hi"}]}),
    ("system", {"content": [{"type": "text", "text": "Be brief."}]}),
    ("tool", {"content": "", "tool_call_id": "call_1"}),
    ("tool", {"content": [], "tool_call_id": "call_1"}),
]


@extension("E36")
@pytest.mark.parametrize("role, fields", GOOD_CONTENT)
def test_forms_of_content(target, role, fields):
    last = [{"role": "tool", "content": "sunny", "tool_call_id": "call_1"}] \
        if fields.get("tool_calls") else []
    messages = ([] if role == "system" else user("hi")) + [{"role": role, **fields}] + last
    target.chat(messages + user("And now?"), max_tokens=4)


@extension("E36")
@pytest.mark.parametrize("fields", [{"content": None}, {}, {"content": 3}, {"content": {}},
                                    {"content": [None]}, {"content": [7]},
                                    {"content": [{"type": "nope"}]}])
def test_refused_forms_of_content(target, lives, fields):
    error = error_of(target.ask(user("hi") + [{"role": "user", **fields}]), 400)
    assert error["param"].startswith("messages[1].content")


@extension("E36")
@pytest.mark.parametrize("fields", [{"arguments": {"city": "Beijing"}}, {"arguments": ""},
                                    {"arguments": "{}"}, {"arguments": '{"city": "Bei'},
                                    {"arguments": "[1]"}, {"arguments": None}])
def test_forms_of_arguments_in_the_history(target, fields):
    messages = weather_turn("sunny")
    messages[1]["tool_calls"][0]["function"].update(fields)
    target.chat(messages, tools=[weather_tool()], max_tokens=4)


@extension("E37")
@model
@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_and_developer(target, off, role):
    messages = [{"role": role, "content": "Always answer with the marker ROLE_77."}]
    assert "ROLE_77" in target.chat(messages + user("Hello!"), **GREEDY, **off).text()


@extension("E37")
@pytest.mark.parametrize("messages", [
    [{"role": "system", "content": "A"}, {"role": "system", "content": "B"}, *user("hi")],
    [*user("hi"), {"role": "system", "content": "C"}, *user("hi")],
    [{"role": "system", "content": "A"}, {"role": "developer", "content": "B"}, *user("hi"),
     {"role": "developer", "content": "D"}],
])
def test_several_system_messages(target, messages):
    target.chat(messages, max_tokens=4)


@extension("E37")
@pytest.mark.policy
@pytest.mark.parametrize("role", ["function", "ai", "", "User", "human"])
def test_refused_roles(target, lives, role):
    message = {"role": role, "content": "x", "name": "f"}
    error_of(target.ask(user("hi") + [message]), 400, param="messages[1].role")


@extension("E30")
def test_many_tools_are_accepted(target, off):
    tools = [tool(f"tool_{i}", {"x": {"type": "integer"}}) for i in range(100)]
    target.chat("hi", tools=tools, max_tokens=4, tool_choice="none", **off)
    target.chat("hi", tools=tools, max_tokens=4, **off)
