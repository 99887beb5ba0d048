"""Anthropic's Messages protocol as coding agents speak it: over httpx, and with the official client."""

import json
import pathlib

import anthropic
import httpx
import jiter
import pytest

from conftest import MAX_MODEL_LEN, ROOT, Server

PATH = "/v1/messages"
AGENT = json.loads((ROOT / "tests/data/api/messages_agent.json").read_text())
OFF = {"type": "disabled"}
WEATHER = {"name": "get_weather", "description": "The current weather of a city.",
           "input_schema": {"type": "object", "required": ["city"],
                            "properties": {"city": {"type": "string", "description": "City name"}}}}


def body(content="hi", **fields):
    return {"model": "tiny", "max_tokens": 40, "messages": [{"role": "user", "content": content}],
            **fields}


@pytest.fixture(scope="module")
def claude(server):
    return anthropic.Anthropic(base_url=server.url, api_key="unused", max_retries=0)


def message_of(response):
    assert response.status_code == 200, response.text
    return response.json()


def events_of(response):
    """The (name, data) pairs of a stream, checked for framing."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    events = []
    for block in response.text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        data = json.loads(data.removeprefix("data: "))
        assert name == f"event: {data['type']}"
        events.append((data["type"], data))
    return events


def error_of(response, status, kind):
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("application/json")
    error = response.json()
    assert error["type"] == "error" and error["error"]["type"] == kind and error["error"]["message"]
    return error["error"]["message"]


def usage_of(message):
    """Without what the prefix cache does to two equal requests."""
    usage = message["usage"]
    return usage["input_tokens"] + usage["cache_read_input_tokens"], usage["output_tokens"]


def accumulate(events):
    """A message out of its stream."""
    message, text = None, {}
    for name, data in events:
        if name == "message_start":
            message = data["message"]
        elif name == "content_block_start":
            assert data["index"] == len(message["content"])
            message["content"].append(data["content_block"])
        elif name == "content_block_delta":
            block, delta = message["content"][data["index"]], data["delta"]
            key = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
                   "input_json_delta": "partial_json"}[delta["type"]]
            text[data["index"]] = text.get(data["index"], "") + delta.get("partial_json", "")
            if key != "partial_json":
                block[key] += delta[key]
        elif name == "content_block_stop":
            block = message["content"][data["index"]]
            if block["type"] == "tool_use":
                block["input"] = whole_json(text.get(data["index"], ""))
        elif name == "message_delta":
            message.update(data["delta"], usage=data["usage"])
    # max_tokens may end a call; nothing else does, and what was before it is whole.
    inputs = [block.get("input", {}) for block in message["content"]]
    cut = message["stop_reason"] == "max_tokens"
    assert None not in (inputs[:-1] if cut else inputs), message
    return message


def whole_json(text):
    """None for what was cut, which is the beginning of a JSON document as clients read it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        assert not text or jiter.from_json(text.encode(), partial_mode=True) is not None
        return None


def without_ids(content):
    return [{key: value for key, value in block.items() if key != "id"} for block in content]


def test_whole_message(api):
    message = message_of(api.post(PATH, body(max_tokens=60)))
    assert message["id"].startswith("msg_") and message["type"] == "message"
    assert message["role"] == "assistant" and message["model"] == "tiny"
    assert message["stop_reason"] in ("end_turn", "max_tokens") and message["stop_sequence"] is None
    assert message["usage"]["output_tokens"] > 0 and message["usage"]["input_tokens"] > 0
    assert message["usage"]["cache_creation_input_tokens"] == 0


def test_event_order(api):
    events = events_of(api.post(PATH, body("Add 2 and 3.", max_tokens=300, stream=True)))
    names = [name for name, _ in events]
    assert names[0] == "message_start" and names[-2:] == ["message_delta", "message_stop"]
    start = events[0][1]["message"]
    assert start["content"] == [] and start["stop_reason"] is None and start["usage"]["input_tokens"]
    open_block, index = False, 0
    for name, data in events[1:-2]:
        assert data["index"] == index
        assert open_block == (name != "content_block_start")
        open_block = name != "content_block_stop"
        index += name == "content_block_stop"
    assert not open_block and index >= 1


