"""Plays agent sessions into a trace: tool loops, retries, edits, sub-agents, compaction."""

import dataclasses
import random

import render
import workload as w
from agent_trace import Call, Function, Message, Request, Run, Tools, Trace

TOOL_NAMES = ("read_file", "write_file", "edit_file", "list_files", "search", "run_command",
              "fetch_page", "ask_user", "take_screenshot", "query_database")
PARAMETER_NAMES = ("path", "pattern", "command", "content", "limit", "offset", "reason")


class TraceBuilder:
    """Numbers what a trace consists of and applies the scale to every length."""

    def __init__(self, scale):
        self.trace = Trace()
        self.scale = scale
        self._next_seed = render.FIRST_CONTENT_SEED

    def run(self, tokens, image=False):
        self._next_seed += 1
        return Run(self._next_seed, max(1, round(tokens * self.scale)), image)

    def message(self, role, **fields):
        message = Message(len(self.trace.messages), role, **fields)
        self.trace.messages[message.id] = message
        return message

    def tools(self, functions):
        tools = Tools(len(self.trace.tools), tuple(functions))
        self.trace.tools[tools.id] = tools
        return tools

    def request(self, **fields):
        request = Request(id=len(self.trace.requests), **fields)
        self.trace.requests.append(request)
        return request.id


@dataclasses.dataclass(frozen=True)
class App:
    """An agent program: what its sessions have in common."""
    system: tuple
    subagent_system: tuple
    tools: Tools


def make_app(builder, rng):
    functions = []
    # What the template writes around a tool does not scale, so that there are fewer tools instead.
    share = min(1.0, 2.0 * builder.scale)
    for i in range(max(w.FEWEST_TOOLS, round(w.NUM_TOOLS.draw(rng) * share))):
        suffix = "" if i < len(TOOL_NAMES) else f"_{i}"
        parameters = {name: (builder.run(w.PARAMETER_DESCRIPTION.draw(rng)),)
                      for name in rng.sample(PARAMETER_NAMES, rng.randint(*w.PARAMETERS))}
        functions.append(Function(TOOL_NAMES[i % len(TOOL_NAMES)] + suffix,
                                  (builder.run(w.TOOL_DESCRIPTION.draw(rng)),), parameters))
    return App((builder.run(w.SYSTEM_PROMPT.draw(rng)),),
               (builder.run(w.SYSTEM_PROMPT.draw(rng) / 2),), builder.tools(functions))


class Conversation:
    """The messages of one agent and how its next request waits for what came before."""

    def __init__(self, builder, rng, app, session, system, thinking):
        self.builder, self.rng, self.app = builder, rng, app
        self.session, self.thinking = session, thinking
        self.system = tuple(system)
        self.messages = list(system)
        self.after, self.at, self.pause = (), 0.0, 0.0

    def content_tokens(self):
        """Of the next prompt, before scaling and without what the template adds."""
        runs = render.tools_runs(self.app.tools)
        for message in self.messages:
            runs += render.message_runs(message, True)
        content = [run for run in runs if run.seed >= render.FIRST_CONTENT_SEED]
        return render.count(content) / self.builder.scale

    def add_user(self, runs):
        self.messages.append(self.builder.message("user", text=tuple(runs)))

    def send(self, kind, reply, with_tools=True):
        """A request with the messages so far; the reply is not added to them."""
        tools = self.app.tools if with_tools else None
        prompt = render.prompt_runs(self.messages, tools, self.thinking)
        self.after = (self.builder.request(
            session=self.session, kind=kind, at=self.at, after=self.after,
            pause=round(self.pause, 3), tools=tools.id if tools else -1, thinking=self.thinking,
            messages=tuple(m.id for m in self.messages), reply=reply.id,
            prompt_tokens=render.count(prompt),
            output_tokens=render.count(render.output_runs(reply))),)
        self.at, self.pause = 0.0, 0.0

    def reply(self, text=(), calls=()):
        reasoning = (self.builder.run(w.REASONING.draw(self.rng)),) if self.thinking else ()
        return self.builder.message("assistant", text=tuple(text), reasoning=reasoning,
                                    calls=tuple(calls), thinking=self.thinking)

    def answer(self):
        return self.reply(text=[self.builder.run(w.ANSWER.draw(self.rng))])

    def step_reply(self):
        rng, run = self.rng, self.builder.run
        calls = []
        for _ in range(2 if rng.random() < w.P_TWO_CALLS else 1):
            function = rng.choice(self.app.tools.functions)
            arguments = {name: (run(w.ARGUMENT.draw(rng)),) for name in function.parameters}
            if rng.random() < w.P_EDIT_CALL:
                arguments["new_text"] = (run(w.EDIT_ARGUMENT.draw(rng)),)
            calls.append(Call(function.name, arguments))
        text = [run(w.REMARK.draw(rng))] if rng.random() < 0.5 else []
        return self.reply(text, calls)

    def tool_results(self, calls):
        for _ in calls:
            runs = [self.builder.run(w.TOOL_RESULT.draw(self.rng))]
            if self.rng.random() < w.P_IMAGE_RESULT:
                runs.append(self.builder.run(w.IMAGE.draw(self.rng), image=True))
            self.messages.append(self.builder.message("tool", text=tuple(runs)))

    def tool_loop(self, first_kind, steps, may_spawn):
        room = w.MAX_PROMPT - w.LARGEST_STEP
        for step in range(steps):
            last = step + 1 == steps or self.content_tokens() > room
            reply = self.answer() if last else self.step_reply()
            self.send(first_kind if step == 0 else "step", reply)
            if self.rng.random() < w.P_RETRY:
                self.pause = w.TOOL_SECONDS.draw(self.rng)
                self.send("retry", reply)
            self.messages.append(reply)
            if last:
                return
            if may_spawn and self.rng.random() < w.P_SUBAGENTS:
                self.spawn()
            self.tool_results(reply.calls)
            self.pause = w.TOOL_SECONDS.draw(self.rng)

    def spawn(self):
        """Sub-agents side by side; this agent goes on when all are done."""
        ends = []
        for _ in range(self.rng.randint(1, w.MAX_SUBAGENTS)):
            builder, rng = self.builder, self.rng
            system = builder.message("system", text=(
                *self.app.subagent_system, builder.run(w.ENVIRONMENT.draw(rng))))
            agent = Conversation(builder, rng, self.app, self.session, [system], self.thinking)
            agent.add_user([builder.run(w.SUBAGENT_TASK.draw(rng))])
            agent.after, agent.pause = self.after, w.SPAWN_SECONDS
            agent.tool_loop("subagent", round(w.SUBAGENT_STEPS.draw(rng)), may_spawn=False)
            ends += agent.after
        self.after = tuple(ends)


