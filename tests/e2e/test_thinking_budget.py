"""Thinking budgets over the real engine: a spent thought is closed, and everything else goes on."""

from concurrent.futures import ThreadPoolExecutor

import pytest

QUESTION = "Tom has 3 apples and buys 4 more. How many apples does he have? Think step by step."


def answer(api, **fields):
    response = api.chat(QUESTION, max_tokens=300, **{"temperature": 0, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def spent(body):
    return body["usage"]["completion_tokens_details"]["reasoning_tokens"]


@pytest.fixture(scope="module")
def free(api):
    return answer(api)


@pytest.mark.parametrize("fields", [
    {"thinking_token_budget": 4}, {"thinking_budget": 4},
    {"thinking": {"type": "enabled", "budget_tokens": 4}},
])
def test_a_spent_budget_closes_the_thought(api, free, fields):
    body = answer(api, logprobs=True, return_token_ids=True, **fields)
    choice = body["choices"][0]
    assert spent(free) > 6
    assert spent(body) == 5  # and the newline of the closing message
    thought = choice["message"]["reasoning_content"]
    assert free["choices"][0]["message"]["reasoning_content"].startswith(thought) and thought
    assert "7" in choice["message"]["content"] and "think>" not in choice["message"]["content"]
    assert choice["finish_reason"] == "stop"
    assert len(choice["logprobs"]["content"]) == len(choice["token_ids"]) \
        == body["usage"]["completion_tokens"]
    assert [entry["token"] for entry in choice["logprobs"]["content"]].count("</think>") == 1


def test_no_thought_at_all(api):
    body = answer(api, thinking_token_budget=0)
    assert spent(body) == 1 and "reasoning_content" not in body["choices"][0]["message"]
    assert body["choices"][0]["message"]["content"]


def test_a_budget_that_is_enough_changes_nothing(api, free):
    for fields in ({"thinking_token_budget": spent(free) + 1}, {"thinking_token_budget": 10**6},
                   {"thinking_token_budget": -1}):
        assert answer(api, **fields)["choices"] == free["choices"]
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert answer(api, **off)["choices"] == answer(api, thinking_token_budget=2, **off)["choices"]


def test_each_choice_alone_and_beside_others(api):
    fields = {"thinking_token_budget": 5, "temperature": 1, "seed": 3, "n": 3}
    alone = answer(api, **fields)
    assert all(choice["message"].get("reasoning_content") for choice in alone["choices"])
    assert spent(alone) <= 3 * 6
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda _: answer(api, **fields), range(6)))
    assert all(body["choices"] == alone["choices"] for body in together)


def test_streamed_like_whole(api):
    chunks = api.stream_chat(QUESTION, max_tokens=300, temperature=0, thinking_token_budget=4,
                             stream_options={"include_usage": True})
    body = answer(api, thinking_token_budget=4)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    message = body["choices"][0]["message"]
    for key in ("reasoning_content", "reasoning", "content"):
        assert "".join(delta.get(key) or "" for delta in deltas) == message[key]
    assert chunks[-1]["usage"] == {**body["usage"], "prompt_tokens_details":
                                   chunks[-1]["usage"]["prompt_tokens_details"]}


def test_wrong_budgets_are_refused_by_name(api):
    for value in (-2, 1.5, "9", True):
        response = api.chat(thinking_token_budget=value)
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "thinking_token_budget"
