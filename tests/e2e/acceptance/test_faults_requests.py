"""Kinds of faults in templates and request forms (F42, F48 to F58), streamed and not: no turn is
dropped, nothing that clients send as a matter of course is refused. What reaches the model is read
back through /tokenize and /detokenize."""

import json
import shutil
import subprocess
import unicodedata

import pytest

from acceptance.prompts import WEATHER, call, tool, weather_tool, weather_turn
from acceptance.target import TAGS, error_of, user

fault = pytest.mark.fault
model = pytest.mark.model
GREEDY = {"temperature": 0, "max_tokens": 400}


def accepted(target, messages, **fields):
    """200, streamed and not, with the same answer."""
    fields = {"max_tokens": 6, "temperature": 0, **fields}
    whole, streamed = target.both(messages, **fields)
    assert whole.check().meaning() == streamed.meaning()
    return whole


@fault("F05")
@pytest.mark.parametrize("begun", ["The capital of France is", "Once upon a time there"])
def test_no_thought_where_the_prompt_opens_none(target, begun):
    """The rendered prompt decides, not the model's name."""
    messages = user("What is the capital of France?") + [{"role": "assistant", "content": begun}]
    answer = accepted(target, messages, continue_final_message=True, add_generation_prompt=False,
                      max_tokens=5, ignore_eos=True)
    assert answer.text() and not answer.reasoning()


@fault("F05")
@pytest.mark.local
@pytest.mark.parametrize("opener, message", [
    ("<think>\\n", {"reasoning_content": "Paris", "content": ""}), ("", {"content": "Paris"})])
def test_the_template_decides_whether_a_thought_is_open(tmp_path, opener, message):
    from conftest import BINARY, MODEL
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(f"{MODEL}/{name}", tmp_path)
    template = "{{ messages[0].content }}<|im_start|>assistant\n%s" % opener.replace("\\n", "\n")
    (tmp_path / "chat_template.jinja").write_text(template)
    done = subprocess.run([BINARY, "parse", str(tmp_path)], input="Paris", capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)["message"]
    assert {key: parsed.get(key) for key in message} == message


@fault("F40")
@pytest.mark.parametrize("question, city", WEATHER)
@pytest.mark.parametrize("thinking", [False, True])
def test_no_calls_where_they_are_forbidden(target, switch, question, city, thinking):
    answer = accepted(target, question, tools=[weather_tool()], tool_choice="none", max_tokens=100,
                      **switch(thinking))
    assert not answer.calls() and not any(tag in answer.text() for tag in TAGS)
    history = weather_turn("sunny, 17 degrees") + [{"role": "assistant", "content": "Sunny."}]
    answer = accepted(target, history + user(question), tools=[weather_tool()], tool_choice="none",
                      max_tokens=100, **switch(thinking))
    assert not answer.calls() and not any(tag in answer.text() for tag in TAGS)


@fault("F42")
@model
@pytest.mark.parametrize("name", ["cal.list-events", "mcp__a-b__c", "get_weather", "Get-weather_2.now"])
def test_names_of_tools(target, off, name):
    tools = [tool(name, {"city": {"type": "string"}}, ["city"], "Get the weather")]
    accepted(target, "hi", tools=tools, **off)
    answer = target.chat(f"Use {name} to get the weather in Beijing.", tools=tools, **GREEDY, **off)
    assert [called for called, _ in answer.check().call_list()] == [name]


@fault("F42")
@pytest.mark.policy
@pytest.mark.parametrize("name", ["a b", "x" * 200, "", "a\nb", "naïve", "a<b", None])
def test_refused_names_of_tools(target, lives, name):
    error_of(target.ask("hi", tools=[tool(name, {})]), 400, param="tools[0].function.name")


@fault("F48")
@pytest.mark.parametrize("content", [{"content": None}, {"content": ""}, {}, {"content": []}])
def test_calls_without_content_are_rendered(target, content):
    messages = weather_turn("sunny", assistant=content)
    if not content:
        del messages[1]["content"]
    accepted(target, messages, tools=[weather_tool()])
    prompt = target.rendered(messages, tools=[weather_tool()])
    assert "<function=get_weather>\n<parameter=city>\nBeijing\n</parameter>" in prompt
    assert "None" not in prompt and "null" not in prompt


@fault("F49")
@pytest.mark.parametrize("content", [None, "", []])
def test_empty_assistant_turns(target, content):
    messages = user("hi") + [{"role": "assistant", "content": content}] + user("Still there?")
    accepted(target, messages)
    assert target.rendered(messages).count("<|im_start|>assistant") == 2