@pytest.mark.parametrize("fields", [
    {"content": "Count from 1 to 8.", "thinking": OFF},
    {"content": "What is 12 + 7?", "thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"content": "What is 12 + 7?", "thinking": {"type": "adaptive", "display": "omitted"}},
    {"content": "What is the weather in Beijing?", "tools": [WEATHER], "thinking": OFF},
    {"content": "Count from 1 to 30.", "thinking": OFF, "stop_sequences": ["9"]},
    {"content": "Count from 1 to 30.", "max_tokens": 3},
])
def test_the_stream_is_the_whole_message(api, claude, fields):
    fields = {"max_tokens": 300, "temperature": 0, **fields}
    whole = message_of(api.post(PATH, body(**fields)))
    streamed = accumulate(events_of(api.post(PATH, body(stream=True, **fields))))
    assert without_ids(streamed["content"]) == without_ids(whole["content"])
    for key in ("stop_reason", "stop_sequence"):
        assert streamed[key] == whole[key]
    assert usage_of(streamed) == usage_of(whole)
    request = body(**fields)
    del request["temperature"]
    with claude.messages.stream(**request, extra_body={"temperature": 0}) as stream:
        final = stream.get_final_message()
    assert final.stop_reason == whole["stop_reason"]
    content = [block.model_dump(exclude_none=True) for block in final.content]
    assert without_ids(content) == without_ids(whole["content"])


def test_thinking_is_a_block_that_comes_back(api):
    message = message_of(api.post(PATH, body("What is 12 + 7?", max_tokens=400, temperature=0,
                                             thinking={"type": "enabled", "budget_tokens": 1024})))
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]
    thinking, text = message["content"]
    assert thinking["thinking"] and thinking["signature"] and "19" in text["text"]
    assert 0 < message["usage"]["output_tokens_details"]["thinking_tokens"]
    history = [{"role": "user", "content": "What is 12 + 7?"},
               {"role": "assistant", "content": message["content"]},
               {"role": "user", "content": "Thanks!"}]
    assert message_of(api.post(PATH, body(messages=history, temperature=0)))["content"]


def test_thinking_off(api):
    message = message_of(api.post(PATH, body("What is 12 + 7?", thinking=OFF, temperature=0)))
    assert [block["type"] for block in message["content"]] == ["text"]
    assert "think>" not in message["content"][0]["text"]


def test_an_omitted_thought_is_not_lost(api):
    fields = {"max_tokens": 400, "temperature": 0}
    shown = message_of(api.post(PATH, body("What is 12 + 7?", **fields)))["content"][0]["thinking"]
    hidden = message_of(api.post(PATH, body("What is 12 + 7?", **fields, thinking={
        "type": "enabled", "display": "omitted"})))["content"][0]
    assert shown and hidden["thinking"] == ""

    def count(block):
        history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [
            block, {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Ulm"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "4"}]}]
        answer = api.post(PATH + "/count_tokens", body(messages=history, tools=[WEATHER]))
        return message_of(answer)["input_tokens"]

    full = count({"type": "thinking", "thinking": shown, "signature": "x"})
    assert count(hidden) == full
    assert count({"type": "thinking", "thinking": "", "signature": "x"}) < full


def test_tool_loop(claude):
    messages = [{"role": "user", "content": "What is the weather in Beijing?"}]
    fields = {"model": "tiny", "max_tokens": 300, "tools": [WEATHER], "thinking": OFF,
              "extra_body": {"temperature": 0}}
    first = claude.messages.create(messages=messages, **fields)
    assert first.stop_reason == "tool_use"
    calls = [block for block in first.content if block.type == "tool_use"]
    assert [call.name for call in calls] == ["get_weather"]
    assert calls[0].input == {"city": "Beijing"} and calls[0].id.startswith("toolu_")
    messages += [{"role": "assistant", "content": first.content},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": calls[0].id,
                                               "content": "sunny, 21 degrees"}]}]
    second = claude.messages.create(messages=messages, **fields)
    assert second.stop_reason == "end_turn"
    assert "sunny" in second.content[0].text


