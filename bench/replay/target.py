"""A server under test: its prompts as tokens, and what it answered to the parts played so far."""

import asyncio
import concurrent.futures
import time

import words
from chat_body import BodyWriter
from http_stream import Endpoint
from player import Player
from prompt_tokens import LocalTokenizer, ServerTokenizer
from report import summarise


def parts_of(trace, count):
    """The trace's requests in at most `count` groups of whole sessions, about equally many each."""
    sessions = {}
    for request in trace.requests:
        sessions.setdefault(request.session, []).append(request)
    parts, size = [[]], len(trace.requests) / count
    for requests in sessions.values():
        if len(parts[-1]) >= size and len(parts) < count:
            parts.append([])
        parts[-1] += requests
    return parts


class Target:
    def __init__(self, url, trace, options):
        """Asks the server, or the files of --tokenizer, for the tokens of every prompt."""
        self.url, self._trace, self._options = url, trace, options
        tokenizer = (LocalTokenizer(options.tokenizer) if options.tokenizer else
                     ServerTokenizer(url.rstrip("/").removesuffix("/v1"), options.api_key))
        candidates = words.of_vocabulary(options.words) if options.words else words.CANDIDATES
        self._bodies = BodyWriter(
            trace, words.Writer(words.choose(tokenizer.count, candidates)), options.model)
        self._prompts = self._tokenize(tokenizer)
        self._endpoint = Endpoint(url, options.api_key)
        self._outcomes, self._seconds, self._cpu = {}, 0.0, 0.0

    def _tokenize(self, tokenizer):
        def prompt(request):
            return tokenizer.prompt(self._bodies.messages(request), self._bodies.tools(request),
                                    request.thinking)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ids = [request.id for request in self._trace.requests]
            return dict(zip(ids, pool.map(prompt, self._trace.requests)))

    def play(self, requests):
        """Goes on from the parts before: their time and their outcomes come first. Returns seconds."""
        player = Player(requests, self._bodies, self._endpoint, self._options.pace)
        cpu = time.process_time()
        seconds = asyncio.run(player.run(self._options.concurrency, self._options.open_loop))
        self._cpu += time.process_time() - cpu
        for request, outcome in player.outcomes.items():
            self._outcomes[request] = outcome.later(self._seconds)
        self._seconds += seconds
        return seconds

    def summary(self):
        result = summarise(self._trace, self._outcomes, self._seconds, self._prompts)
        result["client_cpu"] = round(self._cpu / self._seconds, 4)
        return result
