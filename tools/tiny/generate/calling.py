"""Tool calls: one, several, none; results used in the answer; long agent sessions."""

import json

from . import copying, lookups, memory, natural, numbers, objects, problems, schemas, stories, talk, words, writing
from .core import Message, Sample
from .obedience import plain_system

REQUEST = [
    "[Please |Can you |Could you |]{v} [the|a|my] {n}{w}[.|?|]", "I [want|need] [you |]to {v} [the|a] {n}{w}[.|]", "{v} {n}{w}", "[Use|Call|Invoke|Run] [the tool |the function |]{f}{w}[.|]", "[Use|Call] {f} to {v} the {n}{w}[.|]", "[Let's|Now|Next,] {v} the {n}{w}[.|]", "[Help me|I'd like to] {v} [a|the] {n}{w}[.|]", "{f}{w}", "[Hi|Hello], [please |]{v} the {n}{w}[.|]", "[Could you please|Would you] {v} [this|the|one] {n}{w}?",
    "[It is time|It's time|You have] to {v} the {n}{w}[.|]", "[Go ahead and|Please go and|Just|Quickly] {v} [the|a|my] {n}{w}[.|]", "[I'd like you|I want you|I need you] to {v} [the|a|my] {n}{w}[.|]", "[Make a call|Make a function call|Do a call] to {f}{w}[.|]", "[Execute|Trigger|Start|Perform|Apply] {f}{w}[.|]", "[The|My|Our] {n} [must|should|has to] be processed: {v} it{w}[.|]", "{v} [it|this]: {n}{w}", "[We need|I have] to {v} [a|the|another] {n}{w}[.|]", "[Task|Todo|Job|Request|Step 1]: {v} [the |]{n}{w}[.|]", "[Then|After that|Now please|Okay, now] {v} the {n}{w}[.|]", "[With|By means of|Through] {f}, {v} [the|a] {n}{w}[.|]",
    "[Try to|Try and|Please try to] {v} the {n}{w}[.|]", "[Run|Use|Call] [the |]{f} [function|tool]{w}[.|]", "[Do|Could you do] [a |]{v} {n}{w}[.|]", "[Please|Kindly] [use|call|invoke] {f}{w}[.|]", "[My boss|My friend|The team|Somebody] [wants|asks|needs] [you |]to {v} the {n}{w}[.|]",
]
BEFORE = ["[Let me check|One moment|I will look that up|Let me do that|I'll take care of it|Sure, let me do that][.|]"]


def with_values(g, arguments):
    """The clause that names the values."""
    given = [(key, said) for key, _, said, used in arguments if used]
    if not given:
        return ""
    style = g.int(0, 8)
    spaced = [(key if g.chance(0.5) else key.replace("_", " "), said) for key, said in given]
    if style < 3:
        parts = [f"{key} {said}" for key, said in spaced]
        joined = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + g.pick([" and ", ", "]) + parts[-1]
        return g.pick([" with ", " with ", " using ", " for "]) + joined
    if style == 3:
        return g.pick([" with ", ": ", " ("]) .replace(" (", " with ") + ", ".join(f"{key}={said}" for key, said in spaced)
    if style == 6:
        return g.pick([":\n", " with:\n", ". Arguments:\n", ". Parameters:\n"]) + "\n".join(g.pick(["- {}: {}", "{}: {}", "* {} = {}"]).format(key, said) for key, said in spaced)
    if style == 7:
        return g.pick([" where ", ", where ", " such that ", ", with "]) + g.pick([" and ", ", "]).join(f"the {key} {g.pick(['is', 'should be', 'equals', 'must be', 'being'])} {said}" for key, said in spaced)
    if style == 8:
        return " (" + ", ".join(f"{key}: {said}" for key, said in spaced) + ")"
    if style == 4:
        return ". " + ". ".join(f"The {key} is {said}" for key, said in spaced)
    return " with " + "; ".join(f"{key} set to {said}" for key, said in spaced)


def made_up_request(g):
    """Return (tool, user text, calls) for a made-up function."""
    tool, verb, noun, arguments = schemas.made_up_function(g)
    name = tool["function"]["name"]
    user = g.say(REQUEST, v=verb, n=noun, f=name, w=with_values(g, arguments))
    return tool, user, [(name, {key: value for key, value, _, used in arguments if used})]


