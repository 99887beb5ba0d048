"""JSON objects to a described shape."""

import json

from . import words
from .core import Message, Sample, Turn

STRING_KEYS = "name city country title color animal language status category brand model email job hobby food author genre street team sport currency department role username nickname material season month day flavor label type kind code description".split()
INT_KEYS = "age count year quantity score level height weight rank size stock rating floor room pages seats points id width length duration distance number speed limit total".split()
BOOL_KEYS = "active admin enabled verified available married student public archived open paid premium online valid done ready visible locked hidden urgent".split()
LIST_KEYS = "tags colors items hobbies skills numbers scores languages friends cities ingredients members keywords values ids".split()


def made_key(g, base):
    """A key from the list, or a made-up or compound one."""
    roll = g.int(0, 9)
    if roll < 7:
        return base
    if roll < 8:
        return f"{base}_{g.pick(words.NOUNS)}"
    if roll < 9:
        return g.pick(words.NOUNS) + base.capitalize()
    return words.made_up(g)


def string_value(g, key):
    """A string that suits the key loosely."""
    if key in ("name", "author", "nickname", "username"):
        return words.name(g)
    if key == "city":
        return words.city(g)
    if key == "color":
        return g.pick(words.COLOURS)
    if key == "animal":
        return g.pick(words.ANIMALS)
    if key == "email":
        return f"{g.pick(words.NAMES).lower()}@{words.made_up(g)}.com"
    return g.pick([words.word(g), words.word(g), words.words(g, 1, 3), words.name(g), words.code(g), words.chinese(g) if g.chance(0.3) else words.made_up(g)])


def one_field(g):
    """Return (key, value, type name)."""
    kind = g.pick(["string"] * 4 + ["integer"] * 3 + ["boolean", "list", "number", "null"])
    if kind == "string":
        base = g.pick(STRING_KEYS)
        return made_key(g, base), string_value(g, base), kind
    if kind == "integer":
        return made_key(g, g.pick(INT_KEYS)), g.int(0, g.pick([10, 100, 100, 3000])), kind
    if kind == "number":
        return made_key(g, g.pick(["price", "height", "weight", "temperature", "ratio", "score", "amount", "latitude"])), g.int(0, 999) + g.int(1, 9) / 10, kind
    if kind == "boolean":
        return made_key(g, g.pick(BOOL_KEYS)), g.chance(0.5), kind
    if kind == "null":
        return made_key(g, g.pick(STRING_KEYS)), None, kind
    values = [g.int(0, 99) for _ in range(g.int(1, 4))] if g.chance(0.4) else [words.word(g) for _ in range(g.int(1, 4))]
    return made_key(g, g.pick(LIST_KEYS)), values, "array"


def fields(g, low=1, high=5):
    """Several fields with different keys."""
    chosen, seen = [], set()
    for _ in range(g.int(low, high)):
        field = one_field(g)
        if field[0] not in seen:
            seen.add(field[0])
            chosen.append(field)
    return chosen


