"""Extensions about endpoints, bad requests and limits: E01 to E08, E11, E20, E23 to E25, E50. Each
is followed by a request that must be served."""

import json

import pytest

from acceptance.target import CHAT, error_of, user

extension = pytest.mark.extension
policy = pytest.mark.policy
HI = user("hi")
JSON = {"Content-Type": "application/json"}


@extension("E01")
def test_health(target):
    for method in ("GET", "HEAD"):
        response = target.http.request(method, "/health")
        assert response.status_code == 200
    assert not response.content


@extension("E01")
@pytest.mark.local
def test_health_is_503_until_it_serves(starting):
    """A server that has just been started: the port answers before the model is loaded."""
    statuses = starting.statuses_until_200()
    assert set(statuses[:-1]) <= {503} and statuses[-1] == 200
    assert starting.target().chat("hi", max_tokens=2).token_count() > 0


@extension("E02")
def test_models(target):
    listed = target.http.get("/v1/models").json()
    assert listed["object"] == "list" and listed["data"][0]["id"] == target.model
    assert isinstance(listed["data"][0]["max_model_len"], int)
    one = target.http.get(f"/v1/models/{target.model}")
    assert one.status_code == 200 and one.json()["id"] == target.model


@extension("E03")
def test_missing_model(target, lives):
    for stream in (False, True):
        body = {"model": "nope", "messages": HI, "stream": stream}
        error_of(target.post(CHAT, body), 404, code="model_not_found")
    error_of(target.http.get("/v1/models/nope"), 404, code="model_not_found")


@extension("E04")
def test_routing(target, lives):
    response = target.http.get(CHAT)
    error_of(response, 405)
    assert "POST" in response.headers["allow"]
    error_of(target.http.delete("/v1/models"), 405)
    error_of(target.post("/v1/x", {}), 404)
    error_of(target.http.get("/nothing/here"), 404)


@extension("E05")
@pytest.mark.parametrize("body", [
    b'{"model":', b"", b"[]", b"null", b"3", b'"x"', b'{"a":1}}', b"{a:1}", b"\xff\xfe\x00",
    b'{"messages":[{"role":"user","content":"\xff"}]}'])
def test_invalid_json(target, lives, body):
    error_of(target.http.post(CHAT, content=body, headers=JSON), 400)


WRONG = [({"messages": "hi"}, "messages"), ({"temperature": "hot"}, "temperature"),
         ({"n": 1.5}, "n"), ({"max_tokens": "10"}, "max_tokens"), ({"stream": "yes"}, "stream"),
         ({"messages": [1]}, "messages[0]"), ({"messages": {}}, "messages"),
         ({"top_p": []}, "top_p"), ({"seed": "x"}, "seed"), ({"stop": 5}, "stop"),
         ({"stop": ["a", 5]}, "stop[1]"), ({"logprobs": 3}, "logprobs"),
         ({"tools": {}}, "tools"), ({"tools": [{}]}, "tools[0].type"),
         ({"logit_bias": []}, "logit_bias"),
         ({"stream_options": 1, "stream": True}, "stream_options"),
         ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
         ({"messages": [{"role": 7, "content": "x"}]}, "messages[0].role"),
         ({"messages": [{"role": "user", "content": [{"type": "text"}]}]},
          "messages[0].content[0].text"),
         ({"max_completion_tokens": True}, "max_completion_tokens"),
         ({"chat_template_kwargs": []}, "chat_template_kwargs")]


@extension("E06")
@pytest.mark.parametrize("fields, param", WRONG)
@pytest.mark.parametrize("stream", [False, True])
def test_wrong_types(target, lives, fields, param, stream):
    body = {"model": target.model, "messages": HI, "stream": stream, **fields}
    error = error_of(target.post(CHAT, body), 400)
    assert error["param"] and error["param"].split(".")[0].split("[")[0] == \
        param.split(".")[0].split("[")[0]
    assert param.startswith(error["param"])


@extension("E07")
@pytest.mark.parametrize("fields", [
    {"user": "me"}, {"metadata": {"a": "b"}}, {"store": True}, {"reasoning_effort": "medium"},
    {"service_tier": "auto"}, {"x_foo": {"deep": [1, {"x": None}]}}, {"top_a": 0.5},
    {"verbosity": "low", "prediction": None, "modalities": ["text"], "safety_identifier": "s"},
])
@pytest.mark.parametrize("stream", [False, True])
def test_unknown_fields_are_ignored(target, fields, stream):
    response = target.ask("hi", max_tokens=4, temperature=0, stream=stream, **fields)
    assert response.status_code == 200, response.text


@extension("E07")
def test_unknown_fields_inside_are_ignored(target):
    function = {"name": "f", "strict": True, "parameters": {"type": "object"}, "x": 1}
    messages = [{"role": "user", "name": "Ann", "content": "hi", "x": 2}]
    target.chat(messages, tools=[{"type": "function", "function": function, "y": 3}], max_tokens=4)


