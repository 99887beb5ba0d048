"""The replayer against a server of a few lines that knows how often it was asked what."""

import dataclasses
import http.server
import itertools
import json
import pathlib
import subprocess
import sys
import threading

import long_prefill
import numpy
import pytest
import report
import sessions
import target
import trace_file
from player import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVENT = b"data: %s\n\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every chat with as many deltas as tokens were asked for."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self.answer_tokens(body)
        elif self.fails():
            self.send_error(500, "as the test wants")
        else:
            self.answer_chat(body)

    def fails(self):
        try:
            self.server.failures.pop()
            return True
        except IndexError:
            return False

    def answer_tokens(self, body):
        text = body.get("prompt") or json.dumps(body.get("tools")) + json.dumps(body["messages"])
        answer = json.dumps({"tokens": [sum(word.encode()) for word in text.split()]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def answer_chat(self, body):
        self.server.seen.append({**body, "port": self.server.server_address[1]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        count = body["max_tokens"]
        for i in range(count):
            delta = {"reasoning_content": "x"} if i % 2 else {"content": "y"}
            self.send({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.send({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        self.send({"choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": count,
            "prompt_tokens_details": {"cached_tokens": 60}}})
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, event):
        self.wfile.write(EVENT % json.dumps(event).encode())


@pytest.fixture
def server():
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.seen, running.failures = [], []
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def replay(server, tmp_path, trace, *flags):
    path, figures = tmp_path / "trace.jsonl", tmp_path / "figures.json"
    trace_file.write(trace, path)
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    done = subprocess.run([sys.executable, ROOT / "bench/replay/replay", path, "--url", url,
                           "--json", figures, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(figures.read_text())
    return done.stdout, results[url]


def test_every_request_in_its_order(server, tmp_path):
    trace = sessions.make_trace(num_requests=30, seed=7, scale=0.02)
    text, figures = replay(server, tmp_path, trace, "--concurrency", "3")
    count = len(trace.requests)
    assert figures["requests"] == figures["good"] == len(server.seen) == count
    assert figures["hits"]["cached"] == 60 * count
    assert figures["events_after_finish"] == 0 and figures["tokens_per_event"] == 1.0
    assert figures["prompt_length_off"] > 0  # this server's usage is invented
    assert set(figures["by_kind"]) == {request.kind for request in trace.requests}
    assert "of one core" in text


def test_requests_come_after_those_they_wait_for(server, tmp_path):
    trace = sessions.make_trace(num_requests=20, seed=3, scale=0.02)
    trace.requests = [dataclasses.replace(r, after=(r.id - 1,) if r.id else ())
                      for r in trace.requests]
    replay(server, tmp_path, trace, "--concurrency", "4")
    assert [body["max_tokens"] for body in server.seen] == [
        request.output_tokens for request in trace.requests]


def test_errors_are_counted_and_end_nothing(server, tmp_path):
    server.failures = [None] * 2
    trace = sessions.make_trace(num_requests=15, seed=7, scale=0.02)
    text, figures = replay(server, tmp_path, trace)
    assert figures["requests"] == len(trace.requests)
    assert figures["good"] == len(trace.requests) - 2
    assert sum(figures["errors"].values()) == 2
    assert "500" in text


def test_servers_take_turns(server, tmp_path):
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    other.seen, other.failures = server.seen, []
    thread = threading.Thread(target=other.serve_forever)
    thread.start()
    try:
        trace = sessions.make_trace(num_requests=40, seed=8, scale=0.02)
        url = f"http://127.0.0.1:{other.server_address[1]}/v1"
        text, figures = replay(server, tmp_path, trace, "--url", url, "--parts", "3",
                               "--concurrency", "1")
    finally:
        other.shutdown()
        thread.join()
        other.server_close()
    assert url in text and figures["good"] == len(trace.requests)
    turns = [port for port, _ in itertools.groupby(body["port"] for body in server.seen)]
    assert len(turns) == 2 * len(target.parts_of(trace, 3)) > 2
    assert len(server.seen) == 2 * len(trace.requests)


def test_parts_are_whole_sessions():
    trace = sessions.make_trace(num_requests=300, seed=3, scale=0.02)
    parts = target.parts_of(trace, 4)
    assert 2 <= len(parts) <= 4
    assert [r.id for part in parts for r in part] == sorted(r.id for r in trace.requests)
    owners = [{r.session for r in part} for part in parts]
    assert sum(map(len, owners)) == len(set.union(*owners))


def test_waits_beside_a_long_prompt():
    trace = long_prefill.make_trace(streams=1, stream_tokens=6, prompt_tokens=100)
    stream, long = (r.id for r in trace.requests)
    outcomes = {stream: Outcome(sent=0.0, ended=30.0, times=[1.0, 2.0, 4.0, 24.0, 25.0, 30.0],
                                tokens=[1, 2, 3, 5, 6, 7]),
                long: Outcome(sent=5.0, ended=26.0, times=[25.5, 26.0])}
    prompts = {i: numpy.arange(10, dtype=numpy.int32) for i in outcomes}
    result = report.summarise(trace, outcomes, 30.0, prompts)
    assert result["long_seconds"] == 20.5
    assert result["beside_long_gaps"] == 3  # the stall over its sending, one inside, one over its end
    assert result["beside_long_ms"]["max"] == 10_000  # two tokens in 20 s
    assert result["before_long_ms"]["p99"] == 2000
    assert "first token took 20.5 s" in report.as_text(result)
