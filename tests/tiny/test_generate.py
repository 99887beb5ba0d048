"""What the bundled model is taught is right by its own standard: every generated answer fulfils what
its conversation expects, the template writes it as the chat template does, and phrasings kept for
evaluation never reach training."""

import json
import pathlib
import sys

import jinja2
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/tiny"))

from generate.core import HELD_OUT_EVERY, Source, alternatives  # noqa: E402
from generate.mixture import SAMPLES, evaluation_sample, long_sample, training_sample  # noqa: E402
from generate.render import openai_messages, segments  # noqa: E402
from scoring import fulfilled, judge  # noqa: E402


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("ability", SAMPLES)
def test_answers_fulfil_their_expectations(ability, held_out):
    for seed in range(60):
        sample = evaluation_sample(ability, seed, seed % 2 == 0, held_out)
        last = sample.messages[-1]
        calls = [(name, dict(arguments)) for name, arguments in last.calls]
        assert fulfilled(sample.expect, last.content.strip(), calls), (sample.messages, sample.expect)


def test_written_conversations_are_judged_right():
    """The raw text of an answer, calls as XML included, passes the judge that scores the model."""
    g = Source("judge")
    for _ in range(300):
        sample = training_sample(g)
        raw = [text for text, kind in segments(sample)[0] if kind == 2][-1]
        assert judge(sample, raw.removesuffix("<|im_end|>"), True), (raw, sample.expect)


def test_conversations_are_written_as_the_template_does():
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string((ROOT / "models/tiny/chat_template.jinja").read_text())
    g = Source("template")
    for _ in range(200):
        sample = training_sample(g)
        if any(message.images for message in sample.messages):
            continue
        messages = openai_messages(sample)
        for message in messages:
            for call in message.get("tool_calls", []):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        rendered = template.render(messages=messages, tools=sample.tools, add_generation_prompt=True,
                                   enable_thinking=sample.thinking, preserve_thinking=sample.preserve)
        assert rendered == "".join(text for text, _ in segments(sample, complete=False)[0])


def test_phrasings_kept_for_evaluation_are_never_trained_on():
    phrasings = [f"wording {index}" for index in range(3 * HELD_OUT_EVERY)]
    kept = set(phrasings[HELD_OUT_EVERY - 1::HELD_OUT_EVERY])
    training, evaluation = Source(1), Source(1, held_out=True)
    assert {training.phrase(phrasings) for _ in range(2000)} == set(phrasings) - kept
    assert {evaluation.phrase(phrasings) for _ in range(200)} == kept


def test_a_seed_makes_the_same_conversations():
    first, second = ([[(message.role, message.content, message.think, message.calls)
                       for _ in range(40) for message in training_sample(g).messages]]
                     for g in (Source(7), Source(7)))
    assert first == second


@pytest.mark.parametrize("tokens", [4000, 60000])
def test_long_conversations_are_about_as_long_as_asked(tokens):
    g = Source(f"long-{tokens}")
    for _ in range(3):
        text = "".join(text for text, _ in segments(long_sample(g, tokens))[0])
        assert 0.3 * tokens < len(text.split()) < 1.6 * tokens


def test_alternatives_are_divided_outside_of_brackets():
    assert alternatives("a [b|c] d|e|[f|[g|h]]") == ["a [b|c] d", "e", "[f|[g|h]]"]


@pytest.mark.parametrize("name", ["prompts", "more_prompts"])
def test_prompts_written_by_hand_can_be_judged(name):
    lines = (ROOT / f"tools/tiny/data/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line) for line in lines]
    assert len(prompts) > 100 and {prompt["ability"] for prompt in prompts} <= set(SAMPLES)
    for prompt in prompts:
        assert prompt["messages"][-1]["role"] in ("user", "tool")
        assert fulfilled(prompt["expect"], "", []) in (True, False)