def user_runs(builder, rng, may_paste=True):
    runs = [builder.run(w.USER_QUERY.draw(rng))]
    if may_paste and rng.random() < w.P_PASTED:
        runs.append(builder.run(w.PASTED.draw(rng)))
    if rng.random() < w.P_IMAGE_QUERY:
        runs.append(builder.run(w.IMAGE.draw(rng), image=True))
    return runs


def edit_message(conversation):
    """Goes back to one of the last three user messages and sends it changed behind its half."""
    messages, rng = conversation.messages, conversation.rng
    users = [i for i, m in enumerate(messages) if m.role == "user"][-3:]
    chosen = rng.choice(users)
    old = messages[chosen].text[0]
    del messages[chosen:]
    conversation.add_user([old.cut(max(1, old.count // 2)),
                           conversation.builder.run(w.USER_QUERY.draw(rng))])


def compact(conversation):
    """Begins anew from a summary, which a request over the whole conversation writes."""
    builder, rng = conversation.builder, conversation.rng
    conversation.add_user([builder.run(w.USER_QUERY.draw(rng))])
    summary = builder.run(w.SUMMARY.draw(rng))
    conversation.send("query", conversation.reply(text=[summary]))
    conversation.messages = [*conversation.system]
    conversation.add_user([summary, builder.run(w.USER_QUERY.draw(rng))])


def play_session(builder, rng, app, session, at):
    system = [builder.message("system", text=(*app.system, builder.run(w.ENVIRONMENT.draw(rng))))]
    if rng.random() < w.P_SEVERAL_SYSTEMS:
        system.append(builder.message("system", text=(builder.run(w.ENVIRONMENT.draw(rng)),)))
    agent = Conversation(builder, rng, app, session, system, rng.random() >= w.P_NO_THINKING)
    agent.at = at
    if rng.random() < w.P_SIDE:
        side = Conversation(builder, rng, app, session, [], agent.thinking)
        side.at = at
        side.add_user([builder.run(w.USER_QUERY.draw(rng))])
        side.send("side", side.answer(), with_tools=False)
    limit = w.COMPACT_AT.draw(rng)
    queries = round(w.QUERIES.draw(rng))
    document = rng.random() < w.P_DOCUMENT
    if document:
        limit, queries = w.MAX_PROMPT, min(queries, 3)
        agent.add_user([builder.run(w.DOCUMENT.draw(rng)), *user_runs(builder, rng, False)])
    else:
        agent.add_user(user_runs(builder, rng))
    kind = "first"
    for _ in range(queries):
        agent.tool_loop(kind, round(w.STEPS.draw(rng)), may_spawn=not document)
        agent.pause = w.THINK_SECONDS.draw(rng)
        if agent.content_tokens() > limit * 0.9:
            compact(agent)
            kind = "compact"
        elif rng.random() < w.P_EDIT:
            edit_message(agent)
            kind = "edit"
        else:
            agent.add_user(user_runs(builder, rng, not document))
            kind = "query"


def make_trace(num_requests, seed, scale=1.0, sessions_per_second=0.5):
    """At least `num_requests` requests in whole sessions; the same arguments, the same trace."""
    builder = TraceBuilder(scale)
    apps = [make_app(builder, random.Random(f"{seed}/app/{i}")) for i in range(w.NUM_APPS)]
    popularity = [1.0 / (i + 1) for i in range(w.NUM_APPS)]
    arrivals = random.Random(f"{seed}/arrivals")
    at, session = 0.0, 0
    while len(builder.trace.requests) < num_requests:
        rng = random.Random(f"{seed}/session/{session}")
        play_session(builder, rng, rng.choices(apps, popularity)[0], session, round(at, 3))
        at += arrivals.expovariate(sessions_per_second)
        session += 1
    builder.trace.header = {"seed": seed, "scale": scale, "requests": len(builder.trace.requests),
                            "sessions": session, "sessions_per_second": sessions_per_second}
    return builder.trace
