"""Measure every ability of a running server over HTTP on held-out conversations.

--prompts FILE sends the prompts of data/*.jsonl instead, which were written by hand. Pictures are sent as data: URLs;
when the server answers 400 to them the ability is reported as refused, or measured with transformers when
--pictures-locally names the model's folder. While the server does not split the reasoning off, the visible text is
what follows </think>.
"""

import argparse
import base64
import concurrent.futures
import io
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from generate.core import Sample, Source
from generate.memory import needle
from generate.mixture import SAMPLES, evaluation_sample
from generate.render import openai_messages
from scoring import fulfilled, parse_calls, split_thinking


def with_urls(messages):
    """Replace PIL pictures by data: URLs."""
    for message in messages:
        if isinstance(message["content"], list):
            for part in message["content"]:
                if part["type"] == "image":
                    buffer = io.BytesIO()
                    part.pop("image").save(buffer, "PNG")
                    part["type"] = "image_url"
                    part["image_url"] = {"url": "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()}
    return messages


def post(base, body, key, timeout):
    """POST a chat completion: (status, parsed JSON)."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(base.rstrip("/") + "/v1/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def from_api(calls):
    """Tool calls of a reply as [(name, arguments)]."""
    return [(call["function"]["name"], json.loads(call["function"]["arguments"] or "{}")) for call in calls or []]


def ask(arguments, row):
    """Return 'refused', or (right, visible text, reasoning)."""
    body = {"model": arguments.served, "messages": row.messages, "max_tokens": arguments.limit, "temperature": arguments.temperature,
            "chat_template_kwargs": {"enable_thinking": row.thinking, "preserve_thinking": row.preserve}}
    if row.tools:
        body["tools"] = row.tools
    if arguments.json_mode and row.expect[0] == "json":
        body["response_format"] = {"type": "json_object"}
    try:
        status, reply = post(arguments.base_url, body, arguments.key, arguments.timeout)
    except TimeoutError:
        return False, f"no answer within {arguments.timeout:.0f} s", ""
    if status == 400 and any(isinstance(message["content"], list) for message in body["messages"]):
        return "refused"
    if status != 200:
        return False, f"HTTP {status}: {json.dumps(reply)[:200]}", ""
    choice = reply["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    calls = from_api(message.get("tool_calls"))
    closed = True
    if not reasoning:
        reasoning, text, closed = split_thinking(text, row.thinking and not calls)
    calls = calls or parse_calls(text, row.tools)
    formed = closed and choice["finish_reason"] in ("stop", "tool_calls") and bool(reasoning.strip()) == row.thinking
    return formed and fulfilled(row.expect, text.strip(), calls), text or json.dumps(calls), reasoning


@dataclass
class Row:
    """A conversation to be answered: the row of the table it counts in, what is sent, what is expected."""

    name: str
    messages: list
    expect: tuple
    thinking: bool
    preserve: bool = False
    tools: list = field(default_factory=list)
    sample: Sample | None = None


def written(path):
    """The prompts of a file, each with and without thinking."""
    prompts = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [Row(f"{prompt['ability']} {'on' if thinking else 'off'}", prompt["messages"], prompt["expect"], thinking, tools=prompt.get("tools", [])) for thinking in (True, False) for prompt in prompts]


def held_out(arguments):
    """All conversations to measure."""
    samples = []
    for name in arguments.only or SAMPLES:
        for thinking in (True, False):
            samples += [(f"{name} {'on' if thinking else 'off'}", evaluation_sample(name, f"{seed}-{thinking}", thinking, not arguments.trained_phrasings)) for seed in range(arguments.count)]
    for tokens in arguments.long:
        samples += [(f"needle {tokens}", needle(Source(f"long-{tokens}-{seed}", held_out=True), seed % 2 == 0, int(tokens / 2.2))) for seed in range(max(2, arguments.count // 3))]
    return [Row(name, with_urls(openai_messages(sample)), sample.expect, sample.thinking, sample.preserve, sample.tools, sample) for name, sample in samples]


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", default="", help="API key")
    parser.add_argument("--served", default="llm", help="model name to send")
    parser.add_argument("--count", type=int, default=10, help="conversations of each ability and mode")
    parser.add_argument("--only", nargs="*", help="abilities")
    parser.add_argument("--prompts", metavar="FILE", nargs="*", help="prompts written by hand, as data/prompts.jsonl")
    parser.add_argument("--trained-phrasings", action="store_true", help="new contents in phrasings that training uses, instead of held-out phrasings")
    parser.add_argument("--long", type=int, nargs="*", default=[4000], help="needle lengths in tokens")
    parser.add_argument("--limit", type=int, default=600, help="max_tokens")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--json-mode", action="store_true", help="send response_format for the JSON abilities")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--show", type=int, default=1, help="failures printed for each row")
    parser.add_argument("--pictures-locally", metavar="FOLDER", help="measure refused pictures with transformers on this checkpoint")
    parser.add_argument("--out", help="JSON file")
    arguments = parser.parse_args()
    rows = [row for path in arguments.prompts for row in written(path)] if arguments.prompts else held_out(arguments)
    table, failures, start = {}, {}, time.time()
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        results = list(pool.map(lambda row: ask(arguments, row), rows))
    refused = [index for index, result in enumerate(results) if result == "refused"]
    if refused and arguments.pictures_locally:
        import local
        for index, (right, text) in zip(refused, local.measure(arguments.pictures_locally, [rows[index].sample for index in refused])):
            results[index] = (right, text, "")
    for row, result in zip(rows, results):
        line = table.setdefault(row.name, {"right": 0, "asked": 0, "refused": 0})
        if result == "refused":
            line["refused"] += 1
            continue
        line["asked"] += 1
        line["right"] += bool(result[0])
        if not result[0]:
            failures.setdefault(row.name, []).append({"question": str(row.messages[-1]["content"])[-300:], "expected": str(row.expect)[:300], "answer": result[1][:500], "reasoning": result[2][:500]})
    for name, line in table.items():
        shown = f"{line['right']}/{line['asked']}" if line["asked"] else "refused"
        print(f"{name:24} {shown}" + (f", {line['refused']} refused" if line["refused"] and line["asked"] else ""))
        for failure in failures.get(name, [])[:arguments.show]:
            print("    ", json.dumps(failure, ensure_ascii=False)[:600])
    right, asked = sum(line["right"] for line in table.values()), sum(line["asked"] for line in table.values())
    print(f"all: {right}/{asked} in {time.time() - start:.0f} s")
    if arguments.out:
        Path(arguments.out).write_text(json.dumps({"table": table, "failures": failures}, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
