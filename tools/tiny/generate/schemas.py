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
    if roll == 17 and g.chance(0.5):
        return snake(parts) + g.pick(["_v2", "_tool", "_api", str(g.int(1, 9))]), verb, noun
    if g.chance(0.5):
        owner = g.pick([words.made_up(g, 1), g.pick(words.NOUNS)[:g.int(2, 5)], g.pick(words.NOUNS)])
        style = g.pick(["{o}.{v}-{n}", "{o}.{v}-{n}", "{o}-{v}_{n}", "mcp__{o}-{o2}__{v}", "mcp__{o}-{o2}__{v}-{n}", "mcp__{o}_{o2}__{v}{N}", "{o}.{v}.{n}", "{o}__{v}_{n}", "mcp__{a}-{b}__{c}", "{a}.{b}-{c}"])
        letter = lambda: g.pick("abcdefghijklmnopqrstuvwxyz")
        return style.format(o=owner, o2=g.pick([words.made_up(g, 1), g.pick(words.NOUNS), letter()]), v=verb, n=parts[1], N=parts[1].capitalize(), a=letter(), b=letter(), c=letter()), verb, noun
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
        language = g.pick(["en"] * 9 + ["zh", "zh", "ja"])
        if language != "en":
            pool = words.CHINESE_CITIES if language == "zh" else words.JAPANESE_CITIES
            cities = g.some(pool, many) if g.chance(0.7) else list(dict.fromkeys(words.city(g) for _ in range(many)))
            where = cities[0] if len(cities) == 1 else g.pick(["、", "和", "与", "以及"] if language == "zh" else ["と", "、"]).join(cities)
            asked = WEATHER_CHINESE if language == "zh" else WEATHER_JAPANESE
            return g.say(asked, w=where), [(name, {key: one}) for one in cities]
        cities = list(dict.fromkeys(words.city(g) for _ in range(many)))
        where = cities[0] if len(cities) == 1 else ", ".join(cities[:-1]) + g.pick([" and ", " and ", " and in ", " and for ", " & ", ", and also for ", ", and also in ", " and also ", " and also in ", " as well as ", " as well as in ", " plus ", " and then ", ", then ", ", and ", " and after that ", ", also ", ". Also in ", " and additionally ", " together with "]) + cities[-1]
        user = g.say(["[What is|What's|whats|How is|How's|Tell me] the weather [in|like in|for|today in|now in] {w}[?|]", "[Weather|The weather] in {w}[?|, please.|]", "[Is it|Will it be] [raining|sunny|cold|warm|windy] in {w}[ today|]?", "[Can you|Could you|Please] [check|get|look up|tell me] the weather [in|for] {w}[?|.]", "I am [going|travelling] to {w}[,|.] what's the weather [like |]there?", "[Do I need|Should I take] an umbrella in {w}?",
                      "How [warm|cold|hot] is it in {w}[ right now| today|]?", "[Get|Check|Find|Show] [me |]the [current |]weather for {w}[.|]", "{w} weather", "{w}的天气怎么样？", "What's the temperature in {w}?", "请查询{w}的天气", "[Check|Compare] the weather in {w}.", "{w}の天気を教えて", "[hi|hello], what is the weather in {w}?", "[Use the tool|Use {f}] to get the weather in {w}.",
                      "[What|Which] weather [do they have|is there|can I expect|is expected] in {w}[ today| now|]?", "[I want|I need|I'd like] to know the [weather|current weather|temperature] [in|for] {w}[.|]", "[Give|Tell|Show] me the [weather|forecast|temperature|weather report] [in|for|of] {w}[.|, please.|]", "[What is|What's] the [forecast|current weather|weather report|climate right now] [in|for] {w}[?|]", "[Please |]look [up |at ]the [weather|temperature] in {w}[.|, please.|]", "[Does|Will] it [rain|snow|be sunny|be hot] in {w}[ today| tomorrow|]?", "[How's|How is] it in {w}[, weather-wise| with the weather| outside|]?", "[Query|Fetch|Retrieve|Report] the weather [in|for] {w}[.|]", "[Weather|Forecast|Temperature][:| for| please:] {w}", "[Could|Would] you [please |][tell me|check|find out] [how the weather is|what the weather is|what the weather is like] in {w}?", "[I'm|I am] in {w}[,|.] [how is|what is] the weather[?| here?]",
                      "[Let me know|Find out|Tell me] [what the weather is like|how the weather is|the weather] [in|for] {w}[.|]", "[Is|Was] the weather [good|nice|bad|fine] in {w}[?| today?]", "[Call|Run|Invoke] {f} for {w}[.|]", "[Compare the weather|Weather comparison]: {w}", "[What should I wear|Do I need a coat|Will I need a jacket] in {w}[ today|]?", "[Today's|The current|Current|Actual] [weather|temperature] in {w}[?|, please.|]"], w=where, f=name)
        return user, [(name, {key: one}) for one in cities]
    return tool, ask


