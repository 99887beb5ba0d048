"""Random requests: the stream adds up to the whole answer, with its finish reasons, usage and log
probabilities, to the last bit, which a server with --batch-invariant promises. Seeded, so that a
failure repeats."""

import random

import pytest

from acceptance.prompts import weather_tool

QUESTIONS = ["hi", "What is 12 plus 30?", "Count from 1 to 12.", "Repeat exactly: 你好 🎉🇯🇵 Grüße",
             "What is the weather in Beijing?", "What is the weather in Paris and Rome?",
             "Tell me a short story.", "Say ha 20 times.", "Hello! What is the capital of France?"]
STOPS = ["a", " 1", "user", "the ", "4", "\n", "好", "🇯", "ha ha ha", ".", "weather", "</"]


def random_request(seed):
    draw = random.Random(seed)
    fields = {"temperature": draw.choice([0, 0.6, 1, 1.5]), "seed": draw.randrange(2**40),
              "max_tokens": draw.choice([1, 3, 10, 40, 120]), "n": draw.choice([1, 1, 2, 3]),
              "enable_thinking": draw.random() < 0.5}
    if draw.random() < 0.4:
        fields["tools"] = [weather_tool()]
        fields["parallel_tool_calls"] = draw.random() < 0.7
        fields["tool_choice"] = draw.choice(["auto", "auto", "none"])
    if draw.random() < 0.4:
        fields["stop"] = draw.sample(STOPS, draw.randint(1, 4))
        fields["include_stop_str_in_output"] = draw.random() < 0.2
    if draw.random() < 0.4:
        fields["logprobs"] = True
        fields["top_logprobs"] = draw.randint(0, 4)
    if draw.random() < 0.2:
        fields["ignore_eos"] = True
    if draw.random() < 0.2:
        fields["min_tokens"] = draw.randint(0, fields["max_tokens"])
    if draw.random() < 0.2:
        fields["thinking_token_budget"] = draw.choice([0, 2, 8, 40])
    return draw.choice(QUESTIONS), fields


@pytest.mark.parametrize("seed", range(80))
def test_the_stream_is_the_answer(steady, seed):
    question, fields = random_request(seed)
    whole = steady.chat(question, **fields)
    stream = steady.stream(question, **fields, stream_options={"include_usage": True})
    streamed = stream.check(usage=True).fold()
    # A call that is cut is in the stream as far as it came, and not in the whole answer.
    for index in range(fields["n"]):
        message = streamed.message(index)
        whole_calls = whole.calls(index)
        if len(streamed.calls(index)) > len(whole_calls):
            assert streamed.finish(index) in ("length", "stop")
            message["tool_calls"] = message["tool_calls"][:len(whole_calls)]
    assert streamed.meaning() == whole.meaning(), (question, fields)
