"""/v1/completions."""

from conftest import joined


def test_prompt_forms(api, client):
    ids = api.post("/tokenize", {"prompt": "Once upon a time"}).json()["tokens"]
    fields = {"max_tokens": 8, "temperature": 0, "ignore_eos": True}
    text = api.complete("Once upon a time", **fields).json()["choices"][0]["text"]
    assert api.complete(ids, **fields).json()["choices"][0]["text"] == text
    several = api.complete(["Once upon a time", "x"], **fields).json()
    assert [c["index"] for c in several["choices"]] == [0, 1]
    assert several["choices"][0]["text"] == text
    assert several["usage"]["completion_tokens"] == 16
    lists = api.complete([ids, ids], n=2, **fields).json()["choices"]
    assert [c["text"] for c in lists] == [text] * 4
    assert client.completions.create(model="tiny", prompt="Once upon a time", max_tokens=8,
                                     temperature=0).object == "text_completion"


def test_stream_and_whole_agree(api):
    fields = {"prompt": ["Once upon", "There was"], "max_tokens": 20, "temperature": 0}
    whole = api.post("/v1/completions", fields).json()["choices"]
    chunks = api.stream("/v1/completions", **fields)
    assert [joined(chunks, i) for i in (0, 1)] == [c["text"] for c in whole]


def test_default_is_sixteen_tokens(api):
    assert api.complete("a", ignore_eos=True).json()["usage"]["completion_tokens"] == 16


def test_logprobs_and_echo(api):
    body = api.complete("Grüße an alle", max_tokens=4, temperature=0, logprobs=2, echo=True,
                        ignore_eos=True, skip_special_tokens=False).json()
    choice = body["choices"][0]
    logprobs = choice["logprobs"]
    count = body["usage"]["total_tokens"]
    assert choice["text"].startswith("Grüße an alle")
    assert all(len(logprobs[key]) == count
               for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset"))
    assert logprobs["token_logprobs"][0] is None
    assert all(value <= 0 for value in logprobs["token_logprobs"][1:])
    assert logprobs["text_offset"][body["usage"]["prompt_tokens"]] == len("Grüße an alle")
    assert logprobs["text_offset"] == sorted(logprobs["text_offset"])
