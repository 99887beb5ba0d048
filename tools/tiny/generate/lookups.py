"""Questions that a tool answers: a call, a result with several values in it, and the one value that was asked for."""

import json

from . import requests, words
from .core import Message, Sample, alternatives

KEYS = "port host user version name timeout workers level region mode size limit path title status owner branch city price total count temperature humidity email phone language color age score rating author license currency quantity capacity speed weight height priority deadline".split()
FILE_ASK = ["[Which|What] {k} is [set|given|defined|configured|written] in {f}?", "[What is|What's] the {k} in {f}?", "[Look|Have a look|Check] in {f} [for the {k}|which {k} is set|what the {k} is][.|]", "[Tell me|Give me|Find] the {k} [from|in|of] {f}[.|]", "[Open|Read] {f} and [tell me|give me|report] the {k}[.|]", "[I need|I want to know] the {k} [from|in] {f}[.|]", "[Is there|Do we have] a {k} in {f}?", "[According to|By] {f}, what is the {k}?", "{f}: [what is the|which] {k}?"]
RECORD_ASK = ["[What is|What's] the {k} of [{n} |]{x}?", "[Tell me|Give me|Find|Show me] the {k} of [{n} |]{x}[.|]", "[Which|What] {k} does [{n} |]{x} have?", "[I need|I want to know] the {k} of [{n} |]{x}[.|]", "{k} of [{n} |]{x}[?|, please.]", "[Look up|Check|Get] the {k} [of|for] [{n} |]{x}[.|]", "[Can|Could] you [tell me|find|get] the {k} of [{n} |]{x}?", "[Do you know|Please find] the {k} of [{n} |]{x}[?|.]"]
SHELL = [
    ("[How many lines|Count the lines|What is the number of lines] [has|are in|of|in] {f}[?|]", "wc -l {f}", "{n} {f}", "{f} has {n} lines.", "{n}"), ("[How much|What] disk space is [free|left|available][?|]|[Show|Check|Tell me] the free disk space[.|]|Is the disk full?", "df -h /", "Filesystem Size Used Avail Use% Mounted on\n/dev/{w} {m}G {n}G {p}G 50% /", "There are {p}G available.", "{p}G"),
    ("[In which|What is the current|Which] [directory|folder] [are we|am I in|is it|do we work in][?|]|[Where am I|Print the working directory][?|.|]", "pwd", "/home/{w}/{v}", "The directory is /home/{w}/{v}.", "/home/{w}/{v}"), ("[Which|What] branch [are we|am I|is this] on[?|]|[What is|Show] the current branch[?|.|]", "git branch --show-current", "{w}-{v}", "The branch is {w}-{v}.", "{w}-{v}"),
    ("[Which|What] [version of Python|Python version] [is installed|do we have|is this][?|]|[Check|Show] the Python version[.|]", "python3 --version", "Python 3.{a}.{b}", "The version is Python 3.{a}.{b}.", "3.{a}.{b}"), ("[Who am I|Which user am I|What is my user name|Under which user do you run][?|]", "whoami", "{w}", "The user is {w}.", "{w}"),
    ("[What is|Tell me|Show] the name of [this machine|the computer|the host][?|.|]|[Which host is this|What host are we on][?|]", "hostname", "{w}-{n}", "The host is {w}-{n}.", "{w}-{n}"), ("[How many|What number of] [cores|CPUs|processors] [does it have|are there|do we have|has this machine][?|]", "nproc", "{a}", "There are {a} cores.", "{a}"), ("[What is|Show me] the last commit[?|.|]|[Which commit was|What was] the last[ one|][?|]", "git log --oneline -1", "{h} Fix {w} {v}", "The last commit is {h} Fix {w} {v}.", "{h}"),
    ("[How big|How large] is [the file |]{f}[?|]|[What is|Show] the size of {f}[?|.|]", "du -h {f}", "{n}K\t{f}", "{f} has {n}K.", "{n}K"), ("[How many|Count the] files [are in|in] {d}[?|.|]", "ls {d} | wc -l", "{n}", "There are {n} files.", "{n}"), ("[Which|What] files are in {d}[?|]|[List|Show] the files in {d}[.|]", "ls {d}", "{w}.py\n{v}.md", "The files are {w}.py and {v}.md.", "{w}.py"),
    ("[How much|What] memory is [free|left|available][?|]|[Show|Check] the free memory[.|]", "free -h", "Mem: total {m}G used {n}G free {p}G", "There are {p}G of memory free.", "{p}G"), ("[How long|Since when] is [the machine|it|the server] [up|running][?|]|[Show|Check] the uptime[.|]", "uptime -p", "up {a} days, {b} hours", "It is up for {a} days, {b} hours.", "{a} days"),
    ("[Do|Did] the tests pass[?|]|[Run|Start] the tests[.|]", "pytest -q", "{n} passed in {a}.{b}s", "All {n} tests passed.", "{n}"), ("[Does|Did] it [build|compile][?|]|[Build|Compile] the project[.|]", "make", "error: {w}.cc:{n}: {v} was not declared", "The build failed: {w}.cc:{n}: {v} was not declared.", "{v}"),
]


