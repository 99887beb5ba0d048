"""Extensions about thoughts and usage: E22, E26, E41 to E43."""

import json
import pathlib

import jinja2
import pytest
import tokenizers

from acceptance.prompts import TWO_AND_TWO, WEATHER, weather_tool, weather_turn
from acceptance.target import user

extension = pytest.mark.extension
GREEDY = {"temperature": 0, "max_tokens": 400}
SWITCHES = {
    "kwargs enable_thinking": lambda on: {"chat_template_kwargs": {"enable_thinking": on}},
    "kwargs thinking": lambda on: {"chat_template_kwargs": {"thinking": on}},
    "thinking.type": lambda on: {"thinking": {"type": "enabled" if on else "disabled"}},
    "enable_thinking": lambda on: {"enable_thinking": on},
    "reasoning_effort": lambda on: {"reasoning_effort": "medium" if on else "none"},
}


@extension("E22")
@pytest.mark.fault("F14")
@pytest.mark.policy
@pytest.mark.parametrize("question", ["hi", "What is 2+2?", "Count from 1 to 5"])
def test_stop_strings_do_not_cut_thoughts(target, question):
    plain = target.chat(question, **GREEDY)
    words = [w for w in plain.reasoning().split() if len(w) > 1 or w.isdigit()]
    for stop in words[:4] + [plain.text().split()[-1]]:
        whole, streamed = target.both(question, stop=[stop], **GREEDY)
        assert whole.reasoning() == plain.reasoning(), "the thought is whole"
        assert whole.text() == plain.text().split(stop)[0] and whole.finish() == "stop"
        assert whole.meaning() == streamed.meaning()


@extension("E26")
@pytest.mark.parametrize("fields", [{}, {"max_tokens": 5}, {"n": 2, "seed": 1}])
def test_usage_of_streams(target, fields):
    fields = {**GREEDY, **fields}
    stream = target.stream("What is 2 + 2?", **fields, stream_options={"include_usage": True})
    stream.check(usage=True)
    usage, whole = stream.chunks[-1]["usage"], target.chat("What is 2 + 2?", **fields).usage
    assert {k: v for k, v in usage.items() if k != "prompt_tokens_details"} == \
        {k: v for k, v in whole.items() if k != "prompt_tokens_details"}


@extension("E26")
@pytest.mark.policy
def test_continuous_usage(target):
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = target.stream("What is 2 + 2?", **GREEDY, stream_options=options).chunks
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts) and counts[-1] == counts[-2] > 5
    assert len({chunk["usage"]["prompt_tokens"] for chunk in chunks}) == 1


@extension("E41")
@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("question", TWO_AND_TWO)
def test_every_thinking_switch(target, name, on, question):
    whole, streamed = target.both(question, **GREEDY, **SWITCHES[name](on))
    reference = target.chat(question, **GREEDY, **SWITCHES["kwargs enable_thinking"](on))
    assert whole.check().meaning() == streamed.meaning() == reference.meaning()
    assert bool(whole.reasoning()) == on and "4" in whole.text()


@extension("E41")
@pytest.mark.policy
@pytest.mark.parametrize("name", ["thinking.type", "enable_thinking", "reasoning_effort"])
@pytest.mark.parametrize("on", [True, False])
def test_template_variables_win(target, name, on):
    explicit = SWITCHES["kwargs enable_thinking"](on)
    answer = target.chat("What is 2+2?", **GREEDY, **explicit, **SWITCHES[name](not on))
    assert bool(answer.reasoning()) == on
    nothing = target.chat("What is 2+2?", **GREEDY, **SWITCHES[name](on),
                          chat_template_kwargs={"nobody_knows_this": [1]})
    assert bool(nothing.reasoning()) == on


THOUGHT = "zebra thoughts of old"


@extension("E42")
@pytest.mark.parametrize("fields", [{"reasoning_content": THOUGHT}, {"reasoning": THOUGHT},
                                    {"reasoning": THOUGHT, "reasoning_content": THOUGHT},
                                    {"reasoning_content": THOUGHT, "content": None},
                                    {"reasoning_content": None, "reasoning": None}])
def test_thoughts_of_the_history_are_accepted(target, fields):
    messages = user("hi") + [{"role": "assistant", "content": "Hello!", **fields}] + user("And?")
    target.chat(messages, max_tokens=4)
    target.chat(weather_turn("sunny", assistant={**fields, "content": ""}), tools=[weather_tool()],
                max_tokens=4)


@extension("E42")
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_are_rendered_behind_the_last_question_only(target, name):
    """As the template of this family has it, unless it is told to keep them all."""
    old = user("hi") + [{"role": "assistant", "content": "Hello!", name: THOUGHT}] + user("And?")
    assert THOUGHT not in target.rendered(old)
    assert THOUGHT in target.rendered(old, chat_template_kwargs={"preserve_thinking": True})
    assert THOUGHT in target.rendered(weather_turn("sunny", assistant={name: THOUGHT}))


@pytest.fixture(scope="session")
def oracle():
    """Counts tokens of a rendered prompt with Hugging Face's tokenizer and Jinja."""
    from conftest import MODEL
    directory = pathlib.Path(MODEL)
    tokenizer = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    environment = jinja2.Environment()
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = lambda message: pytest.fail(message)
    template = environment.from_string((directory / "chat_template.jinja").read_text())

    def count(messages, **variables):
        text = template.render(messages=messages, add_generation_prompt=True, **variables)
        return len(tokenizer.encode(text, add_special_tokens=False).ids)
    return count


@extension("E43")
@pytest.mark.local
@pytest.mark.parametrize("messages, variables", [
    (user("hi"), {}), (user("Grüße an die Welt, 你好 🎉 cafe\u0301"), {}),
    ([{"role": "system", "content": "Be brief."}, *user("What is 2+2?")],
     {"enable_thinking": False}),
    (weather_turn("sunny", arguments={"city": "Beijing"}), {"tools": [weather_tool()]}),
])
def test_prompt_tokens_are_those_of_the_rendered_prompt(target, oracle, messages, variables):
    tools = {"tools": variables["tools"]} if "tools" in variables else {}
    kwargs = {k: v for k, v in variables.items() if k != "tools"}
    answer = target.chat(messages, max_tokens=2, chat_template_kwargs=kwargs, **tools)
    assert answer.usage["prompt_tokens"] == oracle(messages, **variables)


@extension("E43")
@pytest.mark.fault("F67")
@pytest.mark.parametrize("question, fields", [
    ("What is 2+2?", {}), ("hi", {"max_tokens": 3}), (WEATHER[0][0], {"tools": [weather_tool()]}),
    ("What is 2+2?", {"enable_thinking": False}), ("Tell me a story.", {"max_tokens": 60}),
])
def test_completion_tokens_are_those_generated(target, question, fields):
    """Thought, tags and the end token included; the thought's own share is at most that."""
    whole, streamed = target.both(question, **{**GREEDY, **fields}, return_token_ids=True)
    assert whole.meaning() == streamed.meaning()
    ids = whole.choice()["token_ids"]
    assert whole.token_count() == len(ids)
    thought = whole.usage["completion_tokens_details"]["reasoning_tokens"]
    assert streamed.usage["completion_tokens_details"]["reasoning_tokens"] == thought
    assert (0 < thought <= len(ids)) if whole.reasoning() else thought == 0
    close = target.tokenize(prompt="</think>")[0]
    if whole.reasoning():
        assert thought == (ids.index(close) if close in ids else len(ids))
