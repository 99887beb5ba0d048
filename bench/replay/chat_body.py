"""Requests of a trace as OpenAI chat completion bodies. Each message is written to JSON once."""

import json


class BodyWriter:
    def __init__(self, trace, writer, model):
        self._trace, self._writer, self._model = trace, writer, model
        self._fragments = {}

    def messages(self, request):
        """As Python objects: what a template or a tokenizer endpoint takes."""
        return json.loads(self._messages_json(request))

    def tools(self, request):
        tools = self._trace.tools_of(request)
        return json.loads(self._tools_json(tools)) if tools else None

    def body(self, request):
        """Bytes of the request: streamed, greedy and exactly as long as the scripted reply."""
        fields = {"model": self._model, "stream": True,
                  "stream_options": {"include_usage": True, "continuous_usage_stats": True},
                  "temperature": 0, "ignore_eos": True, "max_tokens": request.output_tokens,
                  "chat_template_kwargs": {"enable_thinking": request.thinking}}
        tools = self._trace.tools_of(request)
        text = json.dumps(fields)[:-1]
        if tools:
            text += ', "tools": ' + self._tools_json(tools)
        return (text + ', "messages": ' + self._messages_json(request) + "}").encode()

    def _messages_json(self, request):
        fragments, open_calls = [], []
        for message in self._trace.prompt_of(request):
            call = None
            if message.role == "assistant":
                open_calls = [f"call_{message.id}_{i}" for i in range(len(message.calls))]
            elif message.role == "tool":
                call = open_calls.pop(0)
            fragments.append(self._fragment(message, call))
        return "[" + ",".join(fragments) + "]"

    def _fragment(self, message, call):
        if message.id not in self._fragments:
            self._fragments[message.id] = json.dumps(self._message(message, call))
        return self._fragments[message.id]

    def _message(self, message, call):
        text = self._writer.text
        out = {"role": message.role, "content": text(message.text)}
        if message.role == "tool":
            out["tool_call_id"] = call
        if message.role != "assistant":
            return out
        if message.thinking:
            out["reasoning_content"] = text(message.reasoning)
        if message.calls:
            out["content"] = out["content"] or None
            out["tool_calls"] = [
                {"id": f"call_{message.id}_{i}", "type": "function",
                 "function": {"name": c.name, "arguments": json.dumps(
                     {name: text(runs) for name, runs in c.arguments.items()})}}
                for i, c in enumerate(message.calls)]
        return out

    def _tools_json(self, tools):
        key = ("tools", tools.id)
        if key not in self._fragments:
            self._fragments[key] = json.dumps([self._function(f) for f in tools.functions])
        return self._fragments[key]

    def _function(self, function):
        properties = {name: {"type": "string", "description": self._writer.text(runs)}
                      for name, runs in function.parameters.items()}
        return {"type": "function", "function": {
            "name": function.name, "description": self._writer.text(function.description),
            "parameters": {"type": "object", "properties": properties,
                           "required": sorted(properties)}}}
