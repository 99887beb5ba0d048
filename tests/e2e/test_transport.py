"""Framing, clients that leave, keys, request ids and the log, draining."""

import json
import signal
import time

import pytest

from conftest import TARGET_MODEL_LEN, Api, RawConnection, Server, error_of

CHAT = "/v1/chat/completions"
LONG = {"messages": [{"role": "user", "content": "Tell me a story."}], "ignore_eos": True,
        "max_tokens": 4000}
SHORT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def unfinished(api):
    return api.metric("vllm:num_requests_running") + api.metric("vllm:num_requests_waiting")


def test_keep_alive_and_pipelining(raw):
    raw.send_json(CHAT, {**SHORT, "stream": True})
    raw.send_json(CHAT, SHORT)
    raw.send("GET /health HTTP/1.1\r\nHost: t\r\n\r\n")
    status, headers, body = raw.read()
    assert status == 200 and headers["transfer-encoding"] == "chunked" and b"[DONE]" in body
    status, _, body = raw.read()
    assert status == 200 and json.loads(body)["choices"]
    assert raw.read()[0] == 200


def test_expect_and_chunked_body(raw):
    body = json.dumps(SHORT).encode()
    raw.send(f"POST {CHAT} HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
             f"Transfer-Encoding: chunked\r\n\r\n")
    assert raw.file.readline() == b"HTTP/1.1 100 Continue\r\n"
    raw.file.readline()
    raw.send(b"3\r\n" + body[:3] + b"\r\n%x\r\n" % len(body[3:]) + body[3:] + b"\r\n0\r\n\r\n")
    assert raw.read()[0] == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_while_decoding_frees_its_sequence(api, server, alive, stream):
    before = api.metric("vllm:request_success_total")
    connection = RawConnection(server.port)
    connection.send_json(CHAT, {**LONG, "stream": stream})
    if stream:
        for _ in range(30):
            connection.file.readline()
    else:
        wait_for(lambda: api.metric("vllm:num_requests_running") > 0)
    connection.close()
    wait_for(lambda: api.metric("vllm:num_requests_running") == 0, seconds=5)
    assert api.metric("vllm:request_success_total") == before + 1  # finished_reason abort


def test_a_client_that_leaves_during_prefill_frees_its_sequence(api, server, alive):
    connection = RawConnection(server.port)
    content = "word and another word " * 1200
    connection.send_json(CHAT, {"messages": [{"role": "user", "content": content}],
                                "max_tokens": 500, "ignore_eos": True})
    wait_for(lambda: unfinished(api) > 0)
    connection.close()
    wait_for(lambda: unfinished(api) == 0, seconds=10)


def test_many_clients_leaving(api, server, alive):
    before = api.metric("deltaserve:client_disconnects_total")
    for i in range(40):
        connection = RawConnection(server.port)
        connection.send_json(CHAT, {**LONG, "stream": i % 2 == 0})
        connection.close()
    wait_for(lambda: api.metric("deltaserve:client_disconnects_total") >= before + 40)
    wait_for(lambda: unfinished(api) == 0)


def test_keys(tmp_path):
    server = Server(tmp_path, "--api-key", "first", "--api-key", "second")
    try:
        api = Api(server.url)
        assert error_of(api.chat(max_tokens=1), 401)
        for key, status in (("wrong", 401), ("first", 200), ("second", 200)):
            for header in ({"Authorization": f"Bearer {key}"}, {"x-api-key": key}):
                assert api.post(CHAT, SHORT, headers=header).status_code == status
        assert api.http.get("/health").status_code == 200
        assert api.http.options(CHAT).status_code in (200, 204)
    finally:
        server.stop()


def test_request_ids_name_answers_and_log_lines(api, server):
    sent = {"X-Request-Id": "trace-42"}
    assert api.post(CHAT, SHORT, headers=sent).headers["x-request-id"] == "trace-42"
    assert api.http.get("/nowhere", headers=sent).headers["x-request-id"] == "trace-42"
    made = api.chat(max_tokens=2).headers["x-request-id"]
    assert made.startswith("req-") and made != api.chat(max_tokens=2).headers["x-request-id"]
    lines = [line for line in server.log.read_text().splitlines() if "id=trace-42" in line]
    assert len(lines) == 2
    fields = dict(part.split("=", 1) for part in lines[0].split() if "=" in part)
    assert fields["status"] == "200" and fields["outcome"] == "finished"
    assert fields["completion"] == "3" and fields["finish"] == "length"
    assert int(fields["prompt"]) > 0
    times = [float(fields[name]) for name in ("queue_ms", "prefill_ms", "ttft_ms", "itl_ms")]
    assert all(0 <= value <= float(fields["total_ms"]) for value in times)
    assert "refused" in lines[1] and "status=404" in lines[1]


def test_the_log_can_be_quiet_and_bodies_limited(tmp_path):
    server = Server(tmp_path, "--disable-log-requests", "--max-total-body-bytes", "64KiB")
    try:
        api = Api(server.url)
        assert api.chat(max_tokens=2).status_code == 200
        assert api.http.get("/nowhere").status_code == 404
        response = api.chat("x" * 70000, max_tokens=2)
        error_of(response, 503)
        assert response.headers["retry-after"]
        assert api.chat(max_tokens=2).status_code == 200
    finally:
        server.stop()
    log = server.log.read_text()
    assert "outcome=" not in log and "status=404" not in log
    assert "status=503" in log


def test_the_second_signal_stops_at_once(tmp_path):
    server = Server(tmp_path, max_model_len=TARGET_MODEL_LEN)
    connection = RawConnection(server.port)
    connection.send_json(CHAT, {**LONG, "max_tokens": 100000, "stream": True})
    connection.file.readline()
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in server.log.read_text())
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=10) == 128 + signal.SIGINT


def test_sigterm_drains(tmp_path):
    server = Server(tmp_path)
    connection = RawConnection(server.port)
    connection.send_json(CHAT, {**LONG, "max_tokens": 100, "stream": True})
    connection.file.readline()
    assert server.stop() == 0
    assert b"[DONE]" in connection.file.read()
