"""A trace as a JSONL file. Every line has a "type": trace (the header), tools, message or request;
a line names only what earlier lines defined, and definitions come as they are needed. For readers
that know no chat template, tools and messages also carry their tokens as runs ("short": without
reasoning, as before the last user message; "header": tokens of the generation header in front).
"""

import dataclasses
import json

import render
from agent_trace import Call, Function, Message, Request, Run, Tools, Trace

VERSION = 1


def _runs_to_json(runs):
    return [[r.seed, r.count, 1] if r.image else [r.seed, r.count] for r in runs]


def _runs_from_json(runs):
    return tuple(Run(r[0], r[1], len(r) > 2) for r in runs)


def _message_line(message):
    line = {"type": "message", "id": message.id, "role": message.role,
            "text": _runs_to_json(message.text),
            "tokens": _runs_to_json(render.message_runs(message, keep_reasoning=True))}
    if message.role == "assistant":
        line["reasoning"] = _runs_to_json(message.reasoning)
        line["calls"] = [{"name": c.name,
                          "arguments": {k: _runs_to_json(v) for k, v in c.arguments.items()}}
                         for c in message.calls]
        line["thinking"] = message.thinking
        line["short"] = _runs_to_json(render.message_runs(message, keep_reasoning=False))
        line["header"] = render.count(render.generation_header(message.thinking))
    return line


def _message_from(line):
    calls = tuple(Call(c["name"], {k: _runs_from_json(v) for k, v in c["arguments"].items()})
                  for c in line.get("calls", ()))
    return Message(line["id"], line["role"], _runs_from_json(line["text"]),
                   _runs_from_json(line.get("reasoning", ())), calls, line.get("thinking", True))


def _tools_line(tools):
    functions = [{"name": f.name, "description": _runs_to_json(f.description),
                  "parameters": {k: _runs_to_json(v) for k, v in f.parameters.items()}}
                 for f in tools.functions]
    return {"type": "tools", "id": tools.id, "functions": functions,
            "tokens": _runs_to_json(render.tools_runs(tools))}


def _tools_from(line):
    functions = tuple(
        Function(f["name"], _runs_from_json(f["description"]),
                 {k: _runs_from_json(v) for k, v in f["parameters"].items()})
        for f in line["functions"])
    return Tools(line["id"], functions)


def _request_line(trace, request):
    line = {"type": "request", **dataclasses.asdict(request)}
    line["last_query"] = render.last_query(trace.prompt_of(request))
    return line


def _request_from(line):
    names = [field.name for field in dataclasses.fields(Request)]
    values = {name: line[name] for name in names}
    values["after"] = tuple(values["after"])
    values["messages"] = tuple(values["messages"])
    return Request(**values)


def write(trace, path):
    """Definitions first as they are needed, so that a reader may stream the file."""
    known_messages, known_tools = set(), set()
    with open(path, "w", encoding="ascii") as file:
        def put(line):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

        put({"type": "trace", "version": VERSION, **trace.header})
        for request in trace.requests:
            if request.tools >= 0 and request.tools not in known_tools:
                known_tools.add(request.tools)
                put(_tools_line(trace.tools[request.tools]))
            for i in (*request.messages, request.reply):
                if i not in known_messages:
                    known_messages.add(i)
                    put(_message_line(trace.messages[i]))
            put(_request_line(trace, request))


def read(path):
    trace = Trace()
    with open(path, encoding="ascii") as file:
        for number, text in enumerate(file, 1):
            line = json.loads(text)
            kind = line.pop("type", None)
            if kind == "trace":
                if line.get("version") != VERSION:
                    raise ValueError(f"{path}: version {line.get('version')}, need {VERSION}")
                trace.header = {k: v for k, v in line.items() if k != "version"}
            elif kind == "tools":
                trace.tools[line["id"]] = _tools_from(line)
            elif kind == "message":
                trace.messages[line["id"]] = _message_from(line)
            elif kind == "request":
                trace.requests.append(_request_from(line))
            else:
                raise ValueError(f"{path}:{number}: no line of a trace")
    return trace
