"""A server of a model on some backend, for the checks on a machine with a GPU."""
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs `serve` as a context; `ready_seconds` from its start, `loading` answers of 503 before that."""

    def __init__(self, program: str, model: str, *flags: str):
        self.port = free_port()
        self.command = [program, "serve", model, "--port", str(self.port), *flags]
        self.loading = 0
        self.ready_seconds = 0.0

    def __enter__(self) -> "Server":
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        try:
            while not self.is_ready():
                if self.process.poll() is not None or time.monotonic() > began + START_SECONDS:
                    raise RuntimeError(f"not ready: {' '.join(self.command)}")
                time.sleep(0.005)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.ready_seconds = time.monotonic() - began
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait()

    def is_ready(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1).close()
            return True
        except urllib.error.HTTPError as error:
            self.loading += error.code == 503
        except (urllib.error.URLError, OSError):
            pass  # not listening yet
        return False

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.code} {error.read().decode()}") from error
