"""The training mixture, and one generator per ability for evaluation."""

from . import calling, copying, memory, numbers, objects, obedience, pictures, problems, stories, talk, writing
from .core import Message, Sample, Source

TURNS = {
    "greeting": (talk.greeting, 4), "identity": (talk.identity, 7), "unknown": (talk.unknown, 5), "fact": (talk.fact, 5), "statement": (talk.statement, 1.5),
    "arithmetic": (numbers.arithmetic, 13), "compare": (numbers.compare, 4.5), "word_problem": (problems.word_problem, 11),
    "echo": (copying.echo, 14), "counting": (copying.counting, 7), "repetition": (copying.repetition, 4.5), "spelling": (copying.spelling, 8),
    "json": (objects.described, 14), "story": (stories.story, 5), "writing": (writing.writing, 5),
}


def alone(ability):
    """A maker of one-question conversations."""
    def make(g, thinking):
        turn = TURNS[ability][0](g, thinking)
        messages = [Message("system", obedience.plain_system(g))] if g.chance(0.2) else []
        return Sample(ability, messages + [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)], turn.expect, thinking)
    return make


def mixed(g, thinking):
    """Several different questions in one conversation."""
    messages = [Message("system", obedience.plain_system(g))] if g.chance(0.3) else []
    names = list(TURNS)
    weights = [weight for _, weight in TURNS.values()]
    for _ in range(g.int(2, 6)):
        name = g.rng.choices(names, weights)[0]
        turn = TURNS[name][0](g, thinking)
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    return Sample("mixed", messages, turn.expect, thinking, preserve=g.chance(0.6))


def short_needle(g, thinking):
    """A needle in up to about two thousand words."""
    return memory.needle(g, thinking, int(40 * 50 ** g.rng.random()))


def short_agent(g, thinking):
    """A session of a few tool steps."""
    return calling.agent(g, thinking, g.int(1, 5))


SAMPLES = {
    **{name: (alone(name), weight) for name, (_, weight) in TURNS.items()},
    "mixed": (mixed, 8), "recall": (memory.recall, 6), "system": (obedience.obey, 13), "json_schema": (objects.with_schema, 3.5),
    "tool": (calling.call, 21), "no_tool": (calling.no_call, 4.5), "agent": (short_agent, 3), "needle": (short_needle, 2.5), "picture": (pictures.picture, 9),
}
NAMES = list(SAMPLES)
WEIGHTS = [weight for _, weight in SAMPLES.values()]


def training_sample(g):
    """One conversation of the mixture."""
    name = g.rng.choices(NAMES, WEIGHTS)[0]
    return SAMPLES[name][0](g, g.chance(0.48))


def long_sample(g, tokens):
    """A conversation of roughly the given number of tokens."""
    thinking = g.chance(0.5)
    if tokens < 30000 and g.chance(0.25):
        return calling.agent(g, thinking, max(2, tokens // 220))
    return memory.needle(g, thinking, int(tokens / 2.2))


def evaluation_sample(name, seed, thinking, held_out=True):
    """A conversation of one ability from a seed of its own, in phrasings kept from training or in any other."""
    return SAMPLES[name][0](Source(f"held-out-{name}-{seed}", held_out), thinking)
