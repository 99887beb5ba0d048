"""What the trace of an agent workload is made of.

Content is not text but runs of tokens: (seed, count) stands for `count` tokens that the seed fixes.
Two runs with one seed share their beginning, which is all that a prefix cache can see. The replayer
turns runs into words, the simulator into token ids, so both replay the same trace.
"""

import dataclasses

KINDS = ("first", "query", "step", "retry", "edit", "compact", "subagent", "side", "stream",
         "long")


@dataclasses.dataclass(frozen=True)
class Run:
    seed: int
    count: int
    image: bool = False  # stands for an image of that many tokens

    def cut(self, count):
        return dataclasses.replace(self, count=min(count, self.count))


@dataclasses.dataclass(frozen=True)
class Call:
    name: str
    arguments: dict  # name to runs


@dataclasses.dataclass(frozen=True)
class Message:
    id: int
    role: str  # system, user, assistant, tool
    text: tuple = ()  # of Run
    reasoning: tuple = ()  # of Run; assistant only
    calls: tuple = ()  # of Call; assistant only
    thinking: bool = True  # of the session: what the generation header looks like


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    description: tuple  # of Run
    parameters: dict  # name to runs that describe it


@dataclasses.dataclass(frozen=True)
class Tools:
    id: int
    functions: tuple


@dataclasses.dataclass(frozen=True)
class Request:
    id: int
    session: int  # top-level session; its sub-agents have the same one
    kind: str  # of KINDS
    at: float  # seconds from the start for a session's first request
    after: tuple  # requests that must be finished before it; empty for a session's first
    pause: float  # seconds from the last of them to this one
    tools: int  # -1: none
    thinking: bool
    messages: tuple  # ids
    reply: int  # the assistant message that the agent goes on with
    prompt_tokens: int  # as render.py counts
    output_tokens: int


class Trace:
    """A whole trace in memory; `header` says how it was made."""

    def __init__(self, header=None):
        self.header = header or {}
        self.tools = {}
        self.messages = {}
        self.requests = []

    def prompt_of(self, request):
        return [self.messages[i] for i in request.messages]

    def tools_of(self, request):
        return self.tools[request.tools] if request.tools >= 0 else None
