"""The server under test, whichever it is, and what it says: whole answers and streams folded into
the same shape, with the rules that every answer has to keep."""

import json

import httpx

CHAT = "/v1/chat/completions"
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<function=", "<parameter=", "<|im_")
FINISHES = {"stop", "length", "tool_calls"}


def user(content):
    return [{"role": "user", "content": content}]


class Target:
    """An OpenAI-compatible server behind a base URL (without /v1)."""

    def __init__(self, url, key=None, model="llm"):
        self.url = url.rstrip("/").removesuffix("/v1")
        self.key = key
        self.model = model
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=self.url, timeout=900, headers=self.headers)

    def choose_model(self):
        """Without a name: the first model that the server lists."""
        self.model = self.model or self.http.get("/v1/models").json()["data"][0]["id"]
        return self

    def post(self, path, body, **kwargs):
        return self.http.post(path, json=body, **kwargs)

    def ask(self, messages, **fields):
        """The response to a chat request, good or bad."""
        messages = user(messages) if isinstance(messages, str) else messages
        return self.post(CHAT, {"model": self.model, "messages": messages, **fields})

    def chat(self, messages, **fields):
        """The answer to a good chat request."""
        response = self.ask(messages, **fields)
        assert response.status_code == 200, response.text
        return Answer(response.json())

    def stream(self, messages, **fields):
        response = self.ask(messages, stream=True, **fields)
        assert response.status_code == 200, response.text
        return Stream(response)

    def both(self, messages, **fields):
        """The answers to one deterministic request, whole and folded from a stream."""
        options = {"stream_options": {"include_usage": True}}
        whole = self.chat(messages, **fields)
        return whole, self.stream(messages, **fields, **options).fold()

    def tokenize(self, **fields):
        response = self.post("/tokenize", {"model": self.model, **fields})
        assert response.status_code == 200, response.text
        return response.json()["tokens"]

    def rendered(self, messages, **fields):
        """The prompt text that a chat request becomes."""
        tokens = self.tokenize(messages=messages, **fields)
        response = self.post("/detokenize", {"model": self.model, "tokens": tokens})
        assert response.status_code == 200, response.text
        return response.json()["prompt"]

    def metric(self, *names):
        """The sum of some metrics over their labels."""
        lines = self.http.get("/metrics").text.splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(names)]
        assert values, f"none of {names} among the metrics"
        return sum(values)

    def running(self):
        """Sequences that the server works on, as of the end of the last step."""
        return self.metric("vllm:num_requests_running", "vllm:num_requests_waiting")

    def context(self):
        return self.http.get("/v1/models").json()["data"][0]["max_model_len"]


class Answer:
    """A chat completion."""

    def __init__(self, body):
        self.body = body
        self.usage = body.get("usage")

    def choice(self, index=0):
        return next(c for c in self.body["choices"] if c["index"] == index)

    def message(self, index=0):
        return self.choice(index)["message"]

    def text(self, index=0):
        return self.message(index).get("content") or ""

    def reasoning(self, index=0):
        """The thought, under whichever of the names in use the server gives it."""
        message = self.message(index)
        details = "".join(d.get("text") or "" for d in message.get("reasoning_details") or [])
        names = ("reasoning_content", "reasoning", "thinking")
        return next((message[name] for name in names if message.get(name)), details)

    def calls(self, index=0):
        return self.message(index).get("tool_calls") or []

    def call_list(self, index=0):
        """(name, arguments) of the calls, without ids."""
        return [(c["function"]["name"], json.loads(c["function"]["arguments"]))
                for c in self.calls(index)]

    def finish(self, index=0):
        return self.choice(index)["finish_reason"]

    def token_count(self):
        return self.usage["completion_tokens"]

    def meaning(self):
        """What must be equal however the answer was transported: all but ids and times."""
        choices = [(c["index"], c["finish_reason"], self.text(c["index"]),
                    self.reasoning(c["index"]),
                    [(k["function"]["name"], k["function"]["arguments"])
                     for k in self.calls(c["index"])], (c.get("logprobs") or {}).get("content"))
                   for c in sorted(self.body["choices"], key=lambda c: c["index"])]
        return choices, self.usage and {k: self.usage[k] for k in
                                        ("prompt_tokens", "completion_tokens", "total_tokens")}

    def check(self):
        """OpenAI's contract of a whole answer."""
        body = self.body
        assert body["object"] == "chat.completion" and body["id"].startswith("chatcmpl-")
        assert isinstance(body["created"], int) and isinstance(body["model"], str)
        assert self.usage["total_tokens"] == \
            self.usage["prompt_tokens"] + self.usage["completion_tokens"]
        assert [c["index"] for c in body["choices"]] == list(range(len(body["choices"])))
        for choice in body["choices"]:
            check_message(choice)
        return self


