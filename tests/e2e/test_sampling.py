"""What sampling fields do, not only that they are accepted."""

import pytest


def ids_of(api, **fields):
    body = api.chat("Tell me a story.", return_token_ids=True, max_tokens=24, ignore_eos=True,
                    **fields).json()
    return [choice["token_ids"] for choice in body["choices"]]


@pytest.mark.parametrize("field", [
    {"temperature": 0}, {"temperature": 1}, {"temperature": 1.1}, {"temperature": 2},
    {"top_p": 0}, {"top_p": 0.01}, {"top_p": 0.95}, {"top_p": 1},
    {"frequency_penalty": -2}, {"frequency_penalty": 0}, {"frequency_penalty": 2},
    {"presence_penalty": -2}, {"presence_penalty": 0}, {"presence_penalty": 2},
    {"n": 1}, {"n": 2}, {"n": 3}, {"top_k": 0}, {"top_k": -1}, {"min_p": 0.5},
    {"repetition_penalty": 1.3}, {"stop": None}, {"stop": "zzz"}, {"seed": -7},
])
def test_borders_are_accepted(api, field):
    body = api.chat(max_tokens=5, **field).json()
    assert len(body["choices"]) == field.get("n", 1)


def test_greedy_forms_agree(api):
    greedy = ids_of(api, temperature=0)
    assert ids_of(api, temperature=0) == greedy
    for fields in ({"top_k": 1}, {"min_p": 1}, {"top_p": 0}):
        assert ids_of(api, temperature=1, **fields) == greedy


def test_seed(api):
    fields = {"temperature": 1, "top_p": 1, "top_k": 0}
    one = ids_of(api, seed=1, **fields)
    assert ids_of(api, seed=1, **fields) == one
    assert ids_of(api, seed=2, **fields) != one


def test_choices_differ_and_repeat(api):
    fields = {"temperature": 1, "top_p": 1, "top_k": 0, "seed": 7, "n": 2}
    first = ids_of(api, **fields)
    assert first[0] != first[1]
    assert ids_of(api, **fields) == first


def test_usage_counts_the_prompt_once(api):
    one = api.chat(max_tokens=4, ignore_eos=True).json()["usage"]
    two = api.chat(max_tokens=4, ignore_eos=True, n=2).json()["usage"]
    assert two["prompt_tokens"] == one["prompt_tokens"] and two["completion_tokens"] == 8


def test_logit_bias(api):
    greedy = ids_of(api, temperature=0)[0]
    banned = ids_of(api, temperature=0, logit_bias={str(greedy[0]): -100})[0]
    assert banned[0] != greedy[0] and greedy[0] not in banned
    forced = ids_of(api, temperature=0, logit_bias={str(greedy[1]): 100})[0]
    assert set(forced) == {greedy[1]}


def test_frequency_penalty_lessens_repeats(api):
    def most_common(penalty):
        ids = api.chat("Say the same word again and again.", temperature=0, max_tokens=100,
                       ignore_eos=True, return_token_ids=True,
                       frequency_penalty=penalty).json()["choices"][0]["token_ids"]
        return max(ids.count(token) for token in set(ids))
    assert most_common(2) < most_common(-2)


def test_stop_strings_and_token_ids(api):
    fields = {"temperature": 0, "max_tokens": 40, "ignore_eos": True}
    body = api.chat("Tell me a story.", return_token_ids=True, **fields).json()["choices"][0]
    text, ids = body["message"]["content"], body["token_ids"]
    stop = text[len(text) // 2:][:4]
    for form in (stop, [stop, "never-seen"]):
        cut = api.chat("Tell me a story.", stop=form, **fields).json()["choices"][0]
        assert cut["message"]["content"] == text[:text.index(stop)]
        assert cut["finish_reason"] == "stop" and cut["stop_reason"] == stop
    chunks = api.stream_chat("Tell me a story.", stop=stop, **fields)
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == \
        text[:text.index(stop)]
    kept = api.chat("Tell me a story.", stop=stop, include_stop_str_in_output=True, **fields).json()
    assert kept["choices"][0]["message"]["content"] == text[:text.index(stop)] + stop
    by_id = api.chat("Tell me a story.", stop_token_ids=[ids[5]], return_token_ids=True,
                     **fields).json()["choices"][0]
    assert by_id["stop_reason"] == ids[5] and by_id["token_ids"] == ids[:ids.index(ids[5]) + 1]


def test_logprobs(api):
    fields = {"temperature": 0, "max_tokens": 12, "ignore_eos": True, "logprobs": True,
              "top_logprobs": 5, "skip_special_tokens": False,
              "chat_template_kwargs": {"enable_thinking": False}}
    choice = api.chat(**fields).json()["choices"][0]
    entries = choice["logprobs"]["content"]
    assert len(entries) == 12
    assert bytes(b for e in entries for b in e["bytes"]).decode(errors="replace") == \
        choice["message"]["content"]
    for entry in entries:
        tops = [top["logprob"] for top in entry["top_logprobs"]]
        assert len(tops) == 5 and tops == sorted(tops, reverse=True)
        assert entry["logprob"] == tops[0] <= 0
    streamed = []
    for chunk in api.stream_chat(**fields):
        streamed += (chunk["choices"][0]["logprobs"] or {"content": []})["content"]
    assert streamed == entries
    assert api.chat(max_tokens=2, logprobs=True).json()["choices"][0]["logprobs"]["content"][0][
        "top_logprobs"] == []
