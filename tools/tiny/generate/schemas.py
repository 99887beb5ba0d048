"""Function schemas: a few familiar ones and any number of made-up ones, with values and how people say them."""

import json

from . import words
from .natural import natural

PARAMETER_NAMES = (
    "city location query path filename text message title name amount quantity count limit unit units language target source destination date time start end "
    "duration user recipient subject body email phone url id item product category tag tags color size mode format priority level speed volume temperature "
    "width height x y min max key value keyword pattern command code topic artist song genre room device state enabled verbose recursive force notify "
    "currency from to origin price rating status reason note comment branch repo file line column table field order page offset timeout retries timezone "
    "country address zip street host port region zone group role owner label description content channel playlist album style theme depth radius angle weight"
).split()


def snake(parts):
    """lower_case_with_underscores"""
    return "_".join(parts)


def camel(parts):
    """camelCase"""
    return parts[0] + "".join(part.capitalize() for part in parts[1:])


def function_name(g):
    """Return (name, verb, noun) in one of many naming styles."""
    verb = g.pick(words.VERBS) if g.chance(0.85) else words.made_up(g)
    noun = g.pick(words.NOUNS) if g.chance(0.8) else words.made_up(g)
    parts = [verb, noun] if g.chance(0.75) else [verb, noun, g.pick(words.NOUNS)]
    noun = " ".join(parts[1:])
    roll = g.int(0, 19)
    if roll < 9:
        return snake(parts), verb, noun
    if roll < 12:
        return camel(parts), verb, noun
    if roll < 13:
        return "".join(part.capitalize() for part in parts), verb, noun
    if roll < 14:
        return "-".join(parts), verb, noun
    if roll < 15:
        return f"{parts[-1]}.{verb}", verb, noun
    if roll < 17:
        return f"mcp__{g.pick([words.made_up(g), g.pick(words.NOUNS)])}{g.pick(['-', '_', ''])}{g.pick([words.made_up(g, 1), g.pick(words.NOUNS)])}__{snake(parts)}", verb, noun
    if roll < 18:
        return snake(parts) + g.pick(["_v2", "_tool", "_api", str(g.int(1, 9))]), verb, noun
    if roll < 19:
        return words.made_up(g), verb, noun
    return verb, verb, noun


def parameter_name(g):
    """A parameter name in some style."""
    base = g.pick(PARAMETER_NAMES)
    roll = g.int(0, 9)
    if roll < 6:
        return base
    if roll < 8:
        return f"{g.pick(words.NOUNS)}_{base}"
    if roll < 9:
        return g.pick(words.NOUNS) + base.capitalize()
    return words.made_up(g)


def free_string(g):
    """A string argument."""
    return g.pick([words.word(g), words.words(g, 1, 4), words.name(g), words.city(g), words.code(g), f"/{words.word(g)}/{words.word(g)}.{g.pick(['txt', 'py', 'md', 'json'])}", words.words(g, 2, 6), g.pick(words.COLOURS),
                   f"{g.pick(words.NAMES).lower()}@{words.made_up(g)}.com", f"2026-{g.int(1, 12):02d}-{g.int(1, 28):02d}", f"{g.int(0, 23):02d}:{g.int(0, 59):02d}", words.chinese(g) if g.chance(0.3) else words.made_up(g)])


