"""Token ids of chat prompts, from the server itself (deltaserve's or vLLM's /tokenize, or
llama-server's /apply-template and /tokenize) or from a checkpoint directory with Hugging Face's
tokenizers."""

import json
import pathlib
import urllib.error
import urllib.request

import numpy


class ServerTokenizer:
    """Asks the server at `base_url` (without /v1)."""

    def __init__(self, base_url, api_key=None):
        self._base, self._key = base_url.rstrip("/"), api_key
        self._is_llama = self._probe_llama()

    def _post(self, path, body):
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._base + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"POST {path}: {error.code} {error.read().decode()[:500]}") from error

    def _probe_llama(self):
        try:
            with urllib.request.urlopen(self._base + "/props", timeout=60) as response:
                return "chat_template" in json.load(response)
        except (urllib.error.URLError, ValueError):
            return False

    def count(self, text):
        field = "content" if self._is_llama else "prompt"
        return len(self._post("/tokenize", {field: text})["tokens"])

    def prompt(self, messages, tools, thinking):
        body = {"messages": messages, "chat_template_kwargs": {"enable_thinking": thinking}}
        if tools:
            body["tools"] = tools
        if not self._is_llama:
            return _array(self._post("/tokenize", body)["tokens"])
        text = self._post("/apply-template", body)["prompt"]
        return _array(self._post("/tokenize", {"content": text, "parse_special": True})["tokens"])


class LocalTokenizer:
    """From `directory`: tokenizer.json and chat_template.jinja, rendered as transformers does."""

    def __init__(self, directory):
        import jinja2
        import jinja2.sandbox
        import tokenizers

        directory = pathlib.Path(directory)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True,
                                                                   lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        environment.globals["raise_exception"] = _raise
        self._template = environment.from_string((directory / "chat_template.jinja").read_text())

    def count(self, text):
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def prompt(self, messages, tools, thinking):
        text = self._template.render(messages=_with_parsed_arguments(messages), tools=tools,
                                     enable_thinking=thinking, add_generation_prompt=True)
        return _array(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _raise(message):
    raise ValueError(message)


def _array(tokens):
    return numpy.array(tokens, dtype=numpy.int32)


def _with_parsed_arguments(messages):
    """Templates want tool call arguments as objects, and system messages as one."""
    systems = [m["content"] for m in messages if m["role"] == "system"]
    out = [{"role": "system", "content": "\n\n".join(systems)}] if systems else []
    for message in messages:
        if message["role"] == "system":
            continue
        message = dict(message)
        if "tool_calls" in message:
            message["tool_calls"] = [
                {**c, "function": {**c["function"],
                                   "arguments": json.loads(c["function"]["arguments"])}}
                for c in message["tool_calls"]]
        out.append(message)
    return out
