"""The official openai client against the server: what its own types, stream helper and error classes
make of the answers. The tools loop runs a real function and hands its result back."""

import asyncio
import json

import openai
import pytest

from acceptance.prompts import WEATHER, weather_tool

OFF = {"chat_template_kwargs": {"enable_thinking": False}}
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="session")
def openai_client(target):
    return openai.OpenAI(base_url=target.url + "/v1", api_key=target.key or "unused", max_retries=0)


@pytest.fixture
def create(openai_client, target):
    def make(content, **fields):
        messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
        return openai_client.chat.completions.create(model=target.model, messages=messages,
                                                     **fields)
    return make


def test_chat(create):
    answer = create("What is 2 + 2?", temperature=0, max_completion_tokens=200)
    message = answer.choices[0].message
    assert "4" in message.content and message.reasoning_content and message.tool_calls is None
    assert answer.choices[0].finish_reason == "stop"
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert 0 < usage.completion_tokens_details.reasoning_tokens < usage.completion_tokens
    assert usage.prompt_tokens_details.cached_tokens >= 0


def test_streaming(create):
    fields = {"temperature": 0, "max_tokens": 200}
    whole = create("What is 2 + 2?", **fields)
    text, thought, usage = "", "", None
    for chunk in create("What is 2 + 2?", stream=True, stream_options={"include_usage": True},
                        **fields):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
    assert text == whole.choices[0].message.content
    assert thought == whole.choices[0].message.reasoning_content
    assert usage.completion_tokens == whole.usage.completion_tokens


def test_stream_helper(openai_client, target):
    """The client's own accumulation of deltas, with a call and its parsed arguments."""
    question, city = WEATHER[0]
    fields = {"model": target.model, "messages": [{"role": "user", "content": question}],
              "tools": [weather_tool()], "temperature": 0, "max_tokens": 300}
    kinds = []
    with openai_client.chat.completions.stream(**fields) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= set(kinds)
    call = final.choices[0].message.tool_calls[0]
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"city": city}
    assert final.choices[0].finish_reason == "tool_calls"
    greeting = {"model": target.model, "messages": HI, "temperature": 0}
    with openai_client.chat.completions.stream(**greeting) as stream:
        contents = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(contents) == final.choices[0].message.content


def get_weather(city):
    """The function that the model calls."""
    temperatures = {"Beijing": 17, "Paris": 11, "Rome": 23}
    return json.dumps({"city": city, "temperature": temperatures[city], "condition": "sunny"})


@pytest.mark.model
@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("question, expected", [
    ("What is the weather in Beijing?", ["17"]),
    ("What is the weather in Paris and Rome?", ["11", "23"])])
def test_tools_loop(create, question, expected, thinking):
    """Until the model has no more calls, messages go back as the client received them."""
    messages = [{"role": "user", "content": question}]
    fields = {"tools": [weather_tool()], "temperature": 0, "max_tokens": 400,
              "extra_body": {"enable_thinking": thinking}}
    called = 0
    for _ in range(3):
        message = create(messages, **fields).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            called += 1
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    assert called == len(expected) and all(text in message.content for text in expected)


def test_logprobs(create):
    answer = create("Count to five.", logprobs=True, top_logprobs=3, temperature=0, max_tokens=60,
                    extra_body=OFF)
    entries = answer.choices[0].logprobs.content
    assert len(entries) == answer.usage.completion_tokens
    text = b"".join(bytes(entry.bytes) for entry in entries).decode()
    assert text == answer.choices[0].message.content
    assert all(len(entry.top_logprobs) == 3 and entry.logprob <= 0 for entry in entries)


def test_several_choices(create):
    answer = create("hi", n=3, temperature=1, seed=5, max_tokens=20)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]


def test_error_classes(create, openai_client, target):
    with pytest.raises(openai.BadRequestError) as bad:
        create("hi", temperature=3)
    assert bad.value.param == "temperature" and bad.value.type == "invalid_request_error"
    with pytest.raises(openai.NotFoundError) as missing:
        openai_client.chat.completions.create(model="nope", messages=HI)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        create("word " * target.context(), stream=True)
    assert long.value.code == "context_length_exceeded"


@pytest.mark.local
def test_authentication_error(keyed):
    for key, allowed in (("wrong", False), ("second", True)):
        client = openai.OpenAI(base_url=keyed.url + "/v1", api_key=key, max_retries=0)
        if allowed:
            assert client.chat.completions.create(model="llm", messages=HI, max_tokens=2).choices
            continue
        with pytest.raises(openai.AuthenticationError) as refused:
            client.chat.completions.create(model="llm", messages=HI)
        assert refused.value.code == "invalid_api_key"


def test_eight_async_streams(target):
    questions = [f"Count from 1 to {last}." for last in range(5, 13)]

    async def ask(client, question):
        text = ""
        stream = await client.chat.completions.create(
            model=target.model, messages=[{"role": "user", "content": question}], stream=True,
            temperature=0, max_tokens=100, extra_body=OFF)
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
        return text

    async def run():
        url, key = target.url + "/v1", target.key or "unused"
        async with openai.AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
            return await asyncio.gather(*(ask(client, question) for question in questions))
    texts = asyncio.run(run())
    alone = [target.chat(q, temperature=0, max_tokens=100, **OFF).text() for q in questions]
    assert texts == alone and len(set(texts)) == 8


def test_raw_response_headers(openai_client, target):
    ids = set()
    for _ in range(2):
        raw = openai_client.chat.completions.with_raw_response.create(
            model=target.model, messages=HI, max_tokens=2)
        ids.add(raw.headers["x-request-id"])
        assert raw.parse()._request_id == raw.headers["x-request-id"]
    assert len(ids) == 2
    with openai_client.chat.completions.with_streaming_response.create(
            model=target.model, messages=HI, max_tokens=2, stream=True) as raw:
        assert raw.headers["x-request-id"]
        assert raw.headers["content-type"].startswith("text/event-stream")
    with pytest.raises(openai.BadRequestError) as bad:
        openai_client.chat.completions.create(model=target.model, messages=HI, n=0)
    assert bad.value.request_id


def test_fields_of_other_providers(create):
    """What Azure, gateways and agent frameworks add is ignored."""
    extra = {"data_sources": [{"type": "azure_search", "parameters": {}}], "enhancements": {},
             "provider": {"order": ["x"]}, "transforms": [], "route": "fallback", "top_a": 0.1,
             "extra_headers": {"a": "b"}, "cache_prompt": True, "guardrails": None}
    answer = create("hi", temperature=0, extra_body=extra, user="someone", store=False,
                    metadata={"run": "1"}, max_tokens=100)
    assert answer.choices[0].message.content == create("hi", temperature=0, max_tokens=100) \
        .choices[0].message.content


def test_models_and_completions(openai_client, target):
    assert target.model in [model.id for model in openai_client.models.list()]
    assert openai_client.models.retrieve(target.model).id == target.model
    answer = openai_client.completions.create(model=target.model, prompt="Once upon a time",
                                              max_tokens=8, temperature=0)
    pieces = openai_client.completions.create(model=target.model, prompt="Once upon a time",
                                              max_tokens=8, temperature=0, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == answer.choices[0].text
