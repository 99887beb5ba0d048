"""Extensions about sampling: E09, E10, E12 to E19, E21. Effects are asserted, not only that a field
is accepted."""

import concurrent.futures

import pytest

from acceptance.prompts import WEATHER, weather_tool
from acceptance.target import error_of

extension = pytest.mark.extension
FREE = {"temperature": 1, "top_p": 1, "top_k": 0}
STORY = "Tell me a short story."


@extension("E09")
@pytest.mark.parametrize("thinking", [False, True])
def test_two_choices(target, switch, thinking):
    fields = {**FREE, "n": 2, "seed": 7, "max_tokens": 80, **switch(thinking)}
    first = target.chat(STORY, **fields).check()
    contents = [first.reasoning(i) + first.text(i) for i in (0, 1)]
    assert contents[0] != contents[1] and all(contents)
    assert target.chat(STORY, **fields).meaning() == first.meaning()
    streamed = target.stream(STORY, **fields, stream_options={"include_usage": True})
    assert streamed.check(usage=True).fold().meaning() == first.meaning()


@extension("E10")
@pytest.mark.model
@pytest.mark.parametrize("thinking", [False, True])
def test_two_streamed_choices_with_tools(target, switch, thinking):
    question, city = WEATHER[0]
    stream = target.stream(question, n=2, tools=[weather_tool()], temperature=0.6, seed=3,
                           max_tokens=400, **switch(thinking)).check()
    folded = stream.fold()
    for index in (0, 1):
        assert folded.finish(index) == "tool_calls"
        assert folded.call_list(index) == [("get_weather", {"city": city})]
        assert bool(folded.reasoning(index)) == thinking
    assert folded.calls(0)[0]["id"] != folded.calls(1)[0]["id"]