def spoken(value):
    """How a value is written in a request."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return ", ".join(map(str, value)) if len(value) != 2 else f"{value[0]} and {value[1]}"
    return str(value)


TYPE_NAMES = {"string": ["string", "string", "str", "text", "a string"], "integer": ["integer", "integer", "int", "number", "an integer", "whole number"], "number": ["number", "float", "decimal", "a number"], "boolean": ["boolean", "bool", "true/false"], "array": ["array", "list", "array"], "null": ["null", "nullable"]}
CONNECT = [" should be ", " must be ", " = ", "=", ": ", ": ", " is ", " is ", " of ", " equal to ", " set to ", " being ", " -> ", " as ", " ", " has the value ", " with the value ", " equals ", " shall be ", " has to be ", ":", " => ", " to be ", ", which is ", " with value ", " (value: "]
PAIR = [
    "{k}{c}{v}", "{k}{c}{v}", "{k}{c}{v}", "the {k}{c}{v}", "the {w} {k}{c}{v}", "{w} {k}{c}{v}", "a {w} {k}{c}{v}", "{k} ({t}){c}{v}", "{k} ({t}){c}{v}", "{k} [{t}]{c}{v}", "{t} {k}{c}{v}", "whose {k} is {v}", "{v} as the {k}", "{v} as {k}", "{v} for {k}", "{v} [under|in] the {w} {k}", "{k}: {v} ({t})", "the value {v} for [the |]{w} {k}",
]


def joined(g, parts, last=(" and ", ", ", ", and ", "; ", " & ")):
    """A list in words."""
    if len(parts) == 1:
        return parts[0]
    middle = g.pick([", ", ", ", "; "])
    return middle.join(parts[:-1]) + g.pick(last) + parts[-1]


def shown_values(g, chosen):
    """(key, spoken value, type) with some values in quotes or brackets."""
    parts = []
    for key, value, kind in chosen:
        shown = spoken(value)
        if isinstance(value, str) and (value.isdigit() or g.chance(0.3)):
            shown = g.pick(['"{}"', '"{}"', "'{}'", "`{}`", "“{}”"]).format(shown)
        if isinstance(value, list):
            shown = json.dumps(value, ensure_ascii=False) if g.chance(0.5) else shown
        parts.append((key, shown, kind))
    return parts


def pair(g, key, shown, kind, style, connect):
    """One field with its value in some wording."""
    text = g.say(PAIR, k=style.format(key), v=shown, c=connect, t=g.pick(TYPE_NAMES[kind]), w=g.pick(["key", "field", "property", "attribute", "member", "entry"]))
    return text + ")" if "(value: " in text and connect == " (value: " else text


def keys_then_values(g, parts, style):
    """First the names of the fields, perhaps with types, then their values."""
    kinds = g.pick([None, None, "{k} ({t})", "{k} ({t})", "{k}: {t}", "{k} [{t}]", "{t} {k}", "{k} as {t}", "{k} of type {t}", "{k} - {t}"])
    names = joined(g, [style.format(key) if kinds is None else kinds.format(k=style.format(key), t=g.pick(TYPE_NAMES[kind])) for key, _, kind in parts])
    connect = g.pick(CONNECT[:12])
    plain = g.pick([style, "{}", "{}"])
    the = g.pick(["", "the ", "The ", "its "])
    values = joined(g, [f"{the}{plain.format(key)}{connect}{shown}" for key, shown, _ in parts])
    alone = joined(g, [shown for _, shown, _ in parts])
    head = g.say(["[the |]{w} {n}", "{w}: {n}", "[the following |]{w} {n}", "exactly the {w} {n}", "two or more {w}: {n}", "only the {w} {n}"], w=g.pick(["keys", "fields", "properties", "attributes", "keys", "fields", "members"]), n=names)
    return head + g.say([". {v}", ". [Use|Set|Put|Fill in|Take|Choose] {v}", ", where {v}", " where {v}", ". [Values|The values|The data|Data|Here]: {v}", " [so|such] that {v}", " with [the |]values {a}", " and [the |]values {a}", ", [namely|that is|in this order]: {a}", "; {v}", ": {v}", ". [The values are|They are|Their values are] {a}[ respectively|]", ". [In it|There|Here], {v}", " using {v}", ", values: {a}", " ({v})"], v=values, a=alone)


def describe(g, chosen):
    """List the fields and their values in one of many manners."""
    style, parts = g.pick(["{}", "{}", "{}", '"{}"', '"{}"', "'{}'", "`{}`"]), shown_values(g, chosen)
    manner = g.int(0, 15)
    if manner < 3:
        if any(isinstance(value, list) for _, value, _ in chosen):
            return "; ".join(f"{key}: {shown}" for key, shown, _ in parts)
        return joined(g, [f"{style.format(key)} {shown}" for key, shown, _ in parts])
    if manner < 4:
        return "; ".join(f"{key}: {shown}" for key, shown, _ in parts)
    if manner < 6:
        return "\n" + "\n".join(g.pick(["- {}: {}", "* {} = {}", "{}: {}", "{} - {}"]).format(style.format(key), shown) for key, shown, _ in parts)
    if manner < 9:
        return keys_then_values(g, parts, style)
    if manner < 12:
        connect = g.pick(CONNECT)
        the = g.pick(["", "", "the ", "a "])
        return joined(g, [f"{the}{style.format(key)}{connect}{shown}" + (")" if connect == " (value: " else "") for key, shown, _ in parts])
    if manner < 14:
        return joined(g, [pair(g, key, shown, kind, style, g.pick(CONNECT)) for key, shown, kind in parts], (" and ", ", ", "; "))
    if manner < 15:
        return "; ".join(f"{key}: {shown}" for key, shown, _ in parts) + g.pick([", with fields ", " (types: ", "; the types are "]) + ", ".join(f"{key} ({kind})" for key, _, kind in parts)
    return "[" + ", ".join(f"{style.format(key)}: {shown}" for key, shown, _ in parts) + "]"


ASK = [
    "[Return|Give me|Output|Write|Create|Generate|Make|Produce|Print] [a JSON object|a json object|JSON|one JSON object|an object in JSON|a JSON document] with {d}[.|]", "[Return|Output|Reply with|Answer with|Respond with] [only |just |]a JSON object [containing|with|having|that has] {d}[.|]", "JSON [object|] with {d}[.|, please.]", "[Describe|Represent|Encode|Express] [this|the following|these data] as [JSON|a JSON object]: {d}",
    "[Convert|Turn|Put|Transform] [this|the following|these fields] [to|into] JSON: {d}", "[I need|I want|Please give me] [a JSON object|JSON|an object] [with|for|where] {d}[.|]", "[Return|Give|Write] an object with {d}[.|]", "[A person|An item|A record|An entry|A user] with {d}[,| -] as [JSON|a JSON object][.|]",
    "[Extract|Write|Give me] the [data|fields|information] as JSON: {d}", "[Please |][produce|return|generate] valid JSON[: | for | with ]{d}", "json: {d}", "[Build|Construct|Compose] a JSON object[:| with] {d}", "{d}\n[Return|Give me|Answer with|Write] [that|this] as JSON[.| only.]",
    "Generate a JSON object [describing|for] [a person|a user|an item|a record] with {d}[.|]", "[Fill|Create] a JSON [record|object] [such that|where] {d}[.|]", "Respond in JSON with {d}[.|]",
    "[Please |][return|give me|write|output|create|generate] [a|one|a single|exactly one] [valid |]JSON [object|document|record] [with|containing|that contains|holding|having|which has|including] {d}[.|]", "[Produce|Make|Build|Return|Emit] [a |]JSON[ object|]: {d}", "[Create|Generate|Write|Return|Give me] an object[ in JSON|, as JSON,|] [with|whose fields are|that has] {d}[.|]", "[Your|The] [answer|reply|response|output] [must|should|has to] be [a|one] JSON object with {d}[.|]", "[Only|Just] [JSON|a JSON object], [please|nothing else], with {d}[.|]", "[Can|Could] you [return|give me|write|make] [a |]JSON [object |]with {d}[?|]",
    "[Use|In] JSON [format|]: {d}", "[JSON|json|A JSON object|The JSON object|JSON please|JSON output|As JSON][:| -|,] {d}", "[Format|Write|Output|Give|Return] [this|the following|these values|the data|it] [as|in] [JSON|a JSON object|JSON format][:|.] {d}", "[Here are|These are] [the data|some values|the values|fields]: {d}\n[Return|Give me|Write|Output] [a JSON object|JSON|them as JSON|one JSON object][.|]", "{d}[ ->| =>|.|,] [as JSON|as a JSON object|in JSON|to JSON][, please|][.|]", "[I'd like|I would like|I want|We need] [a |]JSON [object |][with|that has|containing] {d}[.|]", "[Define|Declare|State|Provide|Supply|Deliver] a JSON object [with|of|having|including] {d}[.|]", "[Answer|Reply|Respond] [only |]in JSON[.|,|:] [The object has|Object with|With|Include] {d}[.|]", "[An|One] object [with|having] {d}[,| -|;] [JSON only|JSON|in JSON][.|]", "[Write|Return] the JSON [object |]for[:| this:|] {d}",
]
EXTRA = ["", "", "", "", "", " No code fence.", " [Only|Just] [the |]JSON[, no explanation|, nothing else|][.|]", " [Do not|Don't] [add|write] [anything else|any other text|markdown].", " [Output|Return] [raw|bare|plain] JSON.", " No explanation.", " [Return|Reply with|Answer with|Output] [only|just] [the |]JSON[ object|][.|, no markdown.|]", " [Without|No] [code fences|markdown|backticks|comments][.|, please.]", " [Nothing else|No other text|No extra text|No prose][.|]", "\n[JSON only.|Only JSON.|Valid JSON only.]"]


PERSON = [
    "[Return|Give me|Generate|Create|Write|Output] [a JSON object|JSON|an object] [for|describing|about|of] [a person|someone|a user] [named|called|with the name] {x}[,| who is| and] [aged|age] {a}[ years old|][.|]", "[Give|Return|Write] [a JSON object|JSON|an object] with [the |]{k} {x} and [the |]{l} {a}[.|]", "{x} is {a} years old. [Return|Give me|Write] [this|that|it] as [JSON|a JSON object] with [keys|fields] {k} and {l}[.|]", "[Person|User|Name]: {x}, {a} years old. JSON [with {k} and {l}|please].", "JSON object: {k}={x}, {l}={a}", "[Return|Give me] {x} ({a}) as a JSON object with {k} and {l}.",
    "Return JSON with keys {k} and {l} for {x}, who is {a}.", "[Give me|Return|Write] a JSON object [describing|for] {x}, age {a}, with fields {k} (string) and {l} (integer).[ Only JSON.|]", "[Output|Return|Generate] a JSON object with [the |]keys \"{k}\" and \"{l}\"[ where| such that|:] {k} is [\"{x}\"|{x}] and {l} is {a}.", "[Respond|Reply|Answer] with [JSON|a JSON object]: {k} should be {x}[, | and ]{l} should be {a}", "[Generate|Create|Return] a JSON object for a person [named|called] {x} who is {a} years old. Use the keys {k} and {l}.", "A JSON object with {k} set to {x} and {l} set to {a}.", "I need a JSON record of {x} ({a} years old): {k} and {l}.", "[Create|Return] a JSON person object: {k} {x}, {l} {a}",
    "[Return|Output|Give me|Produce] [a|one] JSON object [for|about] {x}, {a} years [old|of age][.|, with {k} and {l}.]", "[Return|Write|Create] a JSON object with [string|text] {k} [\"{x}\"|{x}] and [integer|number|numeric] {l} {a}[.|]", "[Return|Write|Give me] a JSON object with the [properties|fields|keys] {k} [(string)|(text)|(str)|] and {l} [(integer)|(int)|(number)|]. [The |]{k} is {x}[,| and] [the |]{l} is {a}[.|]", "[Make|Create|Build] a JSON [object|profile|record|entry] [of|for] {x} [aged|of age|at age] {a}[.|]", "[A|The] {p} [named|called] {x} is {a} [years old|]. [Describe|Represent|Encode] [him|her|them|it|this] [as|in] JSON[ with {k} and {l}|][.|]",
    "[My|The] {k} is {x} and [my|the] {l} is {a}. [Return|Give me|Write] [this|that|it|me] as JSON[.|]", "[Extract|Get|Read] the {k} and [the |]{l} as JSON: [\"{x} is {a} years old.\"|{x} is {a} years old.|{x}, {a}]", "[Convert|Turn] \"{x}, {a} years old\" [to|into] [JSON|a JSON object][ with {k} and {l}|][.|]", "{x} [is {a}|has the age {a}|turned {a}|is aged {a}|({a})]. JSON[ object|][, please| with {k} and {l}|][.|]", "[JSON|json]: [person|user] {x}, {l} {a}", "[Return|Give me|Output] JSON only: [an object with |]{k} {x}, {l} {a}[.|]", "[Generate|Produce|Return|Write] JSON [for|describing] [a|the|one] {p} with {k} {x} and {l} {a}[.|]", "[Return|Give me] exactly this [data|information] as a JSON object: {k} {x}, {l} {a}[.|]",
    "[Return|Write|Output] [an|a JSON] object [like|of the form|in the form|in the shape] \\{\"{k}\": string, \"{l}\": integer\\} [for|with] {x}[ and|,] {a}[.|]", "[Return|Give] a JSON object [with|having] two [keys|fields]: {k} [=|equal to|being] [\"{x}\"|{x}][,| and] {l} [=|equal to|being] {a}[.|]", "[Fill|Use] {x} [for|as] {k} and {a} [for|as] {l} in a JSON object[.|]", "[Output|Return] a JSON object whose {k} is {x} and whose {l} is {a}[.|]", "[Tell me|Say] [in|as] JSON that {x} is {a} [years old|][.|]", "[Return|Create] [a|the] {p} [object|record] [in|as] JSON: {x}, {l} {a}[.|]",
    "[Write|Return|Give me] {k} [\"{x}\"|{x}|'{x}'] and {l} {a} [as|in] [JSON|a JSON object][.|]", "[Please |][give|return|provide] [the |][information|details|data] of {x} (age: {a}) [as|in] JSON[ format|][.|]", "[Object|JSON object|Return an object] with {k} \"{x}\" [and|,] {l} {a}[.| as JSON.| - JSON only.]", "[Create|Generate|Give me] JSON [where|in which] [the |]{k} is {x} and [the |]{l} is {a}[.|]", "[Assume|Suppose|Say] a {p} {x} is {a} [years old|]. [What is|Write|Return|Show] the JSON object[ with {k} and {l}|][?|.]", "{k}: {x}\n{l}: {a}\n\n[Return|Give me|Write] [this|it] as [JSON|a JSON object][.|]", "[Return|Give|Output|Produce] a JSON object [that describes|describing|representing] [a {p} called |]{x}, {a} [years|years old]. [The keys are|Keys:|Use keys] {k}, {l}[.|]",
]
PERSON_CHINESE = ["生成一个JSON对象，{k}为{x}，{l}为{a}", "请返回一个JSON对象，包含{k}（{x}）和{l}（{a}）", "返回JSON：{k}是{x}，{l}是{a}", "用JSON表示：{x}，{a}岁", "请输出一个JSON，字段{k}等于{x}，字段{l}等于{a}。", "{x}今年{a}岁，请用JSON格式返回{k}和{l}", "给我一个JSON对象，{k}: {x}, {l}: {a}", "写一个JSON对象，{k}={x}，{l}={a}", "请以JSON格式输出一个人，名字{x}，年龄{a}", "名为{x}、年龄为{a}的JSON对象", "{k}が{x}、{l}が{a}のJSONオブジェクトを返してください。", "JSONで答えてください：{k}は{x}、{l}は{a}", "{x}さん、{a}歳をJSONにしてください。", "{k}: {x}、{l}: {a} のJSONを作って"]
PEOPLE = [("name", "age")] * 6 + [("first_name", "age"), ("username", "score"), ("name", "height"), ("player", "points"), ("title", "year"), ("author", "year"), ("id", "count"), ("city", "population")]


def person(g):
    """Two fields of somebody or something, told in a sentence; name and age most of the time."""
    key, other = g.pick(PEOPLE)
    who, age = words.name(g), g.int(1, 99)
    if g.chance(0.12):
        user = g.say(PERSON_CHINESE, k=key, l=other, x=who, a=age)
        if key not in user:
            key, other = "name", "age"
    else:
        user = g.say(PERSON, k=key, l=other, x=who, a=age, p=g.pick(["person", "user", "customer", "student", "man", "woman", "friend", "human", "character", "employee"])).replace("\\{", "{").replace("\\}", "}")
        if f"{other}" not in user or key not in user:
            key, other = "name", "age"
        user = g.dress(user + g.say(EXTRA), 0.1)
    data = {key: who, other: age}
    return Turn(user, json.dumps(data, ensure_ascii=False), f"The user wants JSON with the keys {key}, {other}.", ("json", data))


def described(g, thinking):
    """A request that names fields and values."""
    roll = g.int(0, 11)
    if roll < 4:
        return person(g)
    if roll < 5:
        chosen = fields(g, 1, 3)
        outer = made_key(g, g.pick(["user", "item", "person", "config", "address", "data", "result", "order"]))
        data = {outer: {key: value for key, value, _ in chosen}}
        head = fields(g, 0, 2)
        data = {key: value for key, value, _ in head if key != outer} | data
        shown = "; ".join(f"{key}: {spoken(value)}" for key, value, _ in head if key != outer)
        user = g.say(["[Return|Give me|Write|Create|Generate] a JSON object with {h}an object {o} [containing|with|that has] {d}[.|]", "[JSON|A JSON object] with {h}a nested [object|field] {o} [with|holding] {d}[.|]"], o=outer, d="; ".join(f"{key}: {spoken(value)}" for key, value, _ in chosen), h=shown + "; and " if shown else "")
    else:
        chosen = fields(g)
        data = {key: value for key, value, _ in chosen}
        user = g.dress(g.say(ASK, d=describe(g, chosen)) + g.say(EXTRA), 0.06)
    answer = json.dumps(data, ensure_ascii=False)
    think = g.pick(["The user wants JSON with the keys " + ", ".join(data) + ".", "I write one JSON object with the keys " + ", ".join(data) + " and no other text."])
    return Turn(user, answer, think, ("json", data))


SCHEMA_ASK = [
    "[Respond|Answer|Reply] [only |]with [JSON|a JSON object] [matching|that matches|following|valid for] [this|the] [JSON |]schema:\n{s}", "[Your answer|Your output|The answer] must [match|follow|be valid for|conform to] [this|the following] [JSON |]schema: {s}", "[JSON schema|Schema]:\n{s}\n[Return|Answer with|Output] [a matching JSON object|JSON that fits it|an object that matches it][.|]", "[Use|Follow] [this|the] [JSON |]schema [for the answer|for your output|]: {s}", "[Output|Return|Generate|Produce] JSON [that conforms to|according to|by|in the form of] [this|the] schema: {s}", "[Fill|Complete] [this|the] schema [as JSON|with the data][:|.] {s}",
    "[Format your answer|Structure the output|Write the answer] [as JSON |]according to [this|the] schema:\n```json\n{s}\n```", "[Only|Just] JSON for [this|the] schema: {s}", "[The output schema is|Output schema:|Response schema:] {s}[.|\nJSON only.|]", "[Give|Make|Create] [me |]an object [that fits|for|matching] the schema {s}[.|]",
]


def with_schema(g, thinking):
    """A JSON schema in the prompt, values in a sentence."""
    chosen = fields(g, 1, 4)
    properties = {key: {"type": kind} for key, _, kind in chosen}
    for key, value, kind in chosen:
        if kind == "array":
            properties[key]["items"] = {"type": "integer" if isinstance(value[0], int) else "string"}
    schema = json.dumps({"type": "object", "properties": properties, "required": list(properties)}, ensure_ascii=False)
    facts = "; ".join(f"{key}: {spoken(value)}" for key, value, _ in chosen) if g.chance(0.5) else describe(g, chosen)
    data = {key: value for key, value, _ in chosen}
    answer = json.dumps(data, ensure_ascii=False)
    think = "I fill the schema: " + ", ".join(data) + "."
    ask = g.say(SCHEMA_ASK, s=schema)
    if g.chance(0.4):
        system = g.pick(["", "You are a helpful assistant.\n\n"]) + ask
        messages = [Message("system", system), Message("user", g.say(["[Data|Facts|Input]: {d}", "{d}", "[Fill it with|Use] {d}"], d=facts))]
    else:
        messages = [Message("user", g.pick([f"{ask}\n\n{facts}", f"{facts}\n\n{ask}"]))]
    return Sample("json", messages + [Message("assistant", answer, think=think)], ("json", data), thinking)