WEATHER_CHINESE = ["{w}的天气怎么样？", "{w}天气如何？", "请查询{w}的天气", "今天{w}天气怎么样？", "{w}今天天气如何？", "{w}现在多少度？", "帮我查一下{w}的天气", "告诉我{w}的天气", "{w}会下雨吗？", "请问{w}的天气？", "查一下{w}天气", "我想知道{w}的天气", "{w}冷吗？", "{w}的气温是多少？", "{w}天气", "请告诉我{w}今天的天气。", "看看{w}的天气"]
WEATHER_JAPANESE = ["{w}の天気を教えて", "{w}の天気は？", "{w}の天気はどうですか？", "今日の{w}の天気は？", "{w}の天気を調べてください。", "{w}は今何度ですか？", "{w}は雨ですか？", "{w}の気温は？", "{w}の今の天気を教えてください", "{w}の天気予報をお願いします", "{w}は寒いですか？"]


def search(g):
    """A web or document search."""
    name = g.pick(["search", "web_search", "google_search", "search_web", "find_documents", "searchDocs"])
    key = g.pick(["query", "query", "q", "search_query", "keywords"])
    tool = wrap_tool(g, name, g.pick(["Search the web", "Search for information", "Find documents"]), {key: text(g, "What to search for")}, [key])

    def ask(many):
        topics = [words.words(g, 1, 4) for _ in range(many)]
        where = topics[0] if many == 1 else ", ".join(topics[:-1]) + g.pick([" and ", " and for ", ", and also for "]) + topics[-1]
        quotes = [f'"{topic}"' for topic in topics]
        shown = g.pick([where, quotes[0] if many == 1 else ", ".join(quotes[:-1]) + " and " + quotes[-1]])
        return g.say(["[Search|Search the web|Look|Google|Search online] for {w}[.|]", "[Find|Look up] [information about|something about|documents on] {w}[.|]", "[Can you|Please|Could you] search for {w}[?|.]", "[I need|I want|Get me] [information|documents|pages|results] [about|on|for] {w}[.|]", "[Do|Run|Start|Make] a search [for|on|about] {w}[.|]", "[What can you find|What do you find|What is known|What does the web say] about {w}[?|]", "[Look|Search] [it up|the internet]: {w}", "[Search|Query][:|] {w}", "[Use the search|Use the search tool] [for|with] {w}[.|]", "[Find|Show] me [results|articles|pages] [about|on] {w}[.|]"], w=shown), [(name, {key: topic}) for topic in topics]
    return tool, ask


def calculator(g):
    """A calculator for expressions."""
    name = g.pick(["calculate", "calculator", "evaluate_expression", "math_eval"])
    tool = wrap_tool(g, name, g.pick(["Evaluate a mathematical expression", "Calculate an expression"]), {"expression": text(g, "The expression to evaluate")}, ["expression"])

    def ask(many):
        sums = [f"{g.int(2, 9999)} {g.pick('+-*/')} {g.int(2, 9999)}" for _ in range(many)]
        return g.say(["[Use the calculator to compute|Calculate|Compute with the tool] {w}[.|]", "[What is|Please calculate] {w}[?|, use the tool.|]", "[Use|Call] the [calculator|tool|function] [for|on|with][:|] {w}[.|]", "[Evaluate|Work out|Solve|Compute] {w} [with the tool|with the calculator|for me|exactly][.|]", "[I need|I want] the [result|value] of {w}[.|]", "[How much is|Please compute|Please evaluate] {w}[?|]", "{w} = ?", "[Can|Could] you [calculate|compute|evaluate] {w}?", "[Calculator|Calc|Compute]: {w}"], w=g.pick([" and ", " and also ", " and then "]).join(sums)), [(name, {"expression": one}) for one in sums]
    return tool, ask


