"""Named prefixes outlive the server: one that is stopped with SIGTERM and started again with the
same --prefix-cache-dir goes on where its conversations were."""

import pytest

from conftest import Api, Server

SYSTEM = {"role": "system", "content": "The tide came in and went out again. " * 60}
CHUNK = 64


@pytest.fixture
def run(tmp_path):
    """Starts a server, passes its Api to the function given, and stops it."""
    runs = []

    def start(work, *flags):
        folder = tmp_path / f"run{len(runs)}"
        folder.mkdir()
        runs.append(folder)
        server = Server(folder, "--prefix-cache-dir", str(tmp_path / "kept"),
                        "--kv-cache-memory-bytes", "64MiB", *flags)
        try:
            return work(Api(server.url))
        finally:
            assert server.stop() == 0, server.log.read_text()

    return start


def turn(api, messages, **fields):
    """The answer's text, prompt tokens and those of them that were found."""
    response = api.post("/v1/chat/completions", {
        "messages": messages, "temperature": 0, "max_tokens": 100, "ignore_eos": True,
        "chat_template_kwargs": {"enable_thinking": False}, **fields})
    assert response.status_code == 200, response.text
    body = response.json()
    usage = body["usage"]
    return (body["choices"][0]["message"]["content"], usage["prompt_tokens"],
            usage["prompt_tokens_details"]["cached_tokens"])


def ask(text):
    return [SYSTEM, {"role": "user", "content": text}]


@pytest.mark.local
def test_a_named_prefix_is_found_after_a_restart(run):
    before = run(lambda api: turn(api, ask("Where was I?"), prompt_cache_key="agent"))
    after = run(lambda api: turn(api, ask("Where was I?"), prompt_cache_key="agent"))
    text, tokens, cached = before
    assert cached == 0
    assert after == (text, tokens, (tokens - 1) // CHUNK * CHUNK)


@pytest.mark.local
def test_a_conversation_goes_on_after_a_restart(run):
    def first(api):
        return turn(api, ask("Tell me a story."), prompt_cache_key="agent")

    text, tokens, _ = run(first)
    history = [*ask("Tell me a story."), {"role": "assistant", "content": text},
               {"role": "user", "content": "And then?"}]
    # Also by a request without the name: it is the content that counts.
    _, longer, cached = run(lambda api: turn(api, history))
    assert longer > tokens
    assert cached >= tokens // CHUNK * CHUNK


@pytest.mark.local
def test_what_has_no_name_or_another_salt_is_not_found(run):
    def first(api):
        turn(api, ask("nameless"))
        turn(api, ask("salted"), prompt_cache_key="agent", cache_salt="alice")

    def second(api):
        return [turn(api, ask("nameless"))[2], turn(api, ask("salted"), cache_salt="bob")[2],
                turn(api, ask("salted"), cache_salt="alice")[2]]

    run(first)
    nameless, other_salt, same_salt = run(second)
    assert nameless == 0
    assert other_salt == 0
    assert same_salt > 0