def parameter(g, name=None):
    """Return (name, schema, value, spoken): a typed parameter with one value."""
    name = name or parameter_name(g)
    kind = g.pick(["string"] * 9 + ["integer"] * 4 + ["number"] * 2 + ["boolean"] * 3 + ["enum"] * 3 + ["array"] * 2 + ["object", "nullable"])
    spaced = name.replace("_", " ")
    schema = {"type": kind}
    if kind == "string":
        value = free_string(g)
    elif kind == "integer":
        value = g.int(0, g.pick([10, 100, 1000, 100000]))
    elif kind == "number":
        value = g.int(0, 500) + g.int(1, 9) / 10 if g.chance(0.8) else g.int(1, 100)
    elif kind == "boolean":
        value = g.chance(0.5)
    elif kind == "enum":
        options = g.some(words.UNITS, g.int(2, 5)) if g.chance(0.6) else [words.word(g) for _ in range(g.int(2, 4))]
        schema = {"type": "string", "enum": options}
        value = g.pick(options)
    elif kind == "array":
        inner = g.pick(["string", "string", "integer"])
        schema = {"type": "array", "items": {"type": inner}}
        value = [words.word(g) if inner == "string" else g.int(0, 99) for _ in range(g.int(1, 4))]
    elif kind == "object":
        key_a, key_b = words.word(g), g.pick(PARAMETER_NAMES)
        schema = {"type": "object", "properties": {key_a: {"type": "string"}, key_b: {"type": "integer"}}}
        value = {key_a: words.word(g), key_b: g.int(0, 99)}
    else:
        schema = {"type": ["string", "null"]} if g.chance(0.6) else {"anyOf": [{"type": "string"}, {"type": "null"}]}
        value = None if g.chance(0.4) else words.word(g)
    if g.chance(0.6):
        schema["description"] = g.say(["[The|Name of the|Which] {n}[.| to use.| to apply.|]", "{n}", "The {n} of the {m}.", "[Value|Setting] for {n}[.|]"], n=spaced, m=g.pick(words.NOUNS))
    return name, schema, value, spoken(g, value)


def spoken(g, value):
    """How a user says a value."""
    if isinstance(value, bool):
        return g.pick(["true", "on", "yes", "enabled", "true"]) if value else g.pick(["false", "off", "no", "disabled", "false"])
    if value is None:
        return g.pick(["null", "none", "null"])
    if isinstance(value, list):
        if len(value) > 1 and g.chance(0.5):
            return ", ".join(map(str, value[:-1])) + f" and {value[-1]}"
        return json.dumps(value, ensure_ascii=False) if g.chance(0.4) else ", ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if g.chance(0.5) else ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, str) and g.chance(0.25):
        return f'"{value}"'
    return str(value)


def wrap_tool(g, name, description, properties, required):
    """The tool element as clients send it."""
    function = {"name": name}
    if description:
        function["description"] = description
    function["parameters"] = {"type": "object", "properties": properties}
    if required or g.chance(0.5):
        function["parameters"]["required"] = required
    if g.chance(0.1):
        function["parameters"]["additionalProperties"] = False
    if g.chance(0.05):
        function["strict"] = True
    return {"type": "function", "function": function}


def made_up_function(g):
    """Return (tool, verb, noun, [(name, value, spoken, given)])."""
    name, verb, noun = function_name(g)
    properties, required, arguments = {}, [], []
    for _ in range(g.pick([0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5])):
        key, schema, value, said = parameter(g)
        if key in properties:
            continue
        properties[key] = schema
        needed = g.chance(0.65)
        if needed:
            required.append(key)
        arguments.append((key, value, said, needed or g.chance(0.6)))
    description = g.say(["{v} [a|the|one] {n}[.|]", "[Use this to|A tool to|Function to|Lets you] {v} [a|the] {n}[.|]", "{v} {n}", "[Can|Will] {v} the {n} [for the user|in the system|now][.|]"], v=verb, n=noun) if g.chance(0.85) else ""
    return wrap_tool(g, name, description[:1].upper() + description[1:], properties, required), verb, noun, arguments


def text(g, description):
    """A string property."""
    schema = {"type": "string"}
    if g.chance(0.6):
        schema["description"] = description
    return schema


def familiar(g):
    """A familiar function: return (tool, [(user text, arguments)] maker)."""
    if g.chance(0.5):
        return natural(g, wrap_tool)
    return FAMILIAR[g.pick(list(FAMILIAR))](g)


