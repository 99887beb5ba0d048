"""Runs as text: deterministic, of the right length, with shared beginnings; bodies that a chat
template takes."""

import json
import pathlib

import chat_body
import prompt_tokens
import pytest
import sessions
import words
from agent_trace import Run

TINY = pathlib.Path(__file__).resolve().parents[2] / "models/tiny"


@pytest.fixture(scope="module")
def tokenizer():
    return prompt_tokens.LocalTokenizer(TINY)


@pytest.fixture(scope="module")
def writer(tokenizer):
    return words.Writer(words.choose(tokenizer.count))


def test_a_run_has_its_length(tokenizer, writer):
    for seed, count in ((1001, 1), (1002, 50), (1003, 3000)):
        text = writer.text([Run(seed, count)])
        assert len(text.split()) == count
        assert abs(tokenizer.count(text) - count) <= 1


def test_one_seed_one_text(writer):
    long, short = (writer.text([Run(1004, count)]) for count in (100, 60))
    assert long.startswith(short)
    assert long == writer.text([Run(1004, 100)])
    assert long != writer.text([Run(1005, 100)])


def test_too_small_a_vocabulary_is_refused():
    with pytest.raises(SystemExit, match="common words"):
        words.choose(len)


def test_words_of_a_vocabulary(tokenizer):
    candidates = words.of_vocabulary(TINY)
    assert len(set(candidates)) == len(candidates) > words.FEWEST
    assert words.choose(tokenizer.count, candidates) == candidates


def test_bodies(tokenizer, writer):
    trace = sessions.make_trace(num_requests=60, seed=7, scale=0.05)
    bodies = chat_body.BodyWriter(trace, writer, "llm")
    for request in trace.requests:
        body = json.loads(bodies.body(request))
        assert body["max_tokens"] == request.output_tokens and body["stream"] is True
        assert ("tools" in body) == (request.tools >= 0)
        open_calls = []
        for message in body["messages"]:
            open_calls += [call["id"] for call in message.get("tool_calls", ())]
            if message["role"] == "tool":
                open_calls.remove(message["tool_call_id"])
        assert not open_calls
        assert body["messages"] == bodies.messages(request)


def test_prompts_are_as_long_as_the_trace_says(tokenizer, writer):
    trace = sessions.make_trace(num_requests=40, seed=7, scale=0.3)
    bodies = chat_body.BodyWriter(trace, writer, "llm")
    for request in trace.requests[::5]:
        tokens = tokenizer.prompt(bodies.messages(request), bodies.tools(request),
                                  request.thinking)
        assert len(tokens) == pytest.approx(request.prompt_tokens, rel=0.08, abs=40)
