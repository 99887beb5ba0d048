"""Extensions about serving many and staying alive: E44 to E49."""

import concurrent.futures
import json
import random
import time

import pytest

from acceptance.fixtures import raw_connections, wait_for
from acceptance.target import CHAT, error_of, user

extension = pytest.mark.extension
LONG = {"messages": user("Tell me a story."), "ignore_eos": True, "max_tokens": 4000}
PREFILL_WORDS = 20000  # about 100,000 tokens: 1,500 steps of the server that reads 64 in one
QUESTIONS = ["What is 2+2?", "Count from 1 to 30.", "Tell me a short story.", "hi",
             "Repeat exactly: 你好世界 🎉", "What is the capital of France?", "Say ha 20 times.",
             "Write a short story about a cat."]


@extension("E44")
@pytest.mark.parametrize("thinking", [False, True])
def test_eight_streams_at_once(target, switch, thinking):
    fields = {"temperature": 0, "max_tokens": 150, **switch(thinking)}
    alone = [target.chat(question, **fields).meaning()[0] for question in QUESTIONS]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        streams = list(pool.map(lambda question: target.stream(question, **fields), QUESTIONS))
    assert [stream.check().fold().meaning()[0] for stream in streams] == alone


def leave(target, connection):
    """Closes; the server notices, and its sequence is gone two steps later at most, and within a
    second of the step that ran (which, of a long prompt, takes as long as the machine needs)."""
    noticed = target.metric("deltaserve:client_disconnects_total")
    connection.close()
    wait_for(lambda: target.metric("deltaserve:client_disconnects_total") > noticed, seconds=60)
    steps = target.metric("deltaserve:engine_steps_total")
    wait_for(lambda: target.metric("deltaserve:engine_steps_total") > steps
             or target.running() == 0, seconds=120)
    wait_for(lambda: target.running() == 0, seconds=1)
    assert target.metric("deltaserve:engine_steps_total") <= steps + 2


@extension("E45")
@pytest.mark.fault("F69")
@pytest.mark.policy
@pytest.mark.parametrize("stream", [True, False])
def test_disconnect_while_decoding(target, connect, lives, stream):
    connection = connect()
    connection.send_json(CHAT, {"model": target.model, **LONG, "stream": stream})
    if stream:
        seen = 0
        while seen < 5:
            seen += connection.file.readline().startswith(b"data: ")
    else:
        wait_for(lambda: target.running() > 0)
        time.sleep(0.2)
    leave(target, connection)


@extension("E45")
@pytest.mark.fault("F69")
@pytest.mark.policy
@pytest.mark.parametrize("stream", [True, False])
def test_disconnect_during_prefill(unhurried, stream):
    """The prompt is half read when the client leaves: a step has worked on it, and it never came to
    its first token, with which it would be counted."""
    words = random.Random(stream)
    messages = user(" ".join(f"word{words.randrange(10000)}" for _ in range(PREFILL_WORDS)))
    body = {"model": unhurried.model, "messages": messages, "stream": stream, "max_tokens": 50}
    prompts = unhurried.metric("vllm:prompt_tokens_total")
    with raw_connections(unhurried) as connect:
        connection = connect()
        connection.send_json(CHAT, body)
        wait_for(lambda: unhurried.metric("vllm:num_requests_running") > 0, seconds=60)
        leave(unhurried, connection)
    assert unhurried.metric("vllm:prompt_tokens_total") == prompts
    assert unhurried.chat("hi", max_tokens=2).token_count() > 0


@extension("E46")
def test_two_requests_on_one_connection(target, connect):
    connection = connect()
    for stream in (False, True, False):
        connection.send_json(CHAT, {"model": target.model, "messages": user("hi"), "max_tokens": 3,
                                    "stream": stream})
        status, headers, body = connection.read()
        assert status == 200 and (b"[DONE]" in body) == stream
        assert ("chunked" in headers.get("transfer-encoding", "")) == stream


@extension("E46")
def test_pipelined_requests(target, connect):
    connection = connect()
    body = {"model": target.model, "messages": user("hi"), "max_tokens": 3}
    for stream in (True, False, True):
        connection.send_json(CHAT, {**body, "stream": stream})
    for stream in (True, False, True):
        status, _, body = connection.read()
        assert status == 200 and (b"[DONE]" in body) == stream


