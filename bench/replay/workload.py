"""How long things are in an agent's life: distributions, all in tokens, seconds or counts.

The constants are set so that a trace has the shape that agent servers report: prompts of 27k tokens
on average and up to 250k, system prompts with tools of 8k to 20k that many sessions share, most
requests inside tool loops that add some hundred tokens, answers of some hundred tokens.
"""

import dataclasses
import math

MAX_PROMPT = 250_000
LARGEST_STEP = 55_000  # a tool loop ends when less is left: two results, two edits, reasoning


@dataclasses.dataclass(frozen=True)
class LogNormal:
    median: float
    sigma: float
    low: float
    high: float

    def draw(self, rng):
        value = self.median * math.exp(rng.gauss(0.0, self.sigma))
        return min(self.high, max(self.low, value))


NUM_APPS = 8  # agent programs with a system prompt and tools of their own, popular by Zipf's law
SYSTEM_PROMPT = LogNormal(3_000, 0.6, 600, 9_000)
NUM_TOOLS = LogNormal(18, 0.6, 4, 60)
FEWEST_TOOLS = 3
TOOL_DESCRIPTION = LogNormal(130, 0.9, 20, 1_500)
PARAMETERS = (1, 5)
PARAMETER_DESCRIPTION = LogNormal(18, 0.7, 3, 120)
ENVIRONMENT = LogNormal(120, 0.5, 30, 600)  # date, folder, user: the session's own, behind the rest

USER_QUERY = LogNormal(70, 1.1, 4, 3_000)
PASTED = LogNormal(4_000, 0.9, 500, 30_000)  # a file or log in a user message
DOCUMENT = LogNormal(130_000, 0.5, 40_000, 205_000)  # a session about one very long text
REASONING = LogNormal(110, 1.0, 5, 4_000)
REMARK = LogNormal(25, 0.8, 4, 200)  # text beside a tool call
ANSWER = LogNormal(220, 0.9, 10, 3_000)
ARGUMENT = LogNormal(22, 0.9, 2, 400)
EDIT_ARGUMENT = LogNormal(300, 1.0, 20, 4_000)  # the new text of a file
TOOL_RESULT = LogNormal(320, 1.5, 3, 20_000)
SUMMARY = LogNormal(1_800, 0.4, 600, 5_000)
SUBAGENT_TASK = LogNormal(350, 0.6, 60, 1_500)
IMAGE = LogNormal(900, 0.5, 64, 4_096)

QUERIES = LogNormal(1.7, 0.8, 1, 25)  # user messages of a session
STEPS = LogNormal(4.2, 0.9, 1, 60)  # requests of a tool loop, the final answer's included
SUBAGENT_STEPS = LogNormal(5.0, 0.6, 2, 25)
COMPACT_AT = LogNormal(110_000, 0.4, 50_000, MAX_PROMPT)  # where an agent program summarises

TOOL_SECONDS = LogNormal(0.9, 1.2, 0.02, 60.0)
THINK_SECONDS = LogNormal(20.0, 1.0, 1.0, 300.0)  # a person's, before the next message
SPAWN_SECONDS = 0.3

P_DOCUMENT = 0.05  # of a session
P_NO_THINKING = 0.15
P_SEVERAL_SYSTEMS = 0.04
P_SIDE = 0.6  # a session begins with a small request without tools, such as for a title
P_PASTED = 0.12  # of a user message
P_IMAGE_QUERY = 0.015
P_IMAGE_RESULT = 0.003  # of a tool result: a screen shot
P_TWO_CALLS = 0.18  # of a step
P_EDIT_CALL = 0.2  # of a call
P_RETRY = 0.025  # of a request: sent again as it was
P_EDIT = 0.12  # of a tool loop: its user message, or an earlier one, is changed and sent anew
P_SUBAGENTS = 0.03  # of a step
MAX_SUBAGENTS = 3
