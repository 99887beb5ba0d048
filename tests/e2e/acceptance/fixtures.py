"""What several files of the suite share: the thinking switch, found by probing as the acceptance
suite finds it; a socket that counts who connects; raw connections; and the check for life after a
test."""

import contextlib
import http.server
import threading
import time
import urllib.parse

import pytest

from acceptance.prompts import TWO_AND_TWO

SWITCHES = [
    lambda on: {"chat_template_kwargs": {"thinking": on}},
    lambda on: {"chat_template_kwargs": {"enable_thinking": on}},
    lambda on: {"thinking": {"type": "enabled" if on else "disabled"}},
]


@pytest.fixture(scope="session")
def switch(target):
    """on -> the fields that turn thinking on or off: the first form that the server honours."""
    fields = {"max_tokens": 300, "temperature": 0}
    assert target.chat(TWO_AND_TWO[0], **fields).reasoning(), "no thought by default"
    for form in SWITCHES:
        response = target.ask(TWO_AND_TWO[0], **fields, **form(False))
        message = response.json()["choices"][0]["message"] if response.status_code == 200 else {}
        if message.get("content") and not message.get("reasoning_content") \
                and not message.get("reasoning"):
            return form
    pytest.fail("no form of the thinking switch works")


@pytest.fixture(scope="session")
def off(switch):
    return switch(False)


class Listener:
    """A web server on loopback that a server under test must not talk to."""

    def __init__(self):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                self.send_response(404)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def connections(self):
        return len(self.requests)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def listener():
    listening = Listener()
    yield listening
    listening.close()


@contextlib.contextmanager
def raw_connections(target):
    """A function that opens raw connections to a server, which are closed at the end."""
    from conftest import RawConnection
    address = urllib.parse.urlsplit(target.url)
    headers = "".join(f"{name}: {value}\r\n" for name, value in target.headers.items())
    opened = []

    def make():
        opened.append(RawConnection(address.port or 80, address.hostname, headers))
        return opened[-1]
    yield make
    for connection in opened:
        connection.close()


@pytest.fixture
def connect(target):
    with raw_connections(target) as make:
        yield make


@pytest.fixture
def lives(target):
    """After the test the next request must still be served."""
    yield
    assert target.chat("hi", max_tokens=2).token_count() > 0


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