@extension("E46")
@pytest.mark.parametrize("chunked", [True, False])
def test_expect_continue(target, connect, chunked):
    connection = connect()
    body = json.dumps({"model": target.model, "messages": user("hi"), "max_tokens": 3}).encode()
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    connection.send(f"POST {CHAT} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                    f"{connection.headers}Expect: 100-continue\r\n{length}\r\n\r\n")
    assert connection.file.readline().startswith(b"HTTP/1.1 100")
    assert connection.file.readline() == b"\r\n"
    if chunked:
        pieces = [body[i:i + 7] for i in range(0, len(body), 7)] + [b""]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    connection.send(body)
    assert connection.read()[0] == 200


@extension("E47")
@pytest.mark.fault("F74")
@pytest.mark.parametrize("path", [CHAT, "/v1/models"])
def test_preflight(target, path):
    """Without a key, whatever the server's keys are."""
    headers = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os"}
    response = target.http.options(path, headers={**headers, "Authorization": ""})
    assert 200 <= response.status_code < 300
    assert response.headers["access-control-allow-origin"] in ("*", "https://page.example")
    allowed = response.headers["access-control-allow-headers"].lower()
    assert allowed == "*" or "authorization" in allowed
    assert "POST" in response.headers["access-control-allow-methods"]


@extension("E47")
@pytest.mark.fault("F74")
@pytest.mark.parametrize("stream", [False, True])
def test_cross_origin_post(target, stream):
    body = {"model": target.model, "messages": user("hi"), "max_tokens": 3, "stream": stream}
    for fields, status in (({}, 200), ({"n": 0}, 400)):
        response = target.post(CHAT, {**body, **fields}, headers={"Origin": "https://page.example"})
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] in ("*", "https://page.example")


@extension("E48")
@pytest.mark.local
def test_keys(keyed):
    body = {"messages": user("hi"), "max_tokens": 2}
    for headers, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 401),
                            ({"Authorization": "first"}, 401),
                            ({"Authorization": "Bearer first"}, 200),
                            ({"Authorization": "Bearer second"}, 200)):
        for stream in (False, True):
            response = keyed.post(CHAT, {**body, "stream": stream}, headers=headers)
            assert response.status_code == status
            if status == 401:
                error_of(response, 401)
    assert keyed.http.get("/v1/models").status_code == 401
    assert keyed.http.get("/health").status_code == 200
    preflight = keyed.http.options(CHAT, headers={"Origin": "https://page.example",
                                                  "Access-Control-Request-Method": "POST"})
    assert 200 <= preflight.status_code < 300


FACTS = [("code of Alice", "BLUE_42"), ("password of Ben", "RIVER_77"), ("token of Carol", "STONE_13")]
FILLER = ("the a small river house light runs over under green stone and then stops bird tree "
          "walks slowly").split()


@pytest.fixture(scope="module")
def haystack():
    """Filler of 100,000 tokens with facts at 10, 50 and 90 % of it."""
    words = random.Random(5)
    count = 7400
    sentences = [" ".join(words.choice(FILLER) for _ in range(9)).capitalize() + "."
                 for _ in range(count)]
    for place, (key, value) in zip((0.9, 0.5, 0.1), FACTS):
        sentences.insert(int(count * place), f"The {key} is {value}.")
    return "\n\n".join(" ".join(sentences[i:i + 8]) for i in range(0, count, 8))


@extension("E49")
@pytest.mark.model
def test_needles_in_a_long_context(target, off, haystack):
    fields = {"temperature": 0, "max_tokens": 40, **off}
    answers = []
    for key, value in FACTS:
        question = f"{haystack}\n\nWhat is the {key}?"
        answers.append(target.chat(question, **fields))
        assert value in answers[-1].text()
    again = target.chat(question, **fields)
    assert again.text() == answers[-1].text()
    for answer in answers[1:] + [again]:
        cached = answer.usage["prompt_tokens_details"]["cached_tokens"]
        assert cached > 0.9 * answer.usage["prompt_tokens"]
    assert answers[0].usage["prompt_tokens"] >= 100_000
