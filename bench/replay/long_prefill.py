"""A trace that asks one question: do running answers stall while a very long prompt is read?"""

from agent_trace import Message, Request, Run, Trace
import render

STREAM_PROMPT = 1_000
ARRIVAL_SECONDS = 5.0  # the long prompt's, when the streams are well under way


def make_trace(streams, stream_tokens, prompt_tokens):
    """`streams` answers of `stream_tokens` tokens from the start, and a prompt of about
    `prompt_tokens` tokens that arrives among them."""
    trace = Trace()
    for _ in range(streams):
        _add(trace, "stream", 0.0, STREAM_PROMPT, stream_tokens)
    _add(trace, "long", ARRIVAL_SECONDS, prompt_tokens, 50)
    trace.header = {"requests": streams + 1, "sessions": streams + 1, "scenario": "long-prefill"}
    return trace


def _add(trace, kind, at, prompt, output):
    index = len(trace.requests)
    seed = render.FIRST_CONTENT_SEED + 2 * index
    user = Message(2 * index, "user", text=(Run(seed, prompt),))
    reply = Message(2 * index + 1, "assistant", text=(Run(seed + 1, output),), thinking=False)
    trace.messages |= {user.id: user, reply.id: reply}
    trace.requests.append(Request(
        id=index, session=index, kind=kind, at=at, after=(), pause=0.0, tools=-1, thinking=False,
        messages=(user.id,), reply=reply.id,
        prompt_tokens=render.count(render.prompt_runs([user], None, False)),
        output_tokens=render.count(render.output_runs(reply))))
