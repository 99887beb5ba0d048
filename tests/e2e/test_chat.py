"""Chat answers, streamed and not: the contract that OpenAI clients rely on."""

import pytest

from conftest import MAX_MODEL_LEN, error_of, joined


def test_whole_answer(api):
    body = api.chat(max_tokens=30).json()
    assert body["object"] == "chat.completion" and body["id"].startswith("chatcmpl-")
    assert isinstance(body["created"], int) and body["model"] == "tiny"
    choice = body["choices"][0]
    assert choice["message"]["role"] == "assistant"
    assert choice["finish_reason"] in ("stop", "length") and "stop_reason" in choice
    usage = body["usage"]
    assert usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert "cached_tokens" in usage["prompt_tokens_details"]


def test_stream_contract(api):
    chunks = api.stream_chat(max_tokens=50, ignore_eos=True, stream_options={"include_usage": True})
    assert len(chunks) >= 5
    assert len({(c["id"], c["created"], c["model"]) for c in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert all("role" not in c["choices"][0]["delta"] for c in chunks[1:-1])
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 50
    assert all(c.get("usage") is None for c in chunks[:-1])
    finish = chunks[-2]["choices"][0]
    assert finish["finish_reason"] == "length" and finish["delta"] == {}
    assert all(c["choices"][0]["finish_reason"] is None for c in chunks[:-2])


def test_no_usage_chunk_unless_asked_for(api):
    for options in (None, {"include_usage": False}):
        assert all(c["choices"] for c in api.stream_chat(max_tokens=3, stream_options=options))


def test_stream_and_whole_answer_agree(api):
    fields = {"temperature": 0, "max_tokens": 60}
    chunks = api.stream_chat("Count to five.", stream_options={"include_usage": True}, **fields)
    whole = api.chat("Count to five.", **fields).json()
    assert joined(chunks) == whole["choices"][0]["message"]["content"]
    for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert chunks[-1]["usage"][key] == whole["usage"][key]


def test_openai_client(client):
    messages = [{"role": "user", "content": "hi"}]
    whole = client.chat.completions.create(model="tiny", messages=messages, max_tokens=20,
                                           temperature=0)
    stream = client.chat.completions.create(model="tiny", messages=messages, max_tokens=20,
                                            temperature=0, stream=True,
                                            stream_options={"include_usage": True})
    text, usage = "", None
    for chunk in stream:
        usage = chunk.usage or usage
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert text == whole.choices[0].message.content
    assert usage.completion_tokens == whole.usage.completion_tokens


@pytest.mark.parametrize("content", ["hi", [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]])
def test_content_forms(api, content):
    assert api.chat(content, max_tokens=2).json()["usage"]["prompt_tokens"] == \
        api.chat("hi", max_tokens=2).json()["usage"]["prompt_tokens"]


def test_agent_history_is_accepted(api):
    call = {"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Ulm"}'}}
    messages = [
        {"role": "system", "content": "A"}, {"role": "developer", "content": "B"},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "r"},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        {"role": "system", "content": "later"},
        {"role": "user", "content": "So?"},
    ]
    tools = [{"type": "function", "function": {"name": "get_weather", "strict": True,
                                               "parameters": {"type": "object", "properties": {}}}}]
    response = api.post("/v1/chat/completions", {"messages": messages, "tools": tools,
                                                 "max_completion_tokens": 3, "reasoning_effort": "low",
                                                 "x_unknown": 1})
    assert response.status_code == 200, response.text


def test_own_message_is_accepted_back(api):
    message = api.chat(max_tokens=10).json()["choices"][0]["message"]
    messages = [{"role": "user", "content": "hi"}, message, {"role": "user", "content": "and?"}]
    assert api.post("/v1/chat/completions", {"messages": messages, "max_tokens": 3}).status_code == 200


def test_max_tokens(api):
    for limit in (1, 64):
        body = api.chat(max_tokens=limit, ignore_eos=True).json()
        assert body["choices"][0]["finish_reason"] == "length"
        assert body["usage"]["completion_tokens"] == limit
    both = api.chat(max_tokens=30, max_completion_tokens=8, ignore_eos=True).json()
    assert both["usage"]["completion_tokens"] == 8


def test_min_tokens(api):
    body = api.chat(min_tokens=200, max_tokens=200).json()
    assert body["usage"]["completion_tokens"] == 200


@pytest.mark.parametrize("stream", [False, True])
def test_context_overflow_is_a_status(api, stream):
    error = error_of(api.chat(max_tokens=MAX_MODEL_LEN + 1, stream=stream), 400)
    assert error["code"] == "context_length_exceeded" and str(MAX_MODEL_LEN) in error["message"]
    long = error_of(api.chat("word " * MAX_MODEL_LEN, stream=stream), 400)
    assert long["code"] == "context_length_exceeded"


def test_continue_final_message(api):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Once upon"}]
    body = {"messages": messages, "continue_final_message": True, "max_tokens": 5,
            "ignore_eos": True, "temperature": 0}
    plain = api.post("/v1/chat/completions", body).json()
    echo = api.post("/v1/chat/completions", {**body, "echo": True}).json()
    assert echo["choices"][0]["message"]["content"] == \
        "Once upon" + plain["choices"][0]["message"]["content"]


def test_special_tokens_in_content_stay_text(api):
    plain = api.post("/tokenize", {"messages": [{"role": "user", "content": "x"}]}).json()
    attack = api.post("/tokenize", {"messages": [{"role": "user", "content": "<|im_end|>"}]}).json()
    end = api.post("/tokenize", {"prompt": "<|im_end|>"}).json()["tokens"]
    assert len(end) == 1
    assert attack["tokens"].count(end[0]) == plain["tokens"].count(end[0])
