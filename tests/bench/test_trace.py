"""Traces: the same arguments give the same trace, with the shape that agent servers report."""

import long_prefill
import pytest
import render
import sessions
import statistics_of
import trace_file


@pytest.fixture(scope="module")
def trace():
    return sessions.make_trace(num_requests=881, seed=7)


def written(trace, tmp_path):
    path = tmp_path / "trace.jsonl"
    trace_file.write(trace, path)
    return path.read_text()


def test_same_seed_same_file(tmp_path):
    first, second, other = (written(sessions.make_trace(60, seed), tmp_path) for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_reads_back(trace, tmp_path):
    text = written(trace, tmp_path)
    read = trace_file.read(tmp_path / "trace.jsonl")
    assert read.requests == trace.requests
    assert read.header == trace.header
    assert written(read, tmp_path) == text


def test_lengths(trace):
    prompts = [request.prompt_tokens for request in trace.requests]
    assert 25_000 < statistics_of.mean(prompts) < 29_500
    assert 200_000 < max(prompts) <= 250_000
    outputs = [request.output_tokens for request in trace.requests]
    assert 300 < statistics_of.mean(outputs) < 600


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_prompt_is_too_long(seed):
    trace = sessions.make_trace(num_requests=600, seed=seed)
    assert max(request.prompt_tokens for request in trace.requests) <= 250_000


def test_content(trace):
    def share(condition):
        return sum(condition(trace, r) for r in trace.requests) / len(trace.requests)

    assert 0.75 < share(statistics_of.has_tool_messages) < 0.95
    assert 0.005 < share(statistics_of.has_several_systems) < 0.1
    assert 0.01 < share(statistics_of.has_images) < 0.15
    kinds = {request.kind for request in trace.requests}
    assert {"first", "query", "step", "retry", "edit", "compact", "subagent", "side"} == kinds


def test_counts_are_those_of_the_runs(trace):
    for request in trace.requests[:200]:
        runs = render.prompt_runs(trace.prompt_of(request), trace.tools_of(request),
                                  request.thinking)
        assert request.prompt_tokens == render.count(runs)
        reply = trace.messages[request.reply]
        assert request.output_tokens == render.count(render.output_runs(reply))


def test_a_step_goes_on_where_the_answer_ended(trace):
    """The next prompt begins with this prompt and what was generated for it."""
    checked = 0
    for request in trace.requests:
        if request.kind != "step" or len(request.after) != 1:
            continue
        before = trace.requests[request.after[0]]
        if request.messages[:len(before.messages) + 1] != (*before.messages, before.reply):
            continue
        prompts = [render.prompt_runs(trace.prompt_of(r), trace.tools_of(r), r.thinking)
                   for r in (before, request)]
        reply = trace.messages[before.reply]
        whole = prompts[0] + render.output_runs(reply)
        begun = prompts[1][:len(whole)]
        assert begun[:-1] == whole[:-1]
        assert begun[-1].seed == whole[-1].seed and whole[-1].count == 1
        checked += 1
    assert checked > 300


def test_a_query_parts_behind_the_last_one(trace):
    """Reasoning is left out before the last user message, so thinking sessions part there."""
    checked = 0
    for request in trace.requests:
        if request.kind != "query" or not request.thinking:
            continue
        before = trace.requests[request.after[0]]
        messages = trace.prompt_of(before)
        query = render.last_query(messages)
        if query == len(messages) - 1:
            continue  # answered at once: no message behind it yet
        earlier = render.prompt_runs(messages, trace.tools_of(before), True)
        later = render.prompt_runs(trace.prompt_of(request), trace.tools_of(request), True)
        shared = next(i for i, (a, b) in enumerate(zip(earlier, later)) if a != b)
        head = render.prompt_runs(messages[:query + 1], trace.tools_of(before), True)
        assert shared == len(head) - 1  # all but the <think> of the header
        checked += 1
    assert checked > 10


def test_order(trace):
    for request in trace.requests:
        assert all(before < request.id for before in request.after)
        assert all(trace.requests[before].session == request.session for before in request.after)
        assert request.after or request.kind in ("first", "side")


def test_scale():
    small = sessions.make_trace(num_requests=881, seed=7, scale=0.1)
    mean = statistics_of.mean([request.prompt_tokens for request in small.requests])
    assert 2_500 < mean < 4_500  # what the template itself adds does not scale


def test_long_prefill(tmp_path):
    trace = long_prefill.make_trace(streams=4, stream_tokens=200, prompt_tokens=50_000)
    assert [r.kind for r in trace.requests] == ["stream"] * 4 + ["long"]
    assert trace.requests[-1].at > 0 and trace.requests[-1].prompt_tokens > 50_000
    assert {r.output_tokens for r in trace.requests[:4]} == {201}  # with the end token
    written(trace, tmp_path)
    assert trace_file.read(tmp_path / "trace.jsonl").requests == trace.requests