def weather(g):
    """get_weather(city) under several names."""
    name = g.pick(["get_weather", "get_weather", "get_weather", "getWeather", "weather", "get_current_weather", "weather_lookup", "current_weather", "fetch_weather", "mcp__weather__get", "weather.get"])
    key = g.pick(["city", "city", "city", "location", "place", "town", "city_name"])
    properties, required = {key: text(g, g.pick(["City name", "The city", "The city name, e.g. Paris", "Name of the place"]))}, [key]
    if g.chance(0.2):
        properties["unit"] = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    tool = wrap_tool(g, name, g.pick(["Get the current weather", "Get the current weather for a city", "Returns the weather in a city.", "Look up the weather", "Get weather information", ""]), properties, required)

    def ask(many):
        cities = [words.city(g) for _ in range(many)]
        where = cities[0] if many == 1 else ", ".join(cities[:-1]) + g.pick([" and ", " and in ", " & ", ", and also for ", " and also ", " as well as ", " plus "]) + cities[-1]
        user = g.say(["[What is|What's|whats|How is|How's|Tell me] the weather [in|like in|for|today in|now in] {w}[?|]", "[Weather|The weather] in {w}[?|, please.|]", "[Is it|Will it be] [raining|sunny|cold|warm|windy] in {w}[ today|]?", "[Can you|Could you|Please] [check|get|look up|tell me] the weather [in|for] {w}[?|.]", "I am [going|travelling] to {w}[,|.] what's the weather [like |]there?", "[Do I need|Should I take] an umbrella in {w}?",
                      "How [warm|cold|hot] is it in {w}[ right now| today|]?", "[Get|Check|Find|Show] [me |]the [current |]weather for {w}[.|]", "{w} weather", "{w}的天气怎么样？", "What's the temperature in {w}?", "请查询{w}的天气", "[Check|Compare] the weather in {w}.", "{w}の天気を教えて", "[hi|hello], what is the weather in {w}?", "[Use the tool|Use {f}] to get the weather in {w}."], w=where, f=name)
        return user, [(name, {key: one}) for one in cities]
    return tool, ask


def search(g):
    """A web or document search."""
    name = g.pick(["search", "web_search", "google_search", "search_web", "find_documents", "searchDocs"])
    key = g.pick(["query", "query", "q", "search_query", "keywords"])
    tool = wrap_tool(g, name, g.pick(["Search the web", "Search for information", "Find documents"]), {key: text(g, "What to search for")}, [key])

    def ask(many):
        topics = [words.words(g, 1, 4) for _ in range(many)]
        where = topics[0] if many == 1 else ", ".join(topics[:-1]) + " and " + topics[-1]
        quotes = [f'"{topic}"' for topic in topics]
        shown = g.pick([where, quotes[0] if many == 1 else ", ".join(quotes[:-1]) + " and " + quotes[-1]])
        return g.say(["[Search|Search the web|Look|Google|Search online] for {w}[.|]", "[Find|Look up] [information about|something about|documents on] {w}[.|]", "[Can you|Please] search for {w}[?|.]"], w=shown), [(name, {key: topic}) for topic in topics]
    return tool, ask


def calculator(g):
    """A calculator for expressions."""
    name = g.pick(["calculate", "calculator", "evaluate_expression", "math_eval"])
    tool = wrap_tool(g, name, g.pick(["Evaluate a mathematical expression", "Calculate an expression"]), {"expression": text(g, "The expression to evaluate")}, ["expression"])

    def ask(many):
        sums = [f"{g.int(2, 9999)} {g.pick('+-*/')} {g.int(2, 9999)}" for _ in range(many)]
        return g.say(["[Use the calculator to compute|Calculate|Compute with the tool] {w}[.|]", "[What is|Please calculate] {w}[?|, use the tool.|]"], w=" and ".join(sums)), [(name, {"expression": one}) for one in sums]
    return tool, ask


def read_file(g):
    """Reading files or running commands, as coding agents do."""
    name, key = g.pick([("read_file", "path"), ("Read", "file_path"), ("open_file", "filename"), ("fs.read", "path"), ("view", "path")])
    tool = wrap_tool(g, name, g.pick(["Read a file from disk", "Returns the contents of a file"]), {key: text(g, "Path of the file")}, [key])

    def ask(many):
        paths = [f"{g.pick(['', '/', 'src/', './', '/home/'])}{words.word(g)}{g.pick(['/', '_', '-'])}{words.word(g)}.{g.pick(['py', 'txt', 'md', 'json', 'cpp', 'log', 'yaml'])}" for _ in range(many)]
        return g.say(["[Read|Open|Show me|Look at|Print] [the file |]{w}[.|]", "[What is in|What does] {w}[ contain|]?", "[Please|Can you] [read|open] {w}[?|.]"], w=" and ".join(paths)), [(name, {key: one}) for one in paths]
    return tool, ask


