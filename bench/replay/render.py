"""Prompts as runs of tokens, in the shape that the family's chat template gives them.

What matters for a prefix cache is kept: tools come first and share the first message with the
system prompt, the reasoning of assistant messages is in the prompt only behind the last user
message, and a generated answer is a beginning of the message it becomes. The pieces of the template
itself are runs with small seeds; content has seeds from FIRST_CONTENT_SEED.
"""

from agent_trace import Run

FIRST_CONTENT_SEED = 1000


def _glue(seed, count):
    return Run(seed, count)


def _system_end():
    return _glue(1, 2)  # <|im_end|> \n


def _role(role):
    return _glue({"user": 2, "tool": 3, "assistant": 4}[role], 3)  # <|im_start|> role \n


_TOOLS_BEGIN = (5, 12)  # <|im_start|>system \n # Tools ...
_TOOLS_END = (6, 180)  # </tools> and how to call
_FUNCTION = (7, 42)  # JSON around a function's name, description and parameters
_PARAMETER = (8, 16)
_THINK = (9, 2)  # <think> \n
_NO_THINK = (10, 4)  # <think> \n\n </think> \n\n
_END_THINK = (11, 3)  # \n </think> \n\n
_CALL = (12, 8)  # <tool_call> \n <function= > \n ... </function> </tool_call>
_ARGUMENT = (13, 7)  # <parameter= > \n ... \n </parameter> \n
_RESPONSE_END = (14, 4)  # \n </tool_response> <|im_end|> \n
_SYSTEM_BEGIN = (15, 3)  # <|im_start|>system \n


def generation_header(thinking):
    return [_role("assistant"), _glue(*(_THINK if thinking else _NO_THINK))]


def message_runs(message, keep_reasoning):
    """The message in a prompt; `keep_reasoning`: it stands behind the last user message."""
    if message.role == "system":
        return [*message.text, _system_end()]
    if message.role == "tool":
        return [_role("tool"), *message.text, _glue(*_RESPONSE_END)]
    if message.role == "user":
        return [_role("user"), *message.text, _system_end()]
    if not keep_reasoning:
        runs = [_role("assistant")]
    else:
        runs = generation_header(message.thinking)
        if message.thinking:
            runs += [*message.reasoning, _glue(*_END_THINK)]
    runs += message.text
    for call in message.calls:
        runs.append(_glue(*_CALL))
        for runs_of_argument in call.arguments.values():
            runs += [_glue(*_ARGUMENT), *runs_of_argument]
    runs.append(_system_end())
    return runs


def tools_runs(tools):
    runs = [_glue(*_TOOLS_BEGIN)]
    for function in tools.functions:
        runs += [_glue(*_FUNCTION), *function.description]
        for description in function.parameters.values():
            runs += [_glue(*_PARAMETER), *description]
    return [*runs, _glue(*_TOOLS_END)]


def last_query(messages):
    """Index of the last user message: reasoning before it is dropped."""
    return max(i for i, message in enumerate(messages) if message.role == "user")


def prompt_runs(messages, tools, thinking):
    runs = tools_runs(tools) if tools else [_glue(*_SYSTEM_BEGIN)]
    query = last_query(messages)
    for i, message in enumerate(messages):
        runs += message_runs(message, keep_reasoning=i > query)
    return runs + generation_header(thinking)


def output_runs(message):
    """What a model generates to give this message: without the header and the newline after it."""
    runs = message_runs(message, keep_reasoning=True)[len(generation_header(message.thinking)):]
    return [*runs[:-1], runs[-1].cut(1)]


def count(runs):
    return sum(run.count for run in runs)
