"""The oracle of reusable tokens against comparing every pair token by token."""

import random

import numpy
import oracle


def array(tokens):
    return numpy.array(tokens, dtype=numpy.int32)


def by_comparing(prompt, others):
    def shared(other):
        count = 0
        while count < min(len(prompt), len(other)) and prompt[count] == other[count]:
            count += 1
        return count

    return max(map(shared, others), default=0)


def test_longest_equals_comparing_all_pairs():
    rng = random.Random(5)
    found, known = oracle.PrefixOracle(), []
    for _ in range(300):
        base = rng.choice(known) if known and rng.random() < 0.8 else []
        tokens = base[:rng.randint(0, len(base))] + [rng.randint(0, 3)
                                                     for _ in range(rng.randint(1, 200))]
        assert found.longest(array(tokens)) == by_comparing(tokens, known)
        found.add(array(tokens))
        known.append(tokens)


def test_nothing_is_shared_with_nothing():
    assert oracle.PrefixOracle().longest(array([1, 2, 3])) == 0


def test_the_last_token_is_always_computed():
    assert oracle.reusable(shared=128, prompt_len=128, granularity=1) == 127
    assert oracle.reusable(shared=128, prompt_len=128, granularity=16) == 112
    assert oracle.reusable(shared=128, prompt_len=128, granularity=64) == 64
    assert oracle.reusable(shared=128, prompt_len=129, granularity=64) == 128
    assert oracle.reusable(shared=0, prompt_len=1, granularity=1) == 0


def test_only_finished_requests_count():
    tokens = {i: (array(range(100)), array(range(100))) for i in range(3)}
    events = [(0.0, "start", 0), (1.0, "start", 1), (2.0, "end", 0), (2.0, "start", 2),
              (3.0, "end", 1), (4.0, "end", 2)]
    assert oracle.shared_prefixes(events, tokens) == {0: 0, 1: 0, 2: 100}


def test_generated_tokens_count():
    tokens = {0: (array([1, 2]), array([1, 2, 3, 4])), 1: (array([1, 2, 3, 4, 5]),) * 2}
    events = [(0, "start", 0), (1, "end", 0), (2, "start", 1), (3, "end", 1)]
    assert oracle.shared_prefixes(events, tokens)[1] == 4
