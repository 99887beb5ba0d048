"""Kinds of faults in answers, streams and transport (F13, F36, F38, F44, F59 to F69, F73 to F78) and
the thinking budget (F08)."""

import concurrent.futures
import random
import time

import pytest

from acceptance.fixtures import wait_for
from acceptance.prompts import WEATHER, weather_tool
from acceptance.target import CHAT, TAGS, error_of, user

fault = pytest.mark.fault
model = pytest.mark.model
GREEDY = {"temperature": 0, "max_tokens": 400}
USAGE = {"stream_options": {"include_usage": True}}


@fault("F08")
@pytest.mark.policy
@pytest.mark.parametrize("question", ["What is 2+2?", "How much is 25 + 17?"])
def test_thinking_budgets_close_the_thought_once(target, question):
    """Budgets below, at and above the length of the thought as it is without one."""
    plain = target.chat(question, **GREEDY)
    length = plain.usage["completion_tokens_details"]["reasoning_tokens"]
    for budget in (0, 1, length - 1, length, length + 1, length + 50):
        whole, streamed = target.both(question, thinking_token_budget=budget, **GREEDY)
        assert whole.check().meaning() == streamed.meaning()
        assert whole.text() and whole.finish() == "stop"
        assert plain.reasoning().startswith(whole.reasoning()[:budget])
        if budget > length:
            assert whole.meaning() == plain.meaning()


@fault("F13")
@pytest.mark.parametrize("question", ["What is 2+2?", "hi", WEATHER[0][0]])
def test_thoughts_under_both_names(target, question):
    whole, streamed = target.both(question, tools=[weather_tool()], **GREEDY)
    for message in (whole.message(), streamed.message()):
        assert message["reasoning_content"] == message["reasoning"] != ""
    for name in ("reasoning_content", "reasoning"):
        thought = {name: whole.reasoning()}
        history = user(question) + [{"role": "assistant", "content": "ok", **thought}]
        target.chat(history + user("And?"), max_tokens=4).check()


@fault("F36")
@model
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("question", [w[0] for w in WEATHER] +
                         ["What is the weather in Paris and Rome?", "Hello!"])
def test_calls_streamed_and_not(target, switch, question, thinking):
    whole, streamed = target.both(question, tools=[weather_tool()], **GREEDY, **switch(thinking))
    assert whole.check().meaning() == streamed.meaning()
    assert bool(whole.calls()) == ("weather" in question)
    assert not any(tag in streamed.text() + streamed.reasoning() for tag in TAGS)


@fault("F38")
@model
@pytest.mark.parametrize("question, finish", [(WEATHER[0][0], "tool_calls"), ("Hello!", "stop")])
def test_the_finish_of_calls(target, off, question, finish):
    fields = {"tools": [weather_tool()], **GREEDY, **off}
    assert target.chat(question, **fields).finish() == finish
    stream = target.stream(question, **fields).check()
    reasons = [c["choices"][0]["finish_reason"] for c in stream.chunks]
    assert [reason for reason in reasons if reason] == [finish]


@fault("F44")
def test_choices_do_not_share_a_parser(target):
    """At limits where some of the seeded choices have ended their thought and others have not."""
    question = "Hello!"
    fields = {"n": 6, "temperature": 1, "seed": 3, "tools": [weather_tool()]}
    full = target.stream(question, max_tokens=200, **fields, return_token_ids=True).check().fold()
    lengths = sorted(len(full.reasoning(i)) for i in range(6))
    assert lengths[0] > 0
    for limit in (8, 12, 16, 24):
        folded = target.stream(question, max_tokens=limit, **fields, **USAGE).check(True).fold()
        whole = target.chat(question, max_tokens=limit, **fields).check()
        assert folded.meaning() == whole.meaning()
        for i in range(6):
            assert full.reasoning(i).startswith(folded.reasoning(i))
            assert full.text(i).startswith(folded.text(i))


STREAMS = [("hi", {}), (WEATHER[0][0], {"tools": [weather_tool()]}),
           (WEATHER[0][0], {"tools": [weather_tool()], "enable_thinking": False}),
           ("hi", {"n": 3, "seed": 1, "temperature": 1}), ("Tell me a story.", {"max_tokens": 20}),
           ("Count to five.", {"stop": [","], "enable_thinking": False})]


@fault("F59", "F60", "F61", "F62")
@pytest.mark.parametrize("question, fields", STREAMS)
@pytest.mark.parametrize("usage", [True, False, None])
def test_shape_of_streams(target, question, fields, usage):
    """Role first and once, usage only when asked for, one finish in a chunk of its own, one id."""
    options = {} if usage is None else {"stream_options": {"include_usage": usage}}
    stream = target.stream(question, **{**GREEDY, **fields}, **options).check(usage=bool(usage))
    assert ('"usage":{' in stream.response.text) == bool(usage)
    for index in range(fields.get("n", 1)):
        assert stream.deltas(index)[0]["role"] == "assistant"