@extension("E12")
@pytest.mark.parametrize("thinking", [False, True])
def test_greedy_is_deterministic(target, switch, thinking):
    fields = {"temperature": 0, "max_tokens": 60, **switch(thinking)}
    alone = [target.chat(STORY, **fields).meaning() for _ in range(5)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        batch = list(pool.map(lambda _: target.chat(STORY, **fields).meaning(), range(8)))
    assert all(meaning == alone[0] for meaning in alone + batch)


@extension("E13")
def test_top_k_and_min_p(target, lives):
    greedy = target.chat(STORY, temperature=0, max_tokens=30).meaning()
    for fields in ({"top_k": 1}, {"min_p": 1}):
        assert target.chat(STORY, temperature=1, max_tokens=30, **fields).meaning() == greedy
    off = [target.chat(STORY, temperature=2, top_p=1, seed=1, max_tokens=30, top_k=k).meaning()
           for k in (0, -1)]
    assert off[0] == off[1] != greedy
    error_of(target.ask("hi", top_k=-2), 400, param="top_k")
    error_of(target.ask("hi", min_p=1.1), 400, param="min_p")


@extension("E14")
def test_seeds(target):
    one, again, two = [target.chat(STORY, **FREE, seed=seed, max_tokens=40).meaning()
                       for seed in (1, 1, 2)]
    assert one == again != two


@extension("E15")
@pytest.mark.parametrize("question", ['Say "a" 100 times.', "Say ha 100 times."])
def test_penalties_lessen_repeats(target, off, question, lives):
    def repeats(**fields):
        text = target.chat(question, temperature=0, max_tokens=120, **off, **fields).text()
        words = text.split()
        return max(words.count(word) for word in set(words))
    plain = repeats(frequency_penalty=0)
    assert plain > 50
    for fields in ({"frequency_penalty": 2}, {"repetition_penalty": 2}):
        assert repeats(**fields) < plain
    error_of(target.ask("hi", repetition_penalty=0), 400, param="repetition_penalty")


@extension("E16")
def test_logit_bias(target, off, lives):
    fields = {"temperature": 0, "max_tokens": 12, **off}
    plain = target.chat("Count to five.", **fields).text()
    token = target.tokenize(prompt=plain)[0]
    piece = plain[:1]
    assert plain.startswith(piece)
    never = target.chat("Count to five.", logit_bias={str(token): -100}, **fields).text()
    assert not never.startswith(piece)
    always = target.chat("Count to five.", logit_bias={str(token): 100}, **fields)
    assert always.text() == piece * 12 and always.finish() == "length"
    for bias in ({str(token): 101}, {str(token): -101}, {"x": 1}, {str(token): "1"}):
        assert error_of(target.ask("hi", logit_bias=bias), 400)["param"].startswith("logit_bias")


@extension("E17")
@pytest.mark.parametrize("question", ["Count to five.", "Repeat exactly: Grüße, 世界 🎉🇯🇵"])
@pytest.mark.parametrize("temperature", [0, 1])
def test_logprobs(target, off, question, temperature):
    answer = target.chat(question, logprobs=True, top_logprobs=5, temperature=temperature, seed=1,
                         max_tokens=60, **off)
    entries = answer.choice()["logprobs"]["content"]
    assert len(entries) == answer.token_count()
    assert b"".join(bytes(entry["bytes"]) for entry in entries).decode() == answer.text()
    for entry in entries:
        tops = [top["logprob"] for top in entry["top_logprobs"]]
        assert len(tops) == 5 and tops == sorted(tops, reverse=True)
        assert entry["logprob"] <= 0 and tops[0] >= entry["logprob"]
        if temperature == 0:
            assert entry["logprob"] == tops[0]
        for top in entry["top_logprobs"]:
            assert set(top) == {"token", "logprob", "bytes"}


@extension("E17")
@pytest.mark.parametrize("thinking", [False, True])
def test_logprobs_of_calls_and_thoughts(target, switch, thinking):
    """One entry a token, tags and all; no entry has bytes that the answer does not show."""
    whole, streamed = target.both(WEATHER[0][0], tools=[weather_tool()], logprobs=True,
                                  temperature=0, max_tokens=200, **switch(thinking))
    assert whole.meaning() == streamed.meaning() and whole.calls()
    assert len(whole.choice()["logprobs"]["content"]) == whole.token_count()


@extension("E18")
def test_bounds_of_logprobs(target, lives):
    error_of(target.ask("hi", top_logprobs=3), 400, param="top_logprobs")
    error_of(target.ask("hi", logprobs=True, top_logprobs=21), 400, param="top_logprobs")
    error_of(target.ask("hi", logprobs=True, top_logprobs=-1), 400, param="top_logprobs")
    for fields in ({"top_logprobs": 0}, {}):
        answer = target.chat("hi", logprobs=True, max_tokens=3, **fields)
        assert all(e["top_logprobs"] == [] for e in answer.choice()["logprobs"]["content"])
    assert target.chat("hi", max_tokens=3).choice().get("logprobs") is None


@extension("E19")
@pytest.mark.parametrize("fields", [{}, {"stop": ["3"]}, {"stop": ["zz", ", 4,"]}])
def test_streamed_logprobs(target, off, fields):
    fields = {"logprobs": True, "top_logprobs": 2, "temperature": 0, "max_tokens": 40, **off,
              **fields}
    whole, streamed = target.both("Count to five.", **fields)
    assert whole.meaning() == streamed.meaning()
    text = b""
    entries = b""
    for chunk in target.stream("Count to five.", **fields).chunks:
        choice = chunk["choices"][0]
        text += (choice["delta"].get("content") or "").encode()
        for entry in (choice.get("logprobs") or {"content": []})["content"]:
            entries += bytes(entry["bytes"])
        assert entries == text, "entries come with the text they belong to"
    assert text.decode() == whole.text()


@extension("E21")
@pytest.mark.parametrize("question", ["Repeat exactly: wonderful underground strawberries, twice",
                                      "Repeat exactly: 你好世界 🎉🇯🇵 end", "Count from 1 to 30."])
def test_stop_strings_over_token_borders(target, off, question):
    """Every stop string of one to six characters that lies inside the answer."""
    fields = {"temperature": 0, "max_tokens": 120, **off}
    text = target.chat(question, **fields).text()
    assert len(text) >= 12
    places = range(1, len(text) - 6, max(1, len(text) // 5))
    for place in places:
        for size in (1, 2, 4, 6):
            stop = text[place:place + size]
            whole, streamed = target.both(question, stop=stop, **fields)
            assert whole.text() == text[:text.index(stop)] and whole.finish() == "stop"
            assert whole.meaning() == streamed.meaning()
    almost = [text[3:7] + "\x01", text[-3:] + "!"]
    whole, streamed = target.both(question, stop=almost, **fields)
    assert whole.text() == streamed.text() == text, "what only began like a stop string is kept"