def test_tool_choice_none_and_one_call_at_most(api):
    question = body("What is the weather in Paris and in Rome?", tools=[WEATHER], thinking=OFF,
                    temperature=0, max_tokens=300)
    none = message_of(api.post(PATH, question | {"tool_choice": {"type": "none"}}))
    assert all(block["type"] == "text" for block in none["content"])
    one = message_of(api.post(PATH, question | {
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}))
    assert sum(block["type"] == "tool_use" for block in one["content"]) <= 1


def test_stop_sequences(api):
    message = message_of(api.post(PATH, body(
        "Count from 1 to 30.", max_tokens=200, temperature=0, thinking=OFF,
        stop_sequences=["alpha", "beta", "gamma", "delta", "epsilon", "9"])))
    assert message["stop_reason"] == "stop_sequence" and message["stop_sequence"] == "9"
    assert "8" in message["content"][0]["text"] and "9" not in message["content"][0]["text"]


def test_max_tokens_ends_even_a_thought(api):
    message = message_of(api.post(PATH, body(max_tokens=1)))
    assert message["stop_reason"] == "max_tokens" and message["usage"]["output_tokens"] == 1


def test_a_last_assistant_message_is_continued(api):
    messages = [{"role": "user", "content": "Count from 1 to 6."},
                {"role": "assistant", "content": "1, 2, 3,"}]
    message = message_of(api.post(PATH, body(messages=messages, temperature=0)))
    assert message["content"][0]["text"].lstrip(" ").startswith("4")


def test_count_tokens_is_what_the_message_uses(api, claude):
    requests = [body("hello"), body("hello", system="Be brief.", tools=[WEATHER], thinking=OFF),
                {key: AGENT[key] for key in AGENT if key != "stream"}]
    for request in requests:
        used = message_of(api.post(PATH, request | {"max_tokens": 1}))["usage"]
        del request["max_tokens"]
        counted = message_of(api.post(PATH + "/count_tokens", request))
        assert counted == {"input_tokens": used["input_tokens"] + used["cache_read_input_tokens"]}
    long = claude.messages.count_tokens(
        model="tiny", messages=[{"role": "user", "content": "word " * (2 * MAX_MODEL_LEN)}])
    assert long.input_tokens > MAX_MODEL_LEN


def test_an_agents_request_is_served(api):
    query = {"params": {"beta": "true"}, "headers": {
        "anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14",
        "x-api-key": "unused"}}
    events = events_of(api.post(PATH, AGENT, **query))
    assert events[-1][0] == "message_stop"
    assert accumulate(events)["usage"]["output_tokens"] > 0
    message = message_of(api.post(PATH, AGENT | {"stream": False}, **query))
    assert message["content"]


def test_the_clients_beta_interface(claude):
    fields = {key: AGENT[key] for key in ("model", "max_tokens", "system", "tools", "messages",
                                          "thinking", "metadata", "context_management")}
    with claude.beta.messages.stream(betas=["context-management-2025-06-27"], **fields) as stream:
        assert stream.get_final_message().usage.output_tokens > 0


@pytest.mark.parametrize("stream", [False, True])
def test_overflow_is_a_status_in_the_words_that_agents_look_for(api, stream):
    message = error_of(api.post(PATH, body(max_tokens=MAX_MODEL_LEN, stream=stream)), 400,
                       "invalid_request_error")
    assert message.startswith("input length and `max_tokens` exceed context limit: ")
    prompt = int(message.split(": ")[1].split(" ")[0])
    counted = message_of(api.post(PATH + "/count_tokens", body()))["input_tokens"]
    assert prompt == counted and f"{prompt} + {MAX_MODEL_LEN} > {MAX_MODEL_LEN}" in message
    assert api.post(PATH, body(max_tokens=1)).status_code == 200
    message = error_of(api.post(PATH, body("word " * (2 * MAX_MODEL_LEN), stream=stream)), 400,
                       "invalid_request_error")
    assert message.startswith("prompt is too long: ")