def check_message(choice):
    message = choice["message"]
    assert message["role"] == "assistant" and choice["finish_reason"] in FINISHES
    content = message["content"]
    calls = message.get("tool_calls")
    assert content is None or isinstance(content, str)
    assert not any(tag in (content or "") for tag in TAGS), content
    assert message.get("reasoning_content") == message.get("reasoning")
    assert calls is None or calls, "an empty list of calls"
    assert (choice["finish_reason"] == "tool_calls") <= bool(calls)
    for call in calls or []:
        assert call["type"] == "function" and call["id"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert len({call["id"] for call in calls or []}) == len(calls or [])


class Stream:
    """The events of a streamed chat completion."""

    def __init__(self, response):
        self.response = response
        self.lines = [line for line in response.text.split("\n") if line.strip()]
        self.chunks = [json.loads(line[6:]) for line in self.lines
                       if line.startswith("data: ") and line != "data: [DONE]"]

    def check_harness(self):
        """What the acceptance suite looks for: it reads streams as text."""
        text = self.response.text
        assert len([line for line in self.lines if line.startswith("data: ")]) >= 5
        assert text.count("[DONE]") == 1
        assert '"completion_tokens"' in text
        return self

    def deltas(self, index=0):
        return [c["delta"] for chunk in self.chunks for c in chunk["choices"]
                if c["index"] == index]

    def check(self, usage=False):
        """OpenAI's contract of a stream."""
        assert self.response.headers["content-type"].startswith("text/event-stream")
        assert all(line.startswith("data: ") for line in self.lines)
        assert self.lines[-1] == "data: [DONE]" and self.response.text.count("[DONE]") == 1
        assert len({(c["id"], c["created"], c["model"]) for c in self.chunks}) == 1
        assert all(c["object"] == "chat.completion.chunk" for c in self.chunks)
        assert self.chunks[0]["id"].startswith("chatcmpl-")
        body = self.chunks[:-1] if usage else self.chunks
        assert all(chunk["choices"] for chunk in body)
        assert all(chunk.get("usage") is None for chunk in body)
        if usage:
            assert self.chunks[-1]["choices"] == [] and self.chunks[-1]["usage"]["total_tokens"] > 0
        for index in {c["index"] for chunk in body for c in chunk["choices"]}:
            check_choice([c for chunk in body for c in chunk["choices"] if c["index"] == index])
        return self

    def fold(self):
        """The whole answer that the deltas add up to, in the shape of a whole answer."""
        choices = {}
        usage = None
        for chunk in self.chunks:
            usage = chunk.get("usage") or usage
            for choice in chunk["choices"]:
                index = choice["index"]
                fold_choice(choices.setdefault(index, new_choice(index)), choice)
        first = self.chunks[0]
        return Answer({"id": first["id"], "object": "chat.completion", "created": first["created"],
                       "model": first["model"], "usage": usage,
                       "choices": [choices[index] for index in sorted(choices)]})


def check_choice(choices):
    """The chunks of one choice, in order."""
    first, last = choices[0], choices[-1]
    assert first["delta"]["role"] == "assistant"
    assert all("role" not in c["delta"] for c in choices[1:])
    assert all(c["finish_reason"] is None for c in choices[:-1])
    assert last["finish_reason"] in FINISHES and last["delta"] == {}
    seen = {}
    for delta in (c["delta"] for c in choices[1:]):
        names = ("content", "reasoning_content", "reasoning", "tool_calls")
        assert all(delta[name] for name in names if name in delta), delta
        assert delta.get("reasoning_content") == delta.get("reasoning")
    for call in (call for c in choices for call in c["delta"].get("tool_calls") or []):
        index, function = call["index"], call["function"]
        if index not in seen:
            assert index == len(seen) and call["id"] and call["type"] == "function"
            assert function == {"name": function["name"], "arguments": ""} and function["name"]
            seen[index] = call["id"]
        else:
            assert set(call) == {"index", "function"} and set(function) == {"arguments"}, call
            assert function["arguments"]


def new_choice(index):
    return {"index": index, "finish_reason": None, "logprobs": None,
            "message": {"role": "assistant", "content": None}}


def fold_choice(folded, choice):
    message = folded["message"]
    folded["finish_reason"] = choice["finish_reason"] or folded["finish_reason"]
    if choice.get("logprobs"):
        folded["logprobs"] = folded["logprobs"] or {"content": []}
        folded["logprobs"]["content"] += choice["logprobs"]["content"] or []
    delta = choice["delta"]
    for name in ("content", "reasoning_content", "reasoning"):
        if delta.get(name) is not None:
            message[name] = (message.get(name) or "") + delta[name]
    for call in delta.get("tool_calls") or []:
        calls = message.setdefault("tool_calls", [])
        if call["index"] == len(calls):
            calls.append({"id": call["id"], "type": call["type"],
                          "function": {"name": call["function"]["name"], "arguments": ""}})
        function = calls[call["index"]]["function"]
        function["arguments"] += call["function"].get("arguments") or ""


def error_of(response, status=400, param=None, code=None):
    """The error object of a refused request."""
    assert response.status_code == status, (response.status_code, response.text)
    assert response.headers["content-type"].startswith("application/json")
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["message"], str) and error["message"] and isinstance(error["type"], str)
    assert param is None or error["param"] == param, error
    assert code is None or error["code"] == code, error
    return error
