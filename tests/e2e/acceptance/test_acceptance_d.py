"""Acceptance checks d01 to d10: whole and streamed answers, tools, thoughts and their switch, cache
hits. Tests without `strict` assert what the acceptance suite asserts; those marked `strict` add what
OpenAI's contract asks for. Every check has several wordings: it must not depend on one."""

import time

import pytest

from acceptance.prompts import APPLES, GREETINGS, SUMS, SUM_CHINESE, TRAINS, WEATHER, weather_tool
from acceptance.target import error_of, user

check = pytest.mark.check
USAGE = {"stream_options": {"include_usage": True}}
THINKING_OFF = [{"chat_template_kwargs": {"thinking": False, "enable_thinking": False}},
                {"chat_template_kwargs": {"enable_thinking": False}},
                {"chat_template_kwargs": {"thinking": False}},
                {"thinking": {"type": "disabled"}}]


@check("d01")
@pytest.mark.parametrize("question, value", SUMS)
def test_d01_basic(target, question, value):
    answer = target.chat(question, max_tokens=1500)
    assert answer.text() and answer.token_count() > 0


@check("d01")
@pytest.mark.strict
@pytest.mark.parametrize("question, value", SUMS)
def test_d01_contract(target, question, value):
    answer = target.chat(question, max_tokens=1500, temperature=0).check()
    assert answer.finish() == "stop" and abs(answer.body["created"] - time.time()) < 600
    assert value in answer.text() and answer.reasoning()


@check("d02")
@pytest.mark.parametrize("question", GREETINGS)
def test_d02_stream_with_usage(target, question):
    stream = target.stream(question, max_tokens=50, **USAGE).check_harness()
    assert stream.fold().token_count() > 0


@check("d02")
@pytest.mark.strict
@pytest.mark.parametrize("question", GREETINGS)
def test_d02_contract(target, question):
    stream = target.stream(question, max_tokens=50, temperature=0, **USAGE).check(usage=True)
    thought = [d for d in stream.deltas() if d.get("reasoning_content")]
    tokens = stream.fold().usage["completion_tokens_details"]["reasoning_tokens"]
    assert len(thought) > tokens / 2, "thoughts are streamed token by token, not held back"


@check("d03", "t5")
@pytest.mark.model
@pytest.mark.parametrize("question, city", WEATHER)
def test_d03_tool_call(target, off, question, city):
    answer = target.chat(question, tools=[weather_tool()], tool_choice="auto", temperature=0,
                         max_tokens=4096, **off)
    assert answer.call_list() == [("get_weather", {"city": city})]


@check("d03", "t5")
@pytest.mark.strict
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("question, city", WEATHER)
def test_d03_contract(target, switch, question, city, thinking):
    fields = {"tools": [weather_tool()], "temperature": 0, "max_tokens": 4096, **switch(thinking)}
    answer = target.chat(question, **fields).check()
    assert answer.finish() == "tool_calls" and answer.message()["content"] is None
    assert answer.call_list() == [("get_weather", {"city": city})]
    assert bool(answer.reasoning()) == thinking
    target.stream(question, **fields).check()


@check("d04")
@pytest.mark.model
@pytest.mark.parametrize("question, value", APPLES)
def test_d04_reasoning(target, question, value):
    answer = target.chat(question, max_tokens=1500, temperature=0.2)
    text = answer.reasoning() + answer.text()
    assert len(text) > 20 and ("1" in text or "one" in text)


@check("d04")
@pytest.mark.strict
@pytest.mark.parametrize("question, value", APPLES)
def test_d04_contract(target, question, value):
    answer = target.chat(question, max_tokens=1500, temperature=0.2, seed=1).check()
    assert answer.finish() == "stop" and answer.reasoning() and answer.text()
    assert value in answer.text()


@pytest.fixture(scope="module")
def long_prompts():
    """A short and a long prompt of which no other test asks."""
    def text(words):
        return " ".join(f"{word}{i}" for i in range(words // 2) for word in ("river", "stone"))
    return [text(90), text(720)]


@check("d06")
@pytest.mark.parametrize("index", [0, 1])
def test_d06_cache_hit(target, long_prompts, index):
    prompt = long_prompts[index] + "\n\nWhat is 2 + 3?"
    fields = {"max_tokens": 20, "temperature": 0, **USAGE}
    first = target.stream(prompt, **fields).check_harness().fold()
    time.sleep(0.5)
    second = target.stream(prompt, **fields).check_harness().fold()
    assert 0 < second.usage["prompt_tokens_details"]["cached_tokens"] < \
        second.usage["prompt_tokens"]
    assert second.meaning() == first.meaning()
    assert first.usage["prompt_tokens"] > (300, 2500)[index]


@check("d07")
@pytest.mark.model
@pytest.mark.parametrize("question, value", TRAINS)
def test_d07_reasoning_and_content(target, question, value):
    answer = target.chat(question, max_tokens=4096, temperature=0.3)
    message = answer.message()
    dedicated = message.get("reasoning_content") or message.get("reasoning") or ""
    assert len(dedicated) > 20 and len(answer.text()) > 20


@check("d07")
@pytest.mark.strict
@pytest.mark.parametrize("question, value", TRAINS)
def test_d07_contract(target, question, value):
    whole, streamed = target.both(question, max_tokens=4096, temperature=0.3, seed=1)
    assert whole.check().meaning() == streamed.meaning()
    assert "think>" not in whole.reasoning() + whole.text()
    assert value in whole.text()


@check("d08")
def test_d08_image_url_is_not_fetched(target, listener):
    """Refused at once, with no connection made."""
    began = time.monotonic()
    for address in (listener.url("/x.jpg"), "https://example.com/x.jpg"):
        parts = [{"type": "text", "text": "What is this?"},
                 {"type": "image_url", "image_url": {"url": address}}]
        error_of(target.ask(user(parts), max_tokens=10), 400, param="messages[0].content[1]")
    assert time.monotonic() - began < 2 and listener.connections() == 0
    target.chat("hi", max_tokens=2)


@check("d09")
@pytest.mark.model
@pytest.mark.parametrize("question", SUM_CHINESE)
@pytest.mark.parametrize("fields", [None, {"thinking": {"type": "disabled"}}])
def test_d09_thinking_disabled_at_the_top(target, off, question, fields):
    answer = target.chat(question, max_tokens=300, temperature=0, **(fields or off))
    assert not answer.reasoning() and "4" in answer.text() and len(answer.text()) < 100


@check("d10")
@pytest.mark.model
@pytest.mark.parametrize("question", SUM_CHINESE)
@pytest.mark.parametrize("fields", THINKING_OFF[:2])
def test_d10_thinking_disabled_by_template_variables(target, question, fields):
    answer = target.chat(question, max_tokens=300, temperature=0, **fields)
    assert not answer.reasoning() and "4" in answer.text() and len(answer.text()) < 100
    assert answer.token_count() < 20


@check("d09", "d10")
@pytest.mark.strict
@pytest.mark.parametrize("fields", THINKING_OFF)
def test_thinking_off_is_off_in_streams_too(target, fields):
    whole, streamed = target.both(SUM_CHINESE[0], max_tokens=300, temperature=0, **fields)
    assert whole.check().meaning() == streamed.meaning() and not streamed.reasoning()
