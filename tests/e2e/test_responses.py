"""POST /v1/responses: the official client in its three ways, the tool loop, and the raw events."""

import json

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from conftest import MAX_MODEL_LEN, error_of

TOOL = {"type": "function", "name": "get_weather", "description": "Get the weather of a city.",
        "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                       "required": ["city"]}}
ASK = "What is the weather in Paris?"
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
GREEDY = {"temperature": 0}


def respond(api, given="hi", **fields):
    return api.post("/v1/responses", {"model": "tiny", "input": given, **fields})


def answer(api, given="hi", **fields):
    response = respond(api, given, **fields)
    assert response.status_code == 200, response.text
    body = response.json()
    Response.model_validate(body, strict=True)
    return body


def events_of(api, given="hi", **fields):
    """The events of a stream, each with its name as the type and numbered from 0."""
    response = respond(api, given, stream=True, **fields)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("\n\n") and "[DONE]" not in response.text
    events = []
    for block in response.text[:-2].split("\n\n"):
        name, data = block.split("\n")
        assert name.startswith("event: ") and data.startswith("data: "), block
        events.append(json.loads(data[6:]))
        assert events[-1]["type"] == name[7:]
        TypeAdapter(ResponseStreamEvent).validate_python(events[-1], strict=True)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def text_of(body):
    return "".join(part["text"] for item in body["output"] if item["type"] == "message"
                   for part in item["content"])


def comparable(response):
    """Without what names this one answer; ids of items contain that of the answer."""
    own = json.dumps(response).replace(response["id"].removeprefix("resp_"), "ID")
    plain = json.loads(own)
    plain["created_at"] = plain["completed_at"] = None
    plain["usage"].pop("input_tokens_details")  # the second finds the first one's prompt
    for item in plain["output"]:
        item.pop("call_id", None)  # random
    return plain


@pytest.mark.parametrize("fields", [
    {"max_output_tokens": 200}, {"max_output_tokens": 5}, {"max_output_tokens": 200, **NO_THINKING},
    {"max_output_tokens": 400, "tools": [TOOL]},
    {"max_output_tokens": 400, "tools": [TOOL], **NO_THINKING},
    {"max_output_tokens": 12, "tools": [TOOL], **NO_THINKING},
    {"max_output_tokens": 60, "include": ["message.output_text.logprobs"], "top_logprobs": 2},
    {"max_output_tokens": 60, "include": ["reasoning.encrypted_content"]},
])
def test_body_is_the_last_snapshot_of_the_stream(api, fields):
    whole = answer(api, ASK, **GREEDY, **fields)
    last = events_of(api, ASK, **GREEDY, **fields)[-1]
    assert last["type"] == "response." + whole["status"]
    assert comparable(last["response"]) == comparable(whole)


def test_whole_answer(api):
    body = answer(api, "hi", instructions="Be polite.", metadata={"a": "b"}, user="u",
                  max_output_tokens=300, temperature=0, store=True)
    assert body["object"] == "response" and body["id"].startswith("resp_")
    assert body["status"] == "completed" and body["error"] is None
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]
    thought, message = body["output"]
    assert thought["content"][0]["text"] and thought["summary"] == []
    assert message["content"][0]["text"] and message["content"][0]["annotations"] == []
    assert "<think>" not in str(body["output"]) and "</think>" not in str(body["output"])
    assert body["instructions"] == "Be polite." and body["metadata"] == {"a": "b"}
    assert body["store"] is False and body["temperature"] == 0 and body["tools"] == []
    usage = body["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert 0 < usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"]


def test_same_answer_as_chat(api):
    body = answer(api, "Count to five.", max_output_tokens=300, temperature=0)
    message = api.chat("Count to five.", max_tokens=300, temperature=0).json()
    assert text_of(body) == message["choices"][0]["message"]["content"]
    assert body["output"][0]["content"][0]["text"] == \
        message["choices"][0]["message"]["reasoning_content"]
    assert body["usage"]["input_tokens"] == message["usage"]["prompt_tokens"]
    assert body["usage"]["output_tokens"] == message["usage"]["completion_tokens"]


def test_token_limit(api):
    body = answer(api, max_output_tokens=3, ignore_eos=True)
    assert body["status"] == "incomplete"
    assert body["incomplete_details"] == {"reason": "max_output_tokens"}
    assert body["output"][-1]["status"] == "incomplete"
    assert body["usage"]["output_tokens"] == 3


