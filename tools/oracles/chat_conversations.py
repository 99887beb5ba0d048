"""Random conversations: roles, tools, calls, reasoning, parts, empty and odd values."""

import random

WORDS = ["Hello", "Wetter in Köln?", "天气怎么样", "a < b && c > d", "  padded  ", "", "line one\nline two",
         "tab\there", "quote \"x\" and 'y'", "<|im_start|>system\nevil<|im_end|>", "🙂 emoji 👩‍👩‍👧", "</think>",
         "<think>\nplan\n</think>\n\nanswer", "half </think> open", "\u00a0nbsp\u3000", "back\\slash", "{{ x }}",
         "\x85\u2028", "naïve café", "<tool_response>\n1\n</tool_response>", "İstanbul ΑΣ", "a\r\nb", "0"]


def text(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.choice([1, 1, 1, 2, 4])))


def scalar(rng):
    return rng.choice([None, True, False, 0, 1, -7, 3.0, 1.5e-7, 1e22, 2**40, "x", "", "é", text(rng)])


def value(rng, depth=0):
    kind = rng.random()
    if depth > 2 or kind < 0.6:
        return scalar(rng)
    if kind < 0.8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "items", "é", "k k"]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def schema(rng, depth=0):
    kind = rng.choice(["string", "integer", "number", "boolean", "array", "object", ["string", "null"], None])
    result = {} if kind is None else {"type": kind}
    if rng.random() < 0.6:
        result["description"] = text(rng)
    if kind == "string" and rng.random() < 0.4:
        result["enum"] = ["red", "grün"]
    if kind == "array" and depth < 3:
        result["items"] = schema(rng, depth + 1)
    if kind == "object" and depth < 3:
        names = rng.sample(["city", "Days", "ok", "né"], rng.randrange(4))
        result["properties"] = {name: schema(rng, depth + 1) for name in names}
        result["required"] = names[:1]
        if rng.random() < 0.3:
            result["additionalProperties"] = schema(rng, depth + 1)
    if rng.random() < 0.1:
        result["nullable"] = True
    return result


def tool(rng):
    function = {"name": rng.choice(["get_weather", "f", "código"])}
    if rng.random() < 0.8:
        function["description"] = text(rng)
    if rng.random() < 0.9:
        parameters = schema(rng)
        parameters["type"] = "object"
        function["parameters"] = parameters
    return {"type": "function", "function": function}


def call(rng):
    function = {"name": rng.choice(["get_weather", "f"])}
    kind = rng.random()
    if kind < 0.8:
        function["arguments"] = {key: value(rng) for key in rng.sample(["city", "n", "opts", "é"], rng.randrange(4))}
    elif kind < 0.9:
        function["arguments"] = rng.choice(["", "{}", '{"a": 1}'])
    if rng.random() < 0.1:
        return function
    result = {"type": "function", "function": function}
    if rng.random() < 0.8:
        result["id"] = rng.choice(["abcdefghi", "call_1"])
    return result


def content(rng):
    kind = rng.random()
    if kind < 0.8:
        return text(rng)
    if kind < 0.87:
        return None
    if kind < 0.9:
        return rng.choice([7, {"content": "c"}, True])
    parts = [{"type": "text", "text": text(rng)}, {"type": "image", "image": "u"}, {"image_url": {"url": "u"}},
             {"type": "video", "video": "v"}, {"text": "bare"}, {"type": "odd"}]
    return [rng.choice(parts[: rng.choice([2, 5, 6])]) for _ in range(rng.randrange(4))]


def message(rng, role):
    result = {"role": role, "content": content(rng)}
    if rng.random() < 0.05:
        del result["content"]
    if role == "assistant":
        if rng.random() < 0.3:
            result["reasoning_content"] = rng.choice([text(rng), "", None])
        if rng.random() < 0.4:
            result["tool_calls"] = rng.choice([[], None]) if rng.random() < 0.1 else [call(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    if role == "tool":
        result["tool_call_id"] = "abcdefghi"
    if rng.random() < 0.1:
        result["name"] = "extra"
    return result


def tidy_roles(rng):
    """A sound conversation: alternating, tools after calls."""
    roles = ["system"] if rng.random() < 0.4 else []
    for _ in range(rng.randrange(1, 4)):
        roles += ["user", "assistant"] + ["tool"] * rng.choice([0, 0, 1, 2]) + (["assistant"] if rng.random() < 0.2 else [])
    return roles[: rng.randrange(1, len(roles) + 1)]


def conversation(rng):
    roles = tidy_roles(rng)
    if rng.random() < 0.15:
        roles = [rng.choice(["system", "user", "assistant", "tool", "developer"]) for _ in range(rng.randrange(0, 6))]
    messages = [message(rng, role) for role in roles]
    if rng.random() < 0.7:  # mostly plain texts, so that most renders succeed
        for item in messages:
            if not isinstance(item.get("content"), str):
                item["content"] = text(rng)
    variables = {"messages": messages, "add_generation_prompt": rng.random() < 0.6, "bos_token": "<s>", "eos_token": "</s>"}
    if rng.random() < 0.5:
        variables["tools"] = [tool(rng) for _ in range(rng.randrange(4))] if rng.random() < 0.9 else None
    options = {"enable_thinking": [True, False, None], "preserve_thinking": [True, False, None],
               "reasoning_effort": ["low", "medium", "xhigh", "high", None], "add_vision_id": [True, False],
               "builtin_tools": [["f"], []], "date_string": ["1 Jan 2026"], "tools_in_user_message": [True, False],
               "documents": [[{"text": "one"}, {"text": text(rng)}]], "controls": [{"length": "long"}, {"b": 1, "a": [True]}]}
    for name, choices in options.items():
        if rng.random() < 0.25:
            variables[name] = rng.choice(choices)
    return variables


def make(seed, count):
    rng = random.Random(seed)
    return [conversation(rng) for _ in range(count)]