def value(g, key):
    """A value for a key of a result."""
    if key in ("port", "workers", "timeout", "size", "limit", "count", "total", "age", "score", "quantity", "capacity", "speed", "weight", "height", "price", "temperature", "humidity", "rating"):
        return g.int(1, 9999) if key == "port" else g.int(1, 500)
    return g.pick([words.word(g), words.word(g), words.code(g), words.name(g), words.city(g), f"{g.int(1, 9)}.{g.int(0, 20)}"])


def written(g, data):
    """The values as a file or a reply of a service."""
    style = g.int(0, 4)
    if style == 0:
        return json.dumps(data, ensure_ascii=False)
    if style == 1:
        return json.dumps(data, ensure_ascii=False, indent=2)
    text = {2: "{}: {}", 3: "{} = {}", 4: "{}={}"}[style]
    lines = [text.format(key, one) for key, one in data.items()]
    if g.chance(0.3):
        lines.insert(g.int(0, len(lines)), g.pick(["# ", "// ", "; "]) + words.words(g, 2, 5))
    return g.pick(["", f"[{words.word(g)}]\n"]) * (style > 2) + "\n".join(lines)


def question(g):
    """Return (name, parameter, description, user text, argument, result, answer, key piece)."""
    if g.chance(0.35):
        asks, command, result, answer, key = g.pick(SHELL)
        slots = dict(f=requests.path(g), d=requests.folder(g), n=g.int(2, 900), m=g.int(50, 900), p=g.int(2, 90), a=g.int(2, 20), b=g.int(0, 20), w=words.word(g), v=words.word(g), h="".join(g.pick("0123456789abcdef") for _ in range(7)))
        name, parameter = g.pick([("bash", "command"), ("Bash", "command"), ("run_command", "cmd"), ("shell", "command"), ("execute", "command"), ("terminal", "input")])
        asked = g.say(g.pick(alternatives(asks)), **slots)
        return name, parameter, "Run a shell command", asked, command.format(**slots), result.format(**slots), answer.format(**slots), key.format(**slots)
    keys = g.some(KEYS, g.int(2, 6))
    data = {key: value(g, key) for key in keys}
    key = g.pick(keys)
    if g.chance(0.6):
        name, parameter = g.pick([("read_file", "path"), ("Read", "file_path"), ("open_file", "filename"), ("view", "path"), ("cat", "file")])
        place = requests.path(g)
        return name, parameter, "Read a file from disk", g.say(FILE_ASK, k=key, f=place), place, written(g, data), f"The {key} is {data[key]}.", str(data[key])
    noun = g.pick(words.NOUNS)
    name, parameter = g.pick([f"get_{noun}", f"find_{noun}", f"{noun}_info", f"lookup_{noun}", f"get{noun.capitalize()}"]), g.pick(["id", "name", f"{noun}_id", "key", noun])
    thing = g.pick([words.code(g), words.name(g), words.word(g), str(g.int(10, 99999))])
    return name, parameter, f"Get the data of a {noun}", g.say(RECORD_ASK, k=key, n=noun, x=thing), thing, written(g, data), f"The {key} of {thing} is {data[key]}.", str(data[key])


def lookup(g, thinking, wrap_tool, others, system):
    """A question, the call, its result and the answer; sometimes a second question about the same result."""
    name, parameter, description, user, argument, result, answer, key = question(g)
    schema = {"type": "string"} | ({"description": g.pick(["The value", parameter.capitalize(), "What to use"])} if g.chance(0.4) else {})
    tools = [wrap_tool(g, name, description, {parameter: schema}, [parameter])] + others
    g.rng.shuffle(tools)
    messages = system + [Message("user", g.dress(user, 0.08)), Message("assistant", "", think=f"I call {name}({parameter}={argument}).", calls=[(name, {parameter: argument})])]
    if g.chance(0.25):
        return Sample("tool_call", messages, ("calls", [(name, {parameter: argument})]), thinking, tools)
    messages += [Message("tool", result), Message("assistant", answer, think="I have the result and answer.")]
    return Sample("tool_result", messages, ("contains", [key]), thinking, tools)
