"""Acceptance checks t2 (sampling at its borders) and t3 (max_tokens), and the related modules of
that suite: forced lengths, agent histories, the other endpoints."""

import pytest

from acceptance.prompts import STORIES, WEATHER, call, weather_tool
from acceptance.target import error_of, user

check = pytest.mark.check

GOOD = [("t2_temperature_0_0", {"temperature": 0}), ("t2_temperature_1_0", {"temperature": 1}),
        ("t2_temperature_1_1", {"temperature": 1.1}), ("t2_temperature_2_0", {"temperature": 2}),
        ("t2_top_p_0_0", {"top_p": 0}), ("t2_top_p_0_01", {"top_p": 0.01}),
        ("t2_top_p_0_95", {"top_p": 0.95}), ("t2_top_p_1_0", {"top_p": 1.0}),
        ("t2_frequency_penalty_neg2", {"frequency_penalty": -2}),
        ("t2_frequency_penalty_0", {"frequency_penalty": 0}),
        ("t2_frequency_penalty_2", {"frequency_penalty": 2}),
        ("t2_presence_penalty_neg2", {"presence_penalty": -2}),
        ("t2_presence_penalty_0", {"presence_penalty": 0}),
        ("t2_presence_penalty_2", {"presence_penalty": 2}),
        ("t2_n_1", {"n": 1}), ("t2_n_2", {"n": 2})]
OUT_OF_RANGE = [
    ("t2_temperature_2_0", {"temperature": 2.0001}), ("t2_temperature_0_0", {"temperature": -0.1}),
    ("t2_top_p_1_1", {"top_p": 1.1}), ("t2_top_p_0_0", {"top_p": -0.01}),
    ("t2_frequency_penalty_2", {"frequency_penalty": 2.1}),
    ("t2_frequency_penalty_neg2", {"frequency_penalty": -2.1}),
    ("t2_presence_penalty_2", {"presence_penalty": 2.1}),
    ("t2_presence_penalty_neg2", {"presence_penalty": -2.1}), ("t2_n_1", {"n": 0}),
    ("t2_n_2", {"n": -1}),
]


def marked(cases):
    return [pytest.param(fields, marks=check(kind), id=f"{kind}-{fields}")
            for kind, fields in cases]


@pytest.mark.parametrize("fields", marked(GOOD))
@pytest.mark.parametrize("question", ["hi", "Hello there"])
def test_t2_within_range(target, lives, fields, question):
    answer = target.chat(question, max_tokens=20, **{"seed": 1, **fields}).check()
    assert len(answer.body["choices"]) == fields.get("n", 1)


@pytest.mark.parametrize("fields", marked(OUT_OF_RANGE))
@pytest.mark.parametrize("stream", [False, True])
def test_t2_out_of_range(target, lives, fields, stream):
    error_of(target.ask("hi", max_tokens=20, stream=stream, **fields), 400, param=list(fields)[0])


@check("t2_temperature_0_0", "t2_top_p_0_0")
@pytest.mark.strict
def test_t2_greedy_forms_are_equal(target):
    forms = ({"temperature": 0}, {"temperature": 0}, {"temperature": 1, "top_p": 0})
    answers = [target.chat("hi", max_tokens=20, **fields).meaning() for fields in forms]
    assert answers[0] == answers[1] == answers[2]


@check("t2_n_2")
@pytest.mark.strict
def test_t2_two_choices_share_one_prompt(target):
    fields = {"max_tokens": 20, "temperature": 1, "seed": 1, "return_token_ids": True}
    one = target.chat("hi", **fields)
    two = target.chat("hi", n=2, **fields).check()
    assert [c["index"] for c in two.body["choices"]] == [0, 1]
    assert two.usage["prompt_tokens"] == one.usage["prompt_tokens"]
    assert two.token_count() == sum(len(c["token_ids"]) for c in two.body["choices"])


