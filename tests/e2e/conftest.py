"""Starts one server for the whole run and gives tests three ways to talk to it: JSON over httpx,
the openai client, and raw sockets. Set DELTASERVE_BIN and DELTASERVE_MODEL to run by hand.
The acceptance suite has a server of its own, or with --base-url any server that is running; then
the tests that need one started with flags of theirs are left out."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import httpx
import openai
import pytest

from acceptance.target import Target

pytest_plugins = ["acceptance.summary", "acceptance.fixtures"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("DELTASERVE_BIN", str(ROOT / "build/release/bin/deltaserve"))
MODEL = os.environ.get("DELTASERVE_MODEL", str(ROOT / "models/tiny"))
MAX_MODEL_LEN = 8192
TARGET_MODEL_LEN = 131072
START_SECONDS = 120


class Server:
    """A running `deltaserve serve` on a free port."""

    def __init__(self, directory, *flags, name="tiny", max_model_len=MAX_MODEL_LEN):
        port_file = directory / "port"
        self.log = directory / "log"
        command = [BINARY, "serve", MODEL, "--port", "0", "--port-file", str(port_file),
                   "--served-model-name", name, "--max-model-len", str(max_model_len), *flags]
        self.process = subprocess.Popen(command, stdout=self.log.open("w"),
                                        stderr=subprocess.STDOUT)
        end = time.monotonic() + START_SECONDS
        while not (port_file.exists() and port_file.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start:\n{self.log.read_text()}")
            time.sleep(0.05)
        self.port = int(port_file.read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class Api:
    """Short-hands over JSON; every method returns what the server said, good or bad."""

    def __init__(self, url):
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=300)

    def post(self, path, body, **kwargs):
        return self.http.post(path, json=body, **kwargs)

    def chat(self, content="hi", **fields):
        body = {"model": "tiny", "messages": [{"role": "user", "content": content}], **fields}
        return self.post("/v1/chat/completions", body)

    def complete(self, prompt, **fields):
        return self.post("/v1/completions", {"model": "tiny", "prompt": prompt, **fields})

    def text(self, content="hi", **fields):
        response = self.chat(content, **fields)
        assert response.status_code == 200, response.text
        return response.json()["choices"][0]["message"]["content"]

    def stream(self, path="/v1/chat/completions", **body):
        """The chunks of a stream, checked for framing."""
        body = {"model": "tiny", "stream": True, **body}
        response = self.post(path, body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        return parse_events(response.text)

    def stream_chat(self, content="hi", **fields):
        return self.stream(messages=[{"role": "user", "content": content}], **fields)

    def metric(self, name):
        """The sum over the labels of one metric."""
        lines = self.http.get("/metrics").text.splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines
                  if line.startswith(name + "{")]
        assert values, f"no metric {name}"
        return sum(values)


def parse_events(text):
    events = [event for event in text.split("\n\n") if event]
    assert all(event.startswith("data: ") for event in events), events[:3]
    assert events[-1] == "data: [DONE]" and text.count("[DONE]") == 1
    return [json.loads(event[6:]) for event in events[:-1]]


def joined(chunks, index=0):
    """The text of one choice of a stream, chat or completion."""
    text = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["index"] == index:
                text += choice.get("text", "") or choice.get("delta", {}).get("content") or ""
    return text


def error_of(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("application/json")
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"] and error["type"]
    return error


class RawConnection:
    """A socket with HTTP helpers."""

    def __init__(self, port, host="127.0.0.1", headers=""):
        self.socket = socket.create_connection((host, port), timeout=60)
        self.file = self.socket.makefile("rb")
        self.headers = headers  # complete lines, sent by send_json

    def send(self, data):
        self.socket.sendall(data.encode() if isinstance(data, str) else data)

    def send_json(self, path, body):
        data = json.dumps(body).encode()
        self.send(f"POST {path} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                  f"{self.headers}Content-Length: {len(data)}\r\n\r\n".encode() + data)

    def read(self):
        """Status, headers and body of the next response."""
        status = int(self.file.readline().split()[1])
        headers = {}
        while (line := self.file.readline().strip()):
            name, value = line.decode().split(": ", 1)
            headers[name.lower()] = value
        if "content-length" in headers:
            return status, headers, self.file.read(int(headers["content-length"]))
        body = b""
        while headers.get("transfer-encoding") == "chunked":
            size = int(self.file.readline(), 16)
            body += self.file.read(size)
            self.file.readline()
            if size == 0:
                break
        return status, headers, body

    def close(self):
        self.file.close()
        self.socket.close()


def pytest_addoption(parser):
    group = parser.getgroup("target", "the server that the acceptance suite judges")
    group.addoption("--base-url", help="a running server; default: start the built one")
    group.addoption("--api-key", help="its key")
    group.addoption("--model", help="its model's name; default: llm, or the first it lists")
    group.addoption("--long", action="store_true", help="full lengths of the longest checks")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--base-url"):
        return
    out = [item for item in items
           if "server" in item.fixturenames or item.get_closest_marker("local") or
           "target" not in item.fixturenames]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def api(server):
    return Api(server.url)


@pytest.fixture(scope="session")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0)


@pytest.fixture
def raw(server):
    connection = RawConnection(server.port)
    yield connection
    connection.close()


@pytest.fixture
def alive(api):
    """After the test a good request must still be served."""
    yield
    assert api.chat(max_tokens=2).status_code == 200


@pytest.fixture(scope="session")
def target(request, tmp_path_factory):
    """The server that the acceptance suite judges."""
    option = request.config.getoption
    if option("--base-url"):
        running = Target(option("--base-url"), option("--api-key"), option("--model"))
        yield running.choose_model()
        return
    started = Server(tmp_path_factory.mktemp("target"), "--kv-cache-memory-bytes", "1GiB",
                     name="llm", max_model_len=TARGET_MODEL_LEN)
    yield Target(started.url)
    started.stop()


@pytest.fixture(scope="session")
def steady(request, target, tmp_path_factory):
    """A server that promises an answer the same bits whatever runs beside it: one with the flag for
    that, which the CPU keeps without it; with --base-url the target."""
    if request.config.getoption("--base-url"):
        yield target
        return
    started = Server(tmp_path_factory.mktemp("steady"), "--batch-invariant",
                     "--kv-cache-memory-bytes", "64MiB", name="llm")
    yield Target(started.url)
    started.stop()


@pytest.fixture(scope="session")
def unhurried(request, target, tmp_path_factory):
    """A server that reads no more than a chunk of 64 tokens of a prompt in one step, so that even a
    fast device needs many steps for a long one; with --base-url the target."""
    if request.config.getoption("--base-url"):
        yield target
        return
    started = Server(tmp_path_factory.mktemp("unhurried"), "--max-num-seqs", "1",
                     "--max-num-batched-tokens", "65", "--kv-cache-memory-bytes", "1GiB",
                     name="llm", max_model_len=TARGET_MODEL_LEN)
    yield Target(started.url)
    started.stop()


@pytest.fixture(scope="session")
def keyed(tmp_path_factory):
    """A small server with keys and comment lines in quiet streams."""
    started = Server(tmp_path_factory.mktemp("keyed"), "--api-key", "first", "--api-key", "second",
                     "--sse-keep-alive", "0.1", "--max-num-seqs", "24",
                     "--kv-cache-memory-bytes", "16MiB", name="llm")
    yield Api(started.url)
    started.stop()


class Starting:
    """A server whose start is watched from outside."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen([BINARY, "serve", MODEL, "--port", str(self.port),
                                         "--max-model-len", "1024", "--served-model-name", "llm"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def statuses_until_200(self):
        statuses = []
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and statuses[-1:] != [200]:
            try:
                statuses.append(httpx.get(self.url + "/health", timeout=60).status_code)
            except httpx.ConnectError:
                assert not statuses and self.process.poll() is None
        return statuses

    def target(self):
        return Target(self.url)


@pytest.fixture
def starting():
    started = Starting()
    yield started
    started.process.terminate()
    started.process.wait(timeout=60)