@extension("E07")
@pytest.mark.parametrize("fields", [
    dict.fromkeys(["max_tokens", "stop", "n", "seed", "temperature", "stream", "tools", "top_p",
                   "logit_bias", "logprobs", "top_logprobs", "user", "response_format",
                   "tool_choice", "stream_options", "chat_template_kwargs", "reasoning_effort"]),
    {"tools": []}, {"tools": [], "tool_choice": "auto"}, {"tool_choice": "none"},
    {"parallel_tool_calls": True}, {"response_format": {"type": "text"}}, {"logit_bias": {}},
])
def test_null_and_empty_are_absent(target, fields):
    plain = target.chat("hi", temperature=0, max_tokens=30)
    answer = target.chat("hi", **{"temperature": 0, "max_tokens": 30,
                                  **{k: v for k, v in fields.items() if v is not None}})
    assert answer.meaning() == plain.meaning()
    body = {"model": target.model, "messages": HI, **fields, "max_tokens": 3}
    assert target.post(CHAT, body).status_code == 200


@extension("E08")
@pytest.mark.parametrize("stream", [False, True])
def test_overflow(target, lives, stream):
    context = target.context()
    limit = target.ask("hi", max_tokens=context, stream=stream)
    error_of(limit, 400, code="context_length_exceeded")
    long = target.ask("word " * context, stream=stream, max_tokens=5)
    error = error_of(long, 400, code="context_length_exceeded")
    assert str(context) in error["message"]


@extension("E11")
def test_number_of_choices(target, lives):
    three = target.chat("hi", n=3, max_tokens=4, temperature=1).check()
    assert len(three.body["choices"]) == 3
    assert "128" in error_of(target.ask("hi", n=129), 400, param="n")["message"]
    error_of(target.ask("hi", n=0), 400, param="n")


@extension("E20")
@policy
@pytest.mark.parametrize("stop", ["", [""], ["a", ""], ["a"] * 5])
def test_refused_stop_strings(target, lives, stop):
    assert error_of(target.ask("hi", stop=stop), 400)["param"].startswith("stop")


@extension("E20")
@pytest.mark.parametrize("question", ["Count to five.", "Count from 1 to 9"])
def test_forms_of_stop(target, off, question):
    fields = {"temperature": 0, "max_tokens": 60, **off}
    plain = target.chat(question, **fields)
    assert target.chat(question, stop=None, **fields).meaning() == plain.meaning()
    assert target.chat(question, stop=[], **fields).meaning() == plain.meaning()
    string = target.chat(question, stop=" 3", **fields)
    assert string.text() == plain.text()[:plain.text().index(" 3")] and string.finish() == "stop"
    assert target.chat(question, stop=[" 3"], **fields).meaning() == string.meaning()
    assert target.chat(question, stop=["zzz", " 4", " 3", "\n"], **fields).text() == string.text()


@extension("E23")
@pytest.mark.parametrize("fields, count", [
    ({"max_completion_tokens": 8}, 8), ({"max_completion_tokens": 8, "max_tokens": 100}, 8),
    ({"max_completion_tokens": 20, "max_tokens": 5}, 20), ({"max_tokens": 8}, 8),
])
def test_max_completion_tokens(target, fields, count):
    answer = target.chat("Tell me a story.", **fields)
    assert answer.finish() == "length" and answer.token_count() == count


@extension("E24")
@policy
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_zero_tokens(target, lives, name):
    error_of(target.ask("hi", **{name: 0}), 400, param=name)


@extension("E25")
def test_stream_options(target, lives):
    error_of(target.ask("hi", stream_options={"include_usage": True}), 400, param="stream_options")
    for options in ({"include_usage": False}, {}, None):
        target.stream("hi", max_tokens=4, stream_options=options).check()


@extension("E50")
def test_large_image(target, lives):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 20_000_000}}
    response = target.ask([{"role": "user", "content": [image]}], max_tokens=4)
    assert response.status_code in (200, 400)


@extension("E50")
@pytest.mark.parametrize("announced", [True, False])
def test_body_of_200_megabytes(target, lives, announced):
    """Made while it is sent, with its length announced or in chunks."""
    size = 200 * 1024 * 1024
    block = b" " * (1 << 20)

    def body():
        yield b'{"messages":['
        for _ in range(size // len(block)):
            yield block
    headers = {**JSON, "Content-Length": str(13 + size)} if announced else JSON
    error_of(target.http.post(CHAT, content=body(), headers=headers), 413)


@extension("E50")
@pytest.mark.parametrize("unit", ["[", '{"a":', '{"messages":[{"content":[', '["'])
def test_deep_json(target, lives, unit):
    body = (unit * 100_000).encode()
    error_of(target.http.post(CHAT, content=body, headers=JSON), 400)
    deep = json.dumps({"model": target.model, "messages": HI})[:-1] + ', "x": ' + \
        "[" * 100_000 + "]" * 100_000 + "}"
    error_of(target.http.post(CHAT, content=deep.encode(), headers=JSON), 400)