def shell(g):
    """Running a command."""
    name, key = g.pick([("bash", "command"), ("run_command", "cmd"), ("execute", "command"), ("shell.exec", "command"), ("terminal", "input")])
    tool = wrap_tool(g, name, g.pick(["Run a shell command", "Execute a command in the terminal"]), {key: text(g, "The command")}, [key])

    def ask(many):
        commands = [g.pick(["ls -la {a}", "cat {a}.txt", "git status", "git log -n {n}", "grep -r {a} {b}", "make {a}", "python {a}.py", "rm {a}.{b}", "cd {a} && ls", "echo {a}", "npm run {a}", "docker ps", "pwd", "find . -name {a}", "head -n {n} {a}.log"]).format(a=words.word(g), b=words.word(g), n=g.int(1, 50)) for _ in range(many)]
        shown = [g.pick(["`{}`", "{}", '"{}"']).format(command) for command in commands]
        return g.say(["[Run|Execute|Please run] {w}[.|]", "[Run|Execute] the command[s|] {w}"], w=" and ".join(shown)), [(name, {key: one}) for one in commands]
    return tool, ask


def email(g):
    """Sending a message."""
    name = g.pick(["send_email", "sendEmail", "send_message", "mail.send"])
    tool = wrap_tool(g, name, "Send a message", {"to": text(g, "Recipient"), "subject": text(g, "Subject line"), "body": text(g, "The text")}, ["to", "body"])

    def ask(many):
        calls, parts = [], []
        for _ in range(many):
            to, body = g.pick([f"{g.pick(words.NAMES).lower()}@{words.made_up(g)}.com", words.name(g)]), words.sentence(g)
            arguments = {"to": to}
            if g.chance(0.4):
                arguments["subject"] = words.words(g, 1, 4)
            arguments["body"] = body
            parts.append(f'{to}' + (f' with the subject "{arguments["subject"]}"' if "subject" in arguments else "") + g.pick([" and the text ", " saying ", ": "]) + f'"{body}"')
            calls.append((name, arguments))
        return g.say("[Send|Please send|Write] [an email|a message|a mail] to {w}", w=" and another to ".join(parts)), calls
    return tool, ask


def currency(g):
    """Converting money."""
    name = g.pick(["convert_currency", "currency_convert", "exchange"])
    source, target = g.pick([("from", "to"), ("from_currency", "to_currency"), ("source", "target")])
    tool = wrap_tool(g, name, "Convert an amount of money", {"amount": {"type": "number"}, source: text(g, "Currency code"), target: text(g, "Currency code")}, ["amount", source, target])

    def ask(many):
        calls, parts = [], []
        for _ in range(many):
            a, b = g.some(["USD", "EUR", "JPY", "GBP", "CNY", "INR", "CHF", "BRL"], 2)
            amount = g.int(1, 5000)
            calls.append((name, {"amount": amount, source: a, target: b}))
            parts.append(g.pick([f"{amount} {a} to {b}", f"{amount} {a} in {b}"]))
        return g.say(["[Convert|Exchange|How much is|What is] {w}[?|.]"], w=" and ".join(parts)), calls
    return tool, ask


def clock(g):
    """The time somewhere."""
    name = g.pick(["get_time", "current_time", "getTime"])
    key = g.pick(["city", "timezone", "location"])
    tool = wrap_tool(g, name, "Get the current time", {key: text(g, "Where")}, [key])

    def ask(many):
        cities = [words.city(g) for _ in range(many)]
        return g.say(["[What time is it|What's the time|Tell me the time] in {w}?", "[Current time|The time] in {w}[, please|]"], w=" and ".join(cities)), [(name, {key: one}) for one in cities]
    return tool, ask


FAMILIAR = {"weather": weather, "weather2": weather, "weather3": weather, "search": search, "calculator": calculator, "file": read_file, "shell": shell, "email": email, "currency": currency, "clock": clock}
