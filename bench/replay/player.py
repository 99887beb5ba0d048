"""Plays requests against a server: every session's in their order, sessions side by side."""

import asyncio
import dataclasses
import time

from http_stream import HttpError, post_stream


@dataclasses.dataclass
class Outcome:
    """What one request met. Times are seconds from the start of the run."""
    sent: float = 0.0
    ended: float = 0.0
    times: list = dataclasses.field(default_factory=list)  # of events with text
    tokens: list = dataclasses.field(default_factory=list)  # drawn by then; [] if nobody says
    after_finish: int = 0  # events with text behind a finish reason
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    finish: str = ""
    error: str = ""

    @property
    def first(self):
        """0: none came."""
        return self.times[0] if self.times else 0.0

    def waits(self):
        """(before, after, tokens) of events with text that followed each other: tokens without text,
        such as parts of a character, make the next event carry more than one."""
        drawn = self.tokens if len(self.tokens) == len(self.times) else range(len(self.times))
        steps = [max(1, b - a) for a, b in zip(drawn, drawn[1:])]
        return list(zip(self.times, self.times[1:], steps))

    def gaps(self):
        return [after - before for before, after, _ in self.waits()]

    def later(self, seconds):
        """The same in a run that began so much earlier."""
        return dataclasses.replace(self, sent=self.sent + seconds, ended=self.ended + seconds,
                                   times=[at + seconds for at in self.times])


def _has_text(delta):
    return bool(delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
                or delta.get("tool_calls"))


def _read_usage(event, outcome):
    usage = event.get("usage")
    if usage:
        outcome.prompt_tokens = usage["prompt_tokens"]
        outcome.output_tokens = usage["completion_tokens"]
        details = usage.get("prompt_tokens_details") or {}
        outcome.cached_tokens = details.get("cached_tokens") or 0
    if not outcome.cached_tokens:
        outcome.cached_tokens = (event.get("timings") or {}).get("cache_n", 0)


def _read_event(now, event, outcome):
    if "error" in event:
        raise HttpError(f"in the stream: {event['error']}")
    _read_usage(event, outcome)
    for choice in event.get("choices", ()):
        if _has_text(choice.get("delta", {})):
            if outcome.finish:
                outcome.after_finish += 1
            outcome.times.append(now)
            if event.get("usage"):
                outcome.tokens.append(event["usage"]["completion_tokens"])
        outcome.finish = choice.get("finish_reason") or outcome.finish


class Player:
    def __init__(self, requests, bodies, endpoint, pace):
        """`requests` are whole sessions of a trace."""
        self._requests, self._bodies, self._endpoint, self._pace = requests, bodies, endpoint, pace
        self.outcomes = {}  # request id to Outcome

    async def run(self, concurrency, open_loop):
        """`concurrency` sessions at a time in the trace's order; with `open_loop` each session at
        its own time instead."""
        self._start = time.perf_counter()
        self._done = {r.id: asyncio.Event() for r in self._requests}
        self._slots = asyncio.Semaphore(concurrency)
        sessions = {}
        for request in self._requests:
            sessions.setdefault(request.session, []).append(request)
        await asyncio.gather(*(self._session(s, open_loop) for s in sessions.values()))
        return time.perf_counter() - self._start

    async def _session(self, requests, open_loop):
        if open_loop:
            await asyncio.sleep(requests[0].at * self._pace)
            await asyncio.gather(*map(self._request, requests))
            return
        async with self._slots:
            await asyncio.gather(*map(self._request, requests))

    async def _request(self, request):
        for before in request.after:
            await self._done[before].wait()
        await asyncio.sleep(request.pause * self._pace)
        body = self._bodies.body(request)
        outcome = self.outcomes[request.id] = Outcome(sent=self._now())
        try:
            async for at, event in post_stream(self._endpoint, "/chat/completions", body):
                _read_event(at - self._start, event, outcome)
            if not outcome.finish:
                outcome.error = "the stream ended without a finish reason"
        except (HttpError, OSError, EOFError, ValueError, KeyError, IndexError) as error:
            outcome.error = f"{type(error).__name__}: {error}"[:300]
        outcome.ended = self._now()
        self._done[request.id].set()

    def _now(self):
        return time.perf_counter() - self._start
