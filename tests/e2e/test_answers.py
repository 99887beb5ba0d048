"""What the bundled model says, for the checks that need an answer with a meaning."""

import json

import pytest

from conftest import joined

NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}, "temperature": 0}

SWITCHES = [
    {"chat_template_kwargs": {"enable_thinking": False}},
    {"chat_template_kwargs": {"thinking": False, "enable_thinking": False}},
    {"thinking": {"type": "disabled"}}, {"enable_thinking": False}, {"reasoning_effort": "none"},
]


@pytest.mark.parametrize("switch", SWITCHES)
def test_thinking_off(api, switch):
    text = api.text("What is 2 + 2?", max_tokens=100, temperature=0, **switch)
    assert "4" in text and "</think>" not in text


def test_thinking_is_on_by_default(api):
    message = api.chat("What is 2 + 2?", max_tokens=600, temperature=0).json()["choices"][0]["message"]
    assert message["reasoning_content"] and message["reasoning"] == message["reasoning_content"]
    assert "4" in message["content"] and "think>" not in json.dumps(message)


def test_answers_end_by_themselves(api):
    body = api.chat("What is 3 + 4?", **NO_THINKING).json()
    assert body["choices"][0]["finish_reason"] == "stop"


def test_echo_of_other_scripts(api):
    for text in ("こんにちは", "你好，世界", "🎉"):
        request = f"Repeat exactly: {text}"
        assert text in api.text(request, max_tokens=200, **NO_THINKING)
        assert text in joined(api.stream_chat(request, max_tokens=200, **NO_THINKING))


def test_stop_word_while_counting(api):
    body = api.chat("Count from 1 to 30, separated by spaces.", stop=["15"], max_tokens=200,
                    **NO_THINKING).json()["choices"][0]
    text = body["message"]["content"]
    assert "1" in text and "14" in text and "15" not in text and "16" not in text
    assert body["finish_reason"] == "stop"


def test_seeded_greedy_answers_repeat(api):
    texts = {api.text("Say hello in one word.", seed=42, **NO_THINKING) for _ in range(2)}
    assert len(texts) == 1 and texts.pop().strip()
