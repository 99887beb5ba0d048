"""Fair share between API keys: a key that sends many requests does not keep another's few waiting.

One sequence runs at a time, so that the order in which requests end is the order of service; it is
read from the server's log.
"""

import concurrent.futures
import re

import pytest

from acceptance.fixtures import wait_for
from conftest import Api, RawConnection, Server

MANY = [f"many-{i}" for i in range(5)]
FEW = [f"few-{i}" for i in range(2)]
SHORT = {"messages": [{"role": "user", "content": "hi"}], "ignore_eos": True, "max_tokens": 8}
# More than all of FEW together take, prompts included.
HEAD_START = 120


def read_tokens(connection, count):
    while count > 0:
        count -= connection.file.readline().startswith(b"data: ")


def order_of_service(tmp_path, *flags):
    """The ids in the order in which they were served: the key of MANY came first and still has one
    request running, which got tokens after the key of FEW had come."""
    server = Server(tmp_path, "--max-num-seqs", "1", "--io-threads", "1", "--api-key", "many",
                    "--api-key", "few", "--kv-cache-memory-bytes", "64MiB", *flags)
    api = Api(server.url)
    api.http.headers["Authorization"] = "Bearer many"

    def ask(name):
        response = api.post("/v1/chat/completions", SHORT, headers={
            "Authorization": "Bearer " + name.split("-")[0], "X-Request-Id": name})
        assert response.status_code == 200, response.text

    try:
        first = RawConnection(server.port, headers="Authorization: Bearer many\r\n")
        first.send_json("/v1/chat/completions", {**SHORT, "stream": True, "max_tokens": 8000})
        read_tokens(first, 3)
        with concurrent.futures.ThreadPoolExecutor(len(MANY + FEW)) as pool:
            asked = []
            for name in MANY + FEW:
                asked.append(pool.submit(ask, name))
                wait_for(lambda: api.metric("vllm:num_requests_waiting") == len(asked), seconds=30)
            read_tokens(first, HEAD_START)
            first.close()
            for future in asked:
                future.result()
    finally:
        assert server.stop() == 0
    return re.findall(r"^.*request id=((?:many|few)-\d+) ", server.log.read_text(), re.MULTILINE)


@pytest.mark.local
def test_keys_take_turns(tmp_path):
    assert order_of_service(tmp_path, "--fair-share") == FEW + MANY


@pytest.mark.local
def test_without_the_flag_the_first_come_are_served_first(tmp_path):
    assert order_of_service(tmp_path) == MANY + FEW