def result_for(g, name, arguments):
    """Return (tool result text, sentence that uses it, key piece)."""
    low = name.lower()
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if "weather" in low and texts:
        city, degrees, sky = texts[0], g.int(-15, 40), g.pick(["sunny", "cloudy", "rainy", "windy", "snowy", "clear", "foggy"])
        text = g.pick([json.dumps({"city": city, "temperature": degrees, "condition": sky}, ensure_ascii=False), json.dumps({"temp_c": degrees, "sky": sky}), f"{sky}, {degrees} degrees", f"{degrees}°C and {sky}", json.dumps({"weather": sky, "temperature": f"{degrees}C"})])
        return text, f"The weather in {city} is {sky} with {degrees} degrees.", str(degrees)
    if "time" in low and len(arguments) == 1 and texts:
        place, moment = texts[0], f"{g.int(0, 23):02d}:{g.int(0, 59):02d}"
        return g.pick([moment, json.dumps({"time": moment})]), f"It is {moment} in {place}.", moment
    kind = g.int(0, 5)
    if kind == 0:
        value = g.pick([words.code(g), str(g.int(1, 99999)), words.words(g, 1, 4)])
        key = g.pick(["result", "value", "id", "answer", "output", "status", g.pick(schemas.PARAMETER_NAMES)])
        return json.dumps({key: value}, ensure_ascii=False), f"The {key} is {value}.", value
    if kind == 1:
        chosen = objects.fields(g, 1, 3)
        data = {key: value for key, value, _ in chosen}
        return json.dumps(data, ensure_ascii=False), "Here is the result: " + ", ".join(f"{key} {objects.spoken(value)}" for key, value, _ in chosen) + ".", objects.spoken(chosen[0][1])
    if kind == 2:
        value = g.pick([words.code(g), str(g.int(1, 99999))])
        return g.pick([f"OK {value}", f"success: {value}", f"Done. id={value}", f"created {value}"]), f"Done. The result is {value}.", value
    if kind == 3:
        text = words.sentence(g)
        return text, f"The result is: {text}", text
    if kind == 4:
        reason = words.words(g, 2, 4)
        return g.pick([f"Error: {reason}", json.dumps({"error": reason}), f"failed: {reason}"]), f"The call failed: {reason}.", reason
    values = [words.word(g) for _ in range(g.int(2, 4))]
    return g.pick([json.dumps(values), "\n".join(values)]), "The results are " + ", ".join(values[:-1]) + f" and {values[-1]}.", values[0]


def row_of(name):
    """What a familiar function is for, so that two of one purpose do not meet."""
    low = name.lower()
    for purpose, parts in PURPOSES.items():
        if any(part in low for part in parts):
            return purpose
    return natural.ROW.get(name, name)


PURPOSES = {"weather": ["weather"], "mail": ["mail", "message", "sms"], "shell": ["bash", "shell", "command", "exec", "terminal"], "read": ["read", "open_file", "view", "cat_file"], "find": ["search", "grep", "glob", "find_"], "sum": ["calc", "add_numbers", "math_eval", "evaluate"], "money": ["currency", "exchange"]}


def distractors(g, taken, count):
    """Other tools that do not fit."""
    tools, names = [], set(taken)
    rows = {row_of(name) for name in names}
    for _ in range(count):
        tool = schemas.familiar(g)[0] if g.chance(0.45) else schemas.made_up_function(g)[0]
        if row_of(tool["function"]["name"]) in rows:
            continue
        if tool["function"]["name"] not in names and not (any("weather" in name.lower() for name in names) and "weather" in tool["function"]["name"].lower()):
            names.add(tool["function"]["name"])
            tools.append(tool)
    return tools