@fault("F62")
def test_new_ids_for_new_requests(target):
    streams = [target.stream("hi", max_tokens=3) for _ in range(3)]
    wholes = [target.chat("hi", max_tokens=3) for _ in range(3)]
    ids = [s.chunks[0]["id"] for s in streams] + [a.body["id"] for a in wholes]
    assert len(set(ids)) == 6


def long_text(count, seed):
    words = random.Random(seed)
    return " ".join(f"word{words.randrange(1000)}" for _ in range(count))


@fault("F63")
def test_streams_have_no_pings_by_default(target):
    stream = target.stream(long_text(2000, 1), max_tokens=3)
    assert all(line.startswith("data: {") or line == "data: [DONE]" for line in stream.lines)


@fault("F63")
@pytest.mark.local
def test_pings_are_comments(keyed):
    """A server with --sse-keep-alive, while a long prompt is read."""
    headers = {"Authorization": "Bearer first"}
    body = {"messages": user(long_text(1500, 2)), "max_tokens": 3, "stream": True}
    lines = [line for line in keyed.post(CHAT, body, headers=headers).text.split("\n") if line]
    pings = [line for line in lines if line.startswith(":")]
    assert pings and all(line.startswith((":", "data: {", "data: [DONE]")) for line in lines)


@fault("F67")
@pytest.mark.parametrize("limit", [1, 5, 400])
def test_thoughts_are_counted(target, limit):
    for answer in target.both("What is 2+2?", temperature=0, max_tokens=limit):
        details = answer.usage["completion_tokens_details"]
        assert 0 < details["reasoning_tokens"] <= answer.token_count()


@fault("F68")
@pytest.mark.parametrize("fields", [{}, {"max_tokens": 100}, {"n": 2}, {"tools": [weather_tool()]}])
def test_overflow_is_a_status_in_streams(target, lives, fields):
    response = target.ask("word " * target.context(), stream=True, **fields)
    error_of(response, 400, code="context_length_exceeded")
    assert "data:" not in response.text


@fault("F69")
@pytest.mark.policy
def test_many_clients_that_leave(target, connect, lives):
    body = {"model": target.model, "messages": user("Tell me a story."), "ignore_eos": True,
            "max_tokens": 3000}
    for i in range(24):
        connection = connect()
        connection.send_json(CHAT, {**body, "stream": i % 2 == 0, "n": 1 + i % 3})
        if i % 4 < 2:
            time.sleep(0.1)
        connection.close()
    wait_for(lambda: target.running() == 0, seconds=120)


@fault("F73")
@pytest.mark.extension("E40")
@pytest.mark.policy
@pytest.mark.parametrize("address", [
    "http://169.254.169.254/latest/meta-data", "LISTENER/x.png", "file:///etc/passwd",
    "LISTENER/redirect", "http://[::1]:80/x.png", "ftp://127.0.0.1/x.png", "gopher://127.0.0.1"])
def test_addresses_of_images_are_not_fetched(target, listener, lives, address):
    address = address.replace("LISTENER", listener.url(""))
    parts = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": address}}]
    for stream in (False, True):
        error = error_of(target.ask(user(parts), stream=stream), 400)
        assert error["param"].startswith("messages[0].content[1]")
    assert listener.connections() == 0


@fault("F75")
@pytest.mark.parametrize("content_type, statuses", [
    ("application/json; charset=utf-8", {200}), ("application/json", {200}), (None, {200}),
    ("APPLICATION/JSON", {200}), ("text/plain", {415}),
    ("application/x-www-form-urlencoded", {200, 415})])
def test_content_types(target, lives, content_type, statuses):
    body = b'{"model": "%s", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}'
    headers = {"Content-Type": content_type} if content_type else {}
    response = target.http.post(CHAT, content=body % target.model.encode(), headers=headers)
    assert response.status_code in statuses


@fault("F78")
@pytest.mark.parametrize("n", [2, 8, 64, 128])
def test_many_choices_leave_the_server_serving(target, lives, n):
    answer = target.chat("hi", n=n, max_tokens=3, temperature=1).check()
    assert len(answer.body["choices"]) == n and answer.token_count() <= 3 * n


@fault("F78")
@pytest.mark.local
def test_more_than_the_memory_holds(keyed):
    """A small server: what does not fit now waits, what can never fit is refused."""
    headers = {"Authorization": "Bearer first"}

    def ask(i):
        body = {"messages": user(long_text(250, i)), "n": 1 + i % 4, "ignore_eos": True,
                "max_tokens": 150, "stream": i % 2 == 0}
        return keyed.post(CHAT, body, headers=headers)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(ask, range(8)))
    assert {response.status_code for response in responses} == {200}
    for response in responses[1::2]:
        assert all(c["finish_reason"] == "length" for c in response.json()["choices"])
    error_of(keyed.post(CHAT, {"messages": user("hi"), "max_tokens": 9000}, headers=headers), 400)
    assert keyed.post(CHAT, {"messages": user("hi")}, headers=headers).status_code == 200