@pytest.mark.parametrize("fields, name", [
    ({"max_tokens": None}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "9"}, "max_tokens"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": [{"role": "tool", "content": "hi"}]}, "messages[0].role"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": 1.5}, "top_p"),
    ({"top_k": 1.5}, "top_k"),
    ({"stream": "yes"}, "stream"),
    ({"stop_sequences": "x"}, "stop_sequences"),
    ({"stop_sequences": [""]}, "stop_sequences"),
    ({"system": 7}, "system"),
    ({"tools": [{"name": "a b", "input_schema": {}}]}, "tools[0].name"),
    ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
    ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "bash_20250124"),
    ({"thinking": {"type": "on"}}, "thinking.type"),
    ({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image", "source": {"type": "url", "url": "x"}}]}]},
     "messages[0].content[1]"),
    ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "document"),
])
def test_bad_requests_name_the_field(api, alive, fields, name):
    for path in (PATH, PATH + "/count_tokens"):
        if path == PATH or name.split("[")[0] in ("messages", "system", "tools", "thinking.type"):
            assert name in error_of(api.post(path, body(**fields)), 400, "invalid_request_error")


def test_errors_have_the_protocols_form_wherever_they_arise(api):
    error_of(api.post(PATH, body(model="nope")), 404, "not_found_error")
    error_of(api.post(PATH + "/count_tokens", body(model="nope")), 404, "not_found_error")
    error_of(api.http.post(PATH, content=b'{"model":'), 400, "invalid_request_error")
    error_of(api.http.post(PATH, content=b"[" * 100000), 400, "invalid_request_error")
    error_of(api.http.post(PATH, content=b""), 400, "invalid_request_error")
    error_of(api.http.post(PATH, content="{}", headers={"content-type": "text/plain"}), 415,
             "invalid_request_error")
    error_of(api.http.get(PATH), 405, "invalid_request_error")
    # Another protocol's error on another path.
    assert "type" not in api.post("/v1/chat/completions", {"model": "nope"}).json()


def test_a_body_that_is_too_large(raw):
    raw.send(f"POST {PATH} HTTP/1.1\r\nHost: t\r\nContent-Length: {2**40}\r\n\r\n")
    status, _, data = raw.read()
    assert status == 413 and json.loads(data)["error"]["type"] == "request_too_large"


def test_the_clients_error_classes(claude):
    fields = {"model": "tiny", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(anthropic.BadRequestError, match="messages"):
        claude.messages.create(**fields | {"messages": []})
    with pytest.raises(anthropic.NotFoundError, match="nope"):
        claude.messages.create(**fields | {"model": "nope"})
    with pytest.raises(anthropic.BadRequestError, match="exceed context limit"):
        with claude.messages.stream(**fields | {"max_tokens": MAX_MODEL_LEN}) as stream:
            stream.get_final_message()


def test_keys(tmp_path: pathlib.Path):
    server = Server(tmp_path, "--api-key", "right", "--threads", "1")
    try:
        fields = {"model": "tiny", "max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]}
        good = anthropic.Anthropic(base_url=server.url, api_key="right", max_retries=0)
        assert good.messages.create(**fields).usage.output_tokens
        wrong = anthropic.Anthropic(base_url=server.url, api_key="wrong", max_retries=0)
        with pytest.raises(anthropic.AuthenticationError, match="authentication_error"):
            wrong.messages.create(**fields)
        error_of(httpx.post(server.url + PATH, json=fields, timeout=60), 401, "authentication_error")
    finally:
        server.stop()