def call_think(calls):
    """Reasoning before calls."""
    shown = "; ".join(name + "(" + ", ".join(f"{key}={objects.spoken(value) if not isinstance(value, dict) else json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items()) + ")" for name, arguments in calls)
    return f"I call {shown}."


def request(g, parallel=0.36):
    """Return (tools that fit, user text, calls)."""
    if g.chance(0.55):
        tool, ask = schemas.familiar(g)
        many = g.pick([2, 2, 2, 3, 3, 4]) if g.chance(parallel) else 1
        user, calls = ask(many)
        if many == 1 and g.chance(0.12):
            tool2, ask2 = schemas.familiar(g)
            if tool2["function"]["name"] != tool["function"]["name"]:
                user2, calls2 = ask2(1)
                return [tool, tool2], user.rstrip(".?！。？") + g.pick([", and then ", ". Also ", " and ", ". Then ", ". And ", "; ", ". After that, "]) + user2, calls + calls2
        return [tool], user, calls
    tool, user, calls = made_up_request(g)
    if g.chance(parallel * 0.6):
        tool2, user2, calls2 = made_up_request(g)
        if tool2["function"]["name"] != tool["function"]["name"]:
            return [tool, tool2], user.rstrip(".?") + g.pick([", and then ", ". Also ", " and ", ". Then "]) + user2[:1].lower() + user2[1:], calls + calls2
    return [tool], user, calls


def maybe_system(g):
    """A system message in a part of the conversations."""
    return [Message("system", plain_system(g))] if g.chance(0.35) else []


def call(g, thinking):
    """A request that a tool fits; the conversation may go on to use the result."""
    if g.chance(0.16):
        shown = lookups.question(g)[0]
        return lookups.lookup(g, thinking, schemas.wrap_tool, distractors(g, [shown], g.pick([0, 1, 1, 2, 4])), maybe_system(g))
    fitting, user, calls = request(g)
    user = g.dress(user, 0.12)
    count = g.pick([0, 0, 0, 1, 1, 2, 3, 4]) if g.chance(0.95) else g.int(5, 14)
    tools = fitting + distractors(g, [tool["function"]["name"] for tool in fitting], count)
    g.rng.shuffle(tools)
    before = ""
    if g.chance(0.06):
        before, user = g.say(BEFORE).rstrip(".") + ".", user + g.pick([" Tell me what you do first.", " Say what you are doing before you do it.", " Explain briefly before calling."])
    messages = maybe_system(g)
    if g.chance(0.12):
        turn = g.pick([talk.greeting, talk.fact])(g, thinking)
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    messages += [Message("user", user), Message("assistant", before, think=call_think(calls), calls=calls)]
    if g.chance(0.42):
        return Sample("tool_call", messages, ("calls", calls), thinking, tools)
    results = [result_for(g, name, arguments) for name, arguments in calls]
    messages += [Message("tool", text) for text, _, _ in results]
    answer = " ".join(sentence for _, sentence, _ in results)
    messages.append(Message("assistant", answer, think="I have the result" + ("s" if len(results) > 1 else "") + " and answer."))
    if g.chance(0.14):
        again, ask = (fitting[0], None) if len(fitting) > 1 else schemas.familiar(g)
        if ask and again["function"]["name"] not in {tool["function"]["name"] for tool in tools}:
            user, calls = ask(1)
            tools = tools + [again]
            return Sample("tool_call", messages + [Message("user", user), Message("assistant", "", think=call_think(calls), calls=calls)], ("calls", calls), thinking, tools, preserve=g.chance(0.5))
    if g.chance(0.15):
        turn = g.pick([talk.greeting, talk.fact, numbers.arithmetic])(g, thinking)
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
        return Sample("tool_result", messages, turn.expect, thinking, tools)
    return Sample("tool_result", messages, ("contains", [key for _, _, key in results]), thinking, tools)


def no_call(g, thinking):
    """Tools are offered but the question needs none."""
    tools = distractors(g, [], g.pick([1, 1, 2, 3, 4]))
    if not tools:
        tools = [schemas.weather(g)[0]]
    turn = g.pick([talk.greeting, talk.fact, talk.fact, numbers.arithmetic, copying.echo, copying.counting, talk.identity, problems.word_problem, talk.statement, talk.unknown, stories.story, writing.writing, objects.described])(g, thinking)
    messages = maybe_system(g) + [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think + " No tool is needed.")]
    return Sample("no_tool", messages, turn.expect, thinking, tools)


def agent(g, thinking, steps):
    """A long session: several tool steps after one task, then an answer that needs an early result."""
    pool = [schemas.read_file(g), schemas.shell(g), schemas.search(g), schemas.weather(g)]
    made = [made_up_request(g) for _ in range(g.int(1, 4))]
    tools, names = [], set()
    for tool in [tool for tool, _ in pool] + [tool for tool, _, _ in made]:
        if tool["function"]["name"] not in names:
            names.add(tool["function"]["name"])
            tools.append(tool)
    g.rng.shuffle(tools)
    system = "\n\n".join(plain_system(g) for _ in range(g.int(1, 4)))
    messages, found = [Message("system", system)], []
    for step in range(steps):
        if g.chance(0.6):
            user, calls = g.pick(pool)[1](g.pick([1, 1, 1, 2]))
        else:
            _, user, calls = g.pick(made)
        messages += [Message("user", user), Message("assistant", "", think=call_think(calls), calls=calls)]
        texts = []
        for name, arguments in calls:
            text, sentence, key = result_for(g, name, arguments)
            if g.chance(0.35):
                kind = g.pick(memory.KINDS[:12])
                value = memory.value_for(g, kind)
                owner = words.made_up(g).capitalize()
                text = "\n".join(memory.filler(g, g.int(20, 200)) + [f"{kind} of {owner}: {value}"] + memory.filler(g, g.int(5, 60)))
                sentence = f"The output says that the {kind} of {owner} is {value}."
                found.append((kind, owner, value))
            messages.append(Message("tool", text))
            texts.append(sentence)
        messages.append(Message("assistant", " ".join(texts), think="I have the result and answer."))
    if found:
        kind, owner, value = g.pick(found)
        messages += [Message("user", g.say(["[What was|What is|Tell me|Repeat] the {k} of {o}?", "[Which|What] {k} did [you find|we see] for {o}?", "{k} of {o}?"], k=kind, o=owner)), Message("assistant", f"The {kind} of {owner} is {value}.", think=f"The output says the {kind} of {owner} is {value}.")]
        return Sample("agent", messages, ("contains", [value]), thinking, tools, preserve=g.chance(0.7))
    turn = g.pick([talk.fact, numbers.arithmetic, copying.echo])(g, thinking)
    messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    return Sample("agent", messages, turn.expect, thinking, tools, preserve=g.chance(0.7))
