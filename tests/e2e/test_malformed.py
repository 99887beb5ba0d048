"""Bad requests of every kind, each followed by a good one."""

import pytest

from conftest import error_of

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]

BAD_FIELDS = [
    ({"temperature": 2.0001}, "temperature"), ({"temperature": -0.1}, "temperature"),
    ({"temperature": "hot"}, "temperature"), ({"top_p": 1.1}, "top_p"), ({"top_k": -2}, "top_k"),
    ({"min_p": 2}, "min_p"), ({"frequency_penalty": 2.1}, "frequency_penalty"),
    ({"presence_penalty": -2.1}, "presence_penalty"),
    ({"repetition_penalty": 0}, "repetition_penalty"), ({"n": 0}, "n"), ({"n": 129}, "n"),
    ({"n": 1.5}, "n"), ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": "10"}, "max_tokens"), ({"stream": "yes"}, "stream"), ({"stop": [""]}, "stop"),
    ({"stop": ["a"] * 5}, "stop"), ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"logit_bias": {"1": 101}}, "logit_bias.1"), ({"top_logprobs": 3}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"messages": []}, "messages"), ({"messages": "hi"}, "messages"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "ai", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "function", "content": "x"}]}, "messages[0].role"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
]


@pytest.mark.parametrize("fields, param", BAD_FIELDS)
def test_bad_field(api, alive, fields, param):
    assert error_of(api.post(CHAT, {"messages": HI, **fields}), 400)["param"] == param


@pytest.mark.parametrize("body", [
    b"", b'{"model":', b"[]", b"null", b'"x"', b"\xff\xfe", b'{"messages":[{"role":"user","content":"\\ud800"}]}',
    b"[" * 100000, b'{"a":' * 100000, b'{"model":"tiny"}', b"{" + b" " * 100000 + b"}",
])
def test_bad_body(api, alive, body):
    error_of(api.http.post(CHAT, content=body, headers={"Content-Type": "application/json"}), 400)


def test_unknown_model(api, alive):
    assert error_of(api.post(CHAT, {"model": "nope", "messages": HI}), 404)["code"] == \
        "model_not_found"


@pytest.mark.parametrize("content_type, status", [
    ("application/json", 200), ("application/json; charset=utf-8", 200), (None, 200),
    ("text/plain", 415),
])
def test_content_types(raw, alive, content_type, status):
    body = b'{"messages":[{"role":"user","content":"hi"}],"max_tokens":1}'
    header = f"Content-Type: {content_type}\r\n" if content_type else ""
    raw.send(f"POST {CHAT} HTTP/1.1\r\nHost: t\r\n{header}Content-Length: {len(body)}\r\n\r\n"
             .encode() + body)
    assert raw.read()[0] == status


def test_body_limit(raw, alive):
    raw.send(f"POST {CHAT} HTTP/1.1\r\nHost: t\r\nContent-Length: 200000000\r\n\r\n")
    assert raw.read()[0] == 413


def test_large_body_within_the_limit(api, alive):
    response = api.post(CHAT, {"messages": HI, "metadata": {"x": "y" * 20_000_000}, "max_tokens": 1})
    assert response.status_code == 200


@pytest.mark.parametrize("data", [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n\r\n\r\n", b"GET /\r\n\r\n", b"\r\n\r\nFOO\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"GET /health HTTP/1.1\r\nHost: t\r\nX: " + b"a" * 200000 + b"\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
])
def test_not_http(raw, alive, data):
    raw.send(data)
    assert 400 <= raw.read()[0] < 500