@fault("F50")
@pytest.mark.parametrize("messages", [
    [{"role": "system", "content": "ALPHA rule."}, {"role": "system", "content": "BETA rule."},
     *user("hi")],
    [{"role": "system", "content": "ALPHA rule."}, *user("hi"),
     {"role": "system", "content": "BETA rule."}, *user("And?")],
    [*user("hi"), {"role": "system", "content": "ALPHA rule."}, {"role": "system",
                                                                 "content": "BETA rule."}],
])
def test_several_system_messages_reach_the_prompt(target, messages):
    accepted(target, messages)
    prompt = target.rendered(messages)
    assert 0 <= prompt.index("ALPHA rule.") < prompt.index("BETA rule.")


@fault("F52")
@model
@pytest.mark.parametrize("order", [["developer"], ["system", "developer"]])
def test_developer_messages_are_obeyed(target, off, order):
    texts = {"developer": "Always answer with the marker BANANA.", "system": "Be brief."}
    messages = [{"role": role, "content": texts[role]} for role in order] + user("Hello!")
    assert "BANANA" in target.rendered(messages)
    assert "BANANA" in accepted(target, messages, max_tokens=60, **off).text()


@fault("F54")
@pytest.mark.policy
@pytest.mark.parametrize("identity", [None, "call_other", "", ...])
def test_results_without_a_matching_call(target, identity):
    messages = weather_turn("sunny 17")
    if identity is ...:
        del messages[2]["tool_call_id"]
    else:
        messages[2]["tool_call_id"] = identity
    accepted(target, messages, tools=[weather_tool()])
    assert "sunny 17" in target.rendered(messages, tools=[weather_tool()])


@fault("F55")
@pytest.mark.parametrize("extra", [{"index": 0}, {"index": None, "x": {}}, {"type": "function"}])
def test_extra_keys_in_calls_of_the_history(target, extra):
    accepted(target, weather_turn("sunny", **extra), tools=[weather_tool()])
    assert target.rendered(weather_turn("sunny", **extra)) == target.rendered(weather_turn("sunny"))


@fault("F55")
def test_calls_of_the_history_need_no_type(target):
    messages = weather_turn("sunny")
    del messages[1]["tool_calls"][0]["type"]
    accepted(target, messages, tools=[weather_tool()])


@fault("F56")
@pytest.mark.parametrize("fields", [
    {"max_completion_tokens": 7, "max_tokens": 50},
    {"max_completion_tokens": 7, "reasoning_effort": "high"},
    {"max_completion_tokens": 7, "tools": [tool("f", {}, strict=True)]}])
def test_fields_of_newer_clients(target, fields):
    answer = accepted(target, "Tell me a story.", **{"max_tokens": None, **fields})
    assert answer.token_count() == 7 and answer.finish() == "length"


@fault("F58")
@pytest.mark.parametrize("composed, other", [
    ("caf\u00e9", "cafe\u0301"), ("\u30ac", "\u30ab\u3099"), ("\u8c48", "\uf900"),
    ("\u00c5", "\u212b")])
def test_the_prompt_is_normalised_as_the_tokenizer_says(target, composed, other):
    """This family's tokenizers declare NFC."""
    assert unicodedata.normalize("NFC", other) == composed
    assert target.tokenize(prompt=composed) == target.tokenize(prompt=other)
    assert target.tokenize(messages=user(composed)) == target.tokenize(messages=user(other))


@fault("F58")
def test_the_answer_is_not_normalised(target):
    """An e and a combining accent, each in tokens of its own, stay two characters."""
    ids = target.tokenize(prompt="cafe") + target.tokenize(prompt="\u0301")
    response = target.post("/detokenize", {"model": target.model, "tokens": ids})
    assert response.json()["prompt"] == "cafe\u0301"


@fault("F48", "F55")
@model
def test_a_history_with_several_calls(target, off):
    """Two calls in one turn and their results, in order."""
    messages = user("What is the weather in Paris and Rome?") + [
        {"role": "assistant", "content": None, "tool_calls": [
            call("get_weather", '{"city": "Paris"}', "a"),
            call("get_weather", '{"city": "Rome"}', "b")]},
        {"role": "tool", "tool_call_id": "a", "content": "rainy, 11 degrees"},
        {"role": "tool", "tool_call_id": "b", "content": "sunny, 23 degrees"}]
    text = accepted(target, messages, tools=[weather_tool()], max_tokens=100, **off).text()
    assert "11" in text and "23" in text