def read_file(g):
    """Reading files or running commands, as coding agents do."""
    name, key = g.pick([("read_file", "path"), ("Read", "file_path"), ("open_file", "filename"), ("fs.read", "path"), ("view", "path")])
    tool = wrap_tool(g, name, g.pick(["Read a file from disk", "Returns the contents of a file"]), {key: text(g, "Path of the file")}, [key])

    def ask(many):
        paths = [f"{g.pick(['', '/', 'src/', './', '/home/'])}{words.word(g)}{g.pick(['/', '_', '-'])}{words.word(g)}.{g.pick(['py', 'txt', 'md', 'json', 'cpp', 'log', 'yaml'])}" for _ in range(many)]
        return g.say(["[Read|Open|Show me|Look at|Print] [the file |]{w}[.|]", "[What is in|What does] {w}[ contain|]?", "[Please|Can you|Could you] [read|open|view|check] {w}[?|.]", "[Give|Show|Print] me the [contents|content|text|source] of {w}[.|]", "[I need|I want|Let me see] [to see |to read |]{w}[.|]", "[Check|Inspect|View|Load|Display] [the file |]{w}[.|, please.|]", "[What's|What is] [inside|written in|the content of] {w}?", "cat {w}", "[Now|Next|Then] [read|open|look at] {w}[.|]", "[Take a look|Have a look] at {w}[.|]", "[Fetch|Get] [the contents of |]{w}[.|]"], w=g.pick([" and ", ", ", " and then "]).join(paths)), [(name, {key: one}) for one in paths]
    return tool, ask


def shell(g):
    """Running a command."""
    name, key = g.pick([("bash", "command"), ("run_command", "cmd"), ("execute", "command"), ("shell.exec", "command"), ("terminal", "input")])
    tool = wrap_tool(g, name, g.pick(["Run a shell command", "Execute a command in the terminal"]), {key: text(g, "The command")}, [key])

    def ask(many):
        commands = [g.pick(["ls -la {a}", "cat {a}.txt", "git status", "git log -n {n}", "grep -r {a} {b}", "make {a}", "python {a}.py", "rm {a}.{b}", "cd {a} && ls", "echo {a}", "npm run {a}", "docker ps", "pwd", "find . -name {a}", "head -n {n} {a}.log"]).format(a=words.word(g), b=words.word(g), n=g.int(1, 50)) for _ in range(many)]
        shown = [g.pick(["`{}`", "{}", '"{}"']).format(command) for command in commands]
        return g.say(["[Run|Execute|Please run] {w}[.|]", "[Run|Execute] the command[s|] {w}", "[Can you|Could you|Please] [run|execute] {w}[?|.]", "[Now|Next|Then] [run|execute|do] {w}[.|]", "[I want you to|You should|Let's] [run|execute] {w}[.|]", "[Use the shell|In the terminal|In the shell|On the command line][:| run| execute] {w}[.|]", "[Try|Start|Launch|Call] {w}[.|]", "[What does|What is the output of] {w}[ print| say|]?", "[Type|Enter] {w} [in the terminal|in the shell][.|]", "$ {w}"], w=g.pick([" and ", " and then ", ", then "]).join(shown)), [(name, {key: one}) for one in commands]
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
        return g.say(["[What time is it|What's the time|Tell me the time] in {w}?", "[Current time|The time] in {w}[, please|]", "[How late|What hour] is it in {w}[ now| right now|]?", "[Give|Show|Get] me the [time|current time|local time] in {w}[.|]", "[Can|Could] you tell me the time in {w}?", "[Time|Clock] in {w}[?|]", "[I need|I want] the [time|local time] in {w}[.|]", "[Check|Look up|Find] the [time|local time] [in|for] {w}[.|]", "[What's|What is] the [local|current] time in {w}?"], w=g.pick([" and ", " and in ", ", and also in ", " and also "]).join(cities)), [(name, {key: one}) for one in cities]
    return tool, ask


FAMILIAR = {"weather": weather, "weather2": weather, "weather3": weather, "search": search, "calculator": calculator, "file": read_file, "shell": shell, "email": email, "currency": currency, "clock": clock}