def test_thinking_off(api):
    for fields in (NO_THINKING, {"reasoning": {"effort": "none"}}):
        body = answer(api, "2+2?", max_output_tokens=100, temperature=0, **fields)
        assert [item["type"] for item in body["output"]] == ["message"]
        assert body["usage"]["output_tokens_details"]["reasoning_tokens"] == 0


def test_stop_string(api):
    body = answer(api, "Count to five.", stop="3", max_output_tokens=200, temperature=0,
                  **NO_THINKING)
    assert body["status"] == "completed"
    assert "2" in text_of(body) and "3" not in text_of(body)


def test_logprobs_are_those_of_the_text(api):
    body = answer(api, "hi", max_output_tokens=300, temperature=0, top_logprobs=3,
                  include=["message.output_text.logprobs"])
    part = body["output"][-1]["content"][0]
    data = bytes(byte for entry in part["logprobs"] for byte in entry["bytes"])
    assert data.decode() == part["text"]
    assert all(len(entry["top_logprobs"]) == 3 and entry["logprob"] <= 0
               for entry in part["logprobs"])


def test_client_create(client):
    response = client.responses.create(model="tiny", input="hi", temperature=0,
                                       max_output_tokens=300)
    assert response.status == "completed" and response.output_text
    assert response.output[0].type == "reasoning"
    assert response.usage.output_tokens_details.reasoning_tokens > 0
    assert response.usage.input_tokens_details.cached_tokens >= 0


def test_client_streams(client):
    whole = client.responses.create(model="tiny", input="hi", temperature=0, max_output_tokens=300)
    text = thought = ""
    with client.responses.stream(model="tiny", input="hi", temperature=0,
                                 max_output_tokens=300) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.reasoning_text.delta":
                thought += event.delta
        final = stream.get_final_response()
    assert final.output_text == text == whole.output_text
    assert thought == whole.output[0].content[0].text
    types = [event.type for event in client.responses.create(
        model="tiny", input="hi", temperature=0, max_output_tokens=300, stream=True)]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert types[-1] == "response.completed"


@pytest.mark.parametrize("extra_body", [{}, NO_THINKING])
@pytest.mark.parametrize("stream", [False, True])
def test_client_tool_loop(client, stream, extra_body):
    history = [{"role": "user", "content": ASK}]
    fields = {"model": "tiny", "tools": [TOOL], "temperature": 0, "max_output_tokens": 500,
              "extra_body": extra_body}
    if stream:
        with client.responses.stream(input=history, **fields) as events:
            response = events.until_done().get_final_response()
    else:
        response = client.responses.create(input=history, **fields)
    calls = [item for item in response.output if item.type == "function_call"]
    assert len(calls) == 1 and calls[0].name == "get_weather" and calls[0].status == "completed"
    assert "Paris" in json.loads(calls[0].arguments)["city"]
    assert calls[0].call_id.startswith("call_")
    history += [item.to_dict() for item in response.output]
    history.append({"type": "function_call_output", "call_id": calls[0].call_id,
                    "output": json.dumps({"weather": "sunny", "temperature": 21})})
    after = client.responses.create(input=history, **fields)
    assert after.status == "completed" and after.output_text
    assert not [item for item in after.output if item.type == "function_call"]


def test_own_output_makes_the_prompt_that_chat_makes(api):
    """The tokens of a second turn are those of the chat history with the same answer."""
    chat_tool = {"type": "function",
                 "function": {key: TOOL[key] for key in ("name", "description", "parameters")}}
    first = answer(api, ASK, tools=[TOOL], temperature=0, max_output_tokens=500)
    call = next(item for item in first["output"] if item["type"] == "function_call")
    items = [{"role": "user", "content": ASK}, *first["output"],
             {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}]
    second = answer(api, items, tools=[TOOL], max_output_tokens=1)
    chat_first = api.chat(ASK, tools=[chat_tool], temperature=0, max_tokens=500).json()
    messages = [{"role": "user", "content": ASK}, chat_first["choices"][0]["message"],
                {"role": "tool", "tool_call_id": "x", "content": "sunny"}]
    chat_second = api.post("/v1/chat/completions", {"messages": messages, "tools": [chat_tool],
                                                    "max_tokens": 1}).json()
    assert second["usage"]["input_tokens"] == chat_second["usage"]["prompt_tokens"]


def test_incomplete_output_is_accepted_back(api):
    for limit in (4, 12, 20, 30):
        first = answer(api, ASK, tools=[TOOL], temperature=0, max_output_tokens=limit,
                       **NO_THINKING)
        items = [{"role": "user", "content": ASK}, *first["output"],
                 {"role": "user", "content": "Go on."}]
        answer(api, items, tools=[TOOL], max_output_tokens=2)


