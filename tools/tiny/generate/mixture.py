"""The training mixture, and one generator per ability for evaluation."""

from . import calling, copying, memory, numbers, objects, obedience, personal, pictures, problems, records, stories, talk, writing
from .core import Message, Sample, Source

TURNS = {
    "greeting": (talk.greeting, 5), "identity": (talk.identity, 6), "unknown": (talk.unknown, 7), "fact": (talk.fact, 11), "statement": (talk.statement, 1.5),
    "arithmetic": (numbers.arithmetic, 14), "compare": (numbers.compare, 7), "word_problem": (problems.word_problem, 16),
    "echo": (copying.echo, 15), "counting": (copying.counting, 9), "repetition": (copying.repetition, 5), "spelling": (copying.spelling, 16),
    "json": (objects.described, 13), "story": (stories.story, 4), "writing": (writing.writing, 6),
}


def alone(ability):
    """A maker of one-question conversations."""
    def make(g, thinking):
        turn = TURNS[ability][0](g, thinking)
        messages = obedience.scenery(g, [turn]) if g.chance(0.25) else []
        return Sample(ability, messages + [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)], turn.expect, thinking)
    return make


def mixed(g, thinking):
    """Several different questions in one conversation."""
    names = list(TURNS)
    weights = [weight for _, weight in TURNS.values()]
    turns = [TURNS[name][0](g, thinking) for name in g.rng.choices(names, weights, k=g.int(2, 6))]
    messages = obedience.scenery(g, turns) if g.chance(0.3) else []
    for turn in turns:
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    return Sample("mixed", messages, turns[-1].expect, thinking, preserve=g.chance(0.6))


def recall(g, thinking):
    """Something said earlier: a secret, a fact about the user, or the last message."""
    roll = g.rng.random()
    if roll < 0.42:
        return memory.recall(g, thinking)
    return personal.personal(g, thinking) if roll < 0.92 else personal.again(g, thinking)


def json_record(g, thinking):
    """Data in words or fields, and a schema or keys to write them by."""
    return records.record(g, thinking) if g.chance(0.6) else objects.with_schema(g, thinking)


def short_needle(g, thinking):
    """A needle in up to about two thousand words."""
    return memory.needle(g, thinking, int(40 * 50 ** g.rng.random()))


def short_agent(g, thinking):
    """A session of a few tool steps."""
    return calling.agent(g, thinking, g.int(1, 5))


SAMPLES = {
    **{name: (alone(name), weight) for name, (_, weight) in TURNS.items()},
    "mixed": (mixed, 8), "recall": (recall, 11), "system": (obedience.obey, 19), "json_schema": (json_record, 9),
    "tool": (calling.call, 22), "no_tool": (calling.no_call, 4.5), "agent": (short_agent, 2), "needle": (short_needle, 2.5), "picture": (pictures.picture, 8),
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