def limits(target):
    context = target.context()
    return context, min(2048, context // 4)


@check("t3_max_tokens_none")
@pytest.mark.model
@pytest.mark.parametrize("story", STORIES)
def test_t3_no_limit(target, story):
    assert target.chat(story, seed=1).finish() == "stop"


@pytest.mark.parametrize("limit", [pytest.param(1, marks=check("t3_max_tokens_1")),
                                   pytest.param(64, marks=check("t3_max_tokens_64"))])
@pytest.mark.parametrize("story", STORIES)
def test_t3_small_limits(target, story, limit):
    answer = target.chat(story, max_tokens=limit, seed=1).check()
    assert answer.finish() == "length" and answer.token_count() == limit


@check("t3_max_tokens_mid")
@pytest.mark.model
@pytest.mark.parametrize("story", STORIES)
def test_t3_large_limit(target, story):
    context, reserve = limits(target)
    assert target.chat(story, max_tokens=min(65536, context - reserve), seed=1).finish() == "stop"


@check("t3_max_tokens_max")
@pytest.mark.model
@pytest.mark.parametrize("story", STORIES)
def test_t3_largest_limit(target, story):
    context, reserve = limits(target)
    assert target.chat(story, max_tokens=context - reserve, seed=1).finish() == "stop"


@check("t3_max_tokens_neg1")
@pytest.mark.parametrize("limit", [-1, -65536])
def test_t3_negative(target, lives, limit):
    error_of(target.ask(STORIES[0], max_tokens=limit), 400, param="max_tokens")


@check("t3_max_tokens_over")
@pytest.mark.parametrize("stream", [False, True])
def test_t3_beyond_the_context(target, lives, stream):
    limit = target.context() + 1
    error_of(target.ask(STORIES[0], max_tokens=limit, stream=stream), 400,
             code="context_length_exceeded")


def test_forced_length(target, request):
    """min_tokens and ignore_eos: at least 95 % of what was asked for."""
    length = 8192 if request.config.getoption("--long") else 600
    stream = target.stream("Tell me a story.", max_tokens=length, min_tokens=length,
                           ignore_eos=True, stream_options={"include_usage": True})
    assert stream.check_harness().fold().token_count() >= 0.95 * length


def test_agent_preflight(target):
    messages = user("hi") + [
        {"role": "assistant", "content": None,
         "tool_calls": [call("get_weather", '{"city": "Ulm"}', index=0)]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
    for fields in ({}, {"max_completion_tokens": 5}, {"reasoning_effort": "low"}):
        target.chat(messages, tools=[weather_tool()], max_tokens=8, **fields).check()


@pytest.mark.parametrize("thinking", [False, True])
def test_own_messages_are_accepted_back(target, switch, thinking):
    """With every field that the server wrote, after the call's result."""
    fields = {"tools": [weather_tool()], "temperature": 0, "max_tokens": 400, **switch(thinking)}
    for question, city in WEATHER[:2]:
        asked = target.chat(question, **fields)
        message = asked.message()
        identity = message["tool_calls"][0]["id"]
        history = user(question) + [message]
        result = {"role": "tool", "tool_call_id": identity,
                  "content": '{"city": "%s", "temperature": 17, "condition": "sunny"}' % city}
        answer = target.chat(history + [result], **fields).check()
        assert "17" in answer.text() and answer.finish() == "stop"
        target.chat(history + [result, answer.message()] + user("Thanks!"), **fields).check()


def test_other_endpoints(target):
    body = {"model": target.model, "prompt": "Once upon a time", "max_tokens": 5,
            "temperature": 0}
    answer = target.post("/v1/completions", body)
    assert answer.status_code == 200 and answer.json()["choices"][0]["text"]
    assert target.http.get("/v1/models").json()["data"]
    assert target.http.get("/health").status_code == 200


def test_nothing_follows_the_finish(target):
    stream = target.stream("What is 2 + 2?", temperature=0, max_tokens=300).check()
    finished = [i for i, chunk in enumerate(stream.chunks)
                if chunk["choices"][0]["finish_reason"] is not None]
    assert finished == [len(stream.chunks) - 1]