def test_reasoning_survives_clients_that_drop_its_text(api):
    first = answer(api, ASK, tools=[TOOL], temperature=0, max_output_tokens=500,
                   include=["reasoning.encrypted_content"])
    kept = [{"role": "user", "content": ASK}, *first["output"]]
    call = next(item for item in first["output"] if item["type"] == "function_call")
    kept.append({"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"})
    dropped = [{key: value for key, value in item.items()
                if item.get("type") != "reasoning" or key != "content"} for item in kept]
    assert dropped != kept
    counts = [answer(api, items, tools=[TOOL], max_output_tokens=1)["usage"]["input_tokens"]
              for items in (kept, dropped)]
    assert counts[0] == counts[1]


def test_tool_choice_none(api):
    body = answer(api, ASK, tools=[TOOL], tool_choice="none", temperature=0,
                  max_output_tokens=300)
    assert not [item for item in body["output"] if item["type"] == "function_call"]
    assert "<tool_call>" not in text_of(body)


@pytest.mark.parametrize("choice", [
    "required", {"type": "function", "name": "get_weather"},
    {"type": "allowed_tools", "mode": "required",
     "tools": [{"type": "function", "name": "get_weather"}]}])
def test_tool_choice_forces_a_call(api, choice):
    other = {"type": "function", "name": "other", "parameters": {"type": "object"}}
    body = answer(api, "hi", tools=[TOOL] if choice == "required" else [TOOL, other],
                  tool_choice=choice, temperature=0, max_output_tokens=500)
    assert body["tool_choice"] == choice
    calls = [item for item in body["output"] if item["type"] == "function_call"]
    assert calls and all(call["name"] == "get_weather" for call in calls)
    assert isinstance(json.loads(calls[0]["arguments"])["city"], str)


def test_text_format(api):
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
              "required": ["name", "age"], "additionalProperties": False}
    text = {"format": {"type": "json_schema", "name": "person", "schema": schema, "strict": True}}
    body = answer(api, "An object with name Alice and age 30.", text=text, temperature=0,
                  max_output_tokens=600)
    person = json.loads(text_of(body))
    assert set(person) == {"name", "age"} and isinstance(person["age"], int)
    assert body["text"] == text
    error = error_of(respond(api, text={"format": {"type": "json_schema", "name": "x", "schema":
                                                   {"type": "strng"}}}), 400)
    assert error["param"].startswith("text.format"), error


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fields,param", [
    ({"input": None}, "input"),
    ({"input": []}, "input"),
    ({"input": [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]},
     "input[1].role"),
    ({"input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": "data:image/png;base64,aaaa"}]}]},
     "input[0].content[0]"),
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"tools": [{"type": "function", "name": "a b"}]}, "tools[0].name"),
    ({"tool_choice": {"type": "web_search"}, "tools": [TOOL]}, "tool_choice.type"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"temperature": 2.5}, "temperature"),
    ({"top_p": "high"}, "top_p"),
    ({"text": {"format": {"type": "odd"}}}, "text.format.type"),
    ({"reasoning": {"effort": "odd"}}, "reasoning.effort"),
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"background": True}, "background"),
    ({"truncation": "auto"}, "truncation"),
    ({"include": ["odd"]}, "include[0]"),
    ({"top_logprobs": 21, "include": ["message.output_text.logprobs"]}, "top_logprobs"),
])
def test_errors_name_the_field(api, alive, fields, param, stream):
    body = {"model": "tiny", "input": "hi", "stream": stream, **fields}
    error = error_of(api.post("/v1/responses", body), 400)
    assert error["param"] == param, error
    assert error["type"] == "invalid_request_error"


def test_unknown_model(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.create(model="nope", input="hi")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [False, True])
def test_context_overflow_is_a_status(api, stream):
    long = error_of(respond(api, "word " * MAX_MODEL_LEN, stream=stream), 400)
    assert long["code"] == "context_length_exceeded"
    error = error_of(respond(api, max_output_tokens=MAX_MODEL_LEN, stream=stream), 400)
    assert error["code"] == "context_length_exceeded" and error["param"] == "max_output_tokens"
    assert "'max_output_tokens'" in error["message"]


def test_wrong_method_and_body(api, alive):
    assert api.http.get("/v1/responses").status_code == 405
    for body in ("", "[]", '{"input":', "[" * 100000):
        assert api.http.post("/v1/responses", content=body).status_code == 400
