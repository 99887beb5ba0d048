"""The best possible hits of a trace: for each prompt the longest beginning that it shares with
anything that was sent before it and finished by then.

Sequences are kept as a trie over blocks of 64 tokens, the last block of a sequence being shorter,
so the answer is exact at one token. Token sequences are numpy int32 arrays.
"""

import numpy

BLOCK = 64


class PrefixOracle:
    def __init__(self):
        self._root = {}  # bytes of a block to the dictionary of what follows it

    @staticmethod
    def _blocks(tokens):
        tokens = numpy.ascontiguousarray(tokens, dtype=numpy.int32)
        for begin in range(0, len(tokens), BLOCK):
            yield tokens[begin:begin + BLOCK].tobytes()

    def add(self, tokens):
        node = self._root
        for block in self._blocks(tokens):
            node = node.setdefault(block, {})

    def longest(self, tokens):
        """Tokens shared with the sequence that shares most."""
        node, length = self._root, 0
        for block in self._blocks(tokens):
            child = node.get(block) if len(block) == 4 * BLOCK else None
            if child is None:
                return length + max((_common(block, other) for other in node), default=0)
            node = child
            length += BLOCK
        return length


def _common(a, b):
    size = min(len(a), len(b))
    if a[:size] == b[:size]:
        return size // 4
    x = numpy.frombuffer(a[:size], dtype=numpy.int32)
    y = numpy.frombuffer(b[:size], dtype=numpy.int32)
    return int(numpy.argmax(x != y))


def reusable(shared, prompt_len, granularity):
    """Tokens that a cache of this granularity can save; the last prompt token is always computed,
    since its logits are wanted."""
    return min(shared, prompt_len - 1) // granularity * granularity


def shared_prefixes(events, tokens):
    """Events are (time, "start" or "end", id) and need not be sorted; of equal times ends come
    first. `tokens` maps an id to what is in the cache at its end at best; its prompt is a beginning
    of it, given as tokens[id][0], the whole as tokens[id][1]. Returns id to shared tokens."""
    oracle = PrefixOracle()
    result = {}
    for _, what, request in sorted(events, key=lambda e: (e[0], e[1] == "start", e[2])):
        prompt, whole = tokens[request]
        if what == "start":
            result[request] = oracle.longest(prompt)
        else:
            oracle.add(whole)
    return result
