"""The prefix cache as clients see it: usage, salts, choices, metrics."""

import uuid

from conftest import error_of

LONG = "The tide came in and went out again. " * 60
GREEDY = {"temperature": 0, "max_tokens": 12}


def turn(api, messages, **fields):
    response = api.post("/v1/chat/completions",
                        {"model": "tiny", "messages": messages, **GREEDY, **fields})
    assert response.status_code == 200, response.text
    body = response.json()
    return body, body["usage"]["prompt_tokens_details"]["cached_tokens"]


def ask(text):
    """A prompt that nothing before began like."""
    return [{"role": "user", "content": f"{uuid.uuid4().hex} {text}"}]


def test_a_repeated_prompt_is_found_and_answered_the_same(api):
    messages = ask(LONG + "repeat")
    first, cached_first = turn(api, messages)
    second, cached_second = turn(api, messages)
    assert cached_first == 0
    tokens = first["usage"]["prompt_tokens"]
    assert cached_second == (tokens - 1) // 64 * 64
    assert first["choices"][0]["message"] == second["choices"][0]["message"]


def test_a_conversation_is_found_turn_by_turn(api):
    messages = ask(LONG + "conversation")
    known = 0
    for number in range(4):
        body, cached = turn(api, messages)
        assert cached >= known // 64 * 64 - 128, f"turn {number}"
        known = body["usage"]["prompt_tokens"]
        messages += [{"role": "assistant", "content": body["choices"][0]["message"]["content"]},
                     {"role": "user", "content": f"And then, {number}?"}]


def test_salts_are_strangers(api):
    messages = ask(LONG + "salt")
    assert turn(api, messages, cache_salt="alice")[1] == 0
    assert turn(api, messages, cache_salt="bob")[1] == 0
    assert turn(api, messages, cache_salt="alice")[1] > 0
    error = error_of(api.chat("hi", cache_salt=""), 400)
    assert error["param"] == "cache_salt"


def test_choices_share_their_prompt(api):
    before = api.metric("vllm:prefix_cache_queries_total")
    body, _ = turn(api, ask(LONG + "choices"), n=4, temperature=1.0, seed=3)
    assert len(body["choices"]) == 4
    asked = api.metric("vllm:prefix_cache_queries_total") - before
    assert asked == body["usage"]["prompt_tokens"], "one of the choices read the prompt"


def test_metrics(api):
    messages = ask(LONG + "metrics")
    turn(api, messages)
    before = api.metric("vllm:prefix_cache_hits_total")
    _, cached = turn(api, messages)
    assert api.metric("vllm:prefix_cache_hits_total") - before == cached > 0
    assert api.metric("deltaserve:prefix_cache_snapshots") > 0
    assert api.metric("deltaserve:prefix_cache_snapshot_bytes") > 0
    assert api.metric("deltaserve:prefix_cache_blocks") > 0
