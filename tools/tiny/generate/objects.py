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


def describe(g, chosen):
    """List the fields and their values in one of several manners."""
    style = g.int(0, 10)
    parts = []
    for key, value, _ in chosen:
        shown = spoken(value)
        if isinstance(value, str) and g.chance(0.25):
            shown = f'"{shown}"'
        if isinstance(value, list):
            shown = json.dumps(value, ensure_ascii=False) if g.chance(0.4) else shown
        parts.append((key, shown))
    if style < 3 or (style < 5 and len(parts) > 3):
        texts = [f"{key} {shown}" for key, shown in parts]
        if any(isinstance(value, list) for _, value, _ in chosen):
            return "; ".join(f"{key}: {shown}" for key, shown in parts)
        return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + g.pick([" and ", ", ", ", and "]) + texts[-1]
    if style == 3:
        return "; ".join(f"{key} = {shown}" for key, shown in parts)
    if style == 4:
        return "; ".join(f'"{key}" set to {shown}' for key, shown in parts)
    if style == 5:
        return "\n" + "\n".join(f"- {key}: {shown}" for key, shown in parts)
    if style == 6:
        return "; ".join(f"the {key} is {shown}" for key, shown in parts)
    if style == 8:
        return g.pick(["; ", ", "]).join(f"{key} {g.pick(['should be', 'must be', 'equals', 'is'])} {shown}" for key, shown in parts)
    if style == 9:
        keys = [g.pick([key, f'"{key}"']) for key, _ in parts]
        listed = keys[0] if len(keys) == 1 else ", ".join(keys[:-1]) + " and " + keys[-1]
        return f"{g.pick(['keys', 'the keys', 'fields', 'the fields'])} {listed} where " + g.pick([" and ", "; ", ", "]).join(f"{key} is {shown}" for key, shown in parts)
    if style == 10:
        kinds = [(key, kind) for key, _, kind in chosen]
        return "; ".join(f"{key}: {shown}" for key, shown in parts) + g.pick([", with fields ", " (types: ", "; the types are "]) + ", ".join(f"{key} ({kind})" for key, kind in kinds) + g.pick(["", ")"]).replace(")", "")
    return "; ".join(f"{key}: {shown}" for key, shown in parts)


ASK = [
    "[Return|Give me|Output|Write|Create|Generate|Make|Produce|Print] [a JSON object|a json object|JSON|one JSON object|an object in JSON|a JSON document] with {d}[.|]", "[Return|Output|Reply with|Answer with|Respond with] [only |just |]a JSON object [containing|with|having|that has] {d}[.|]", "JSON [object|] with {d}[.|, please.]", "[Describe|Represent|Encode|Express] [this|the following|these data] as [JSON|a JSON object]: {d}",
    "[Convert|Turn|Put|Transform] [this|the following|these fields] [to|into] JSON: {d}", "[I need|I want|Please give me] [a JSON object|JSON|an object] [with|for|where] {d}[.|]", "[Return|Give|Write] an object with {d}[.|]", "[A person|An item|A record|An entry|A user] with {d}[,| -] as [JSON|a JSON object][.|]",
    "[Extract|Write|Give me] the [data|fields|information] as JSON: {d}", "[Please |][produce|return|generate] valid JSON[: | for | with ]{d}", "json: {d}", "[Build|Construct|Compose] a JSON object[:| with] {d}", "{d}\n[Return|Give me|Answer with|Write] [that|this] as JSON[.| only.]",
    "Generate a JSON object [describing|for] [a person|a user|an item|a record] with {d}[.|]", "[Fill|Create] a JSON [record|object] [such that|where] {d}[.|]", "Respond in JSON with {d}[.|]",
]
EXTRA = ["", "", "", "", "", " No code fence.", " [Only|Just] [the |]JSON[, no explanation|, nothing else|][.|]", " [Do not|Don't] [add|write] [anything else|any other text|markdown].", " [Output|Return] [raw|bare|plain] JSON.", " No explanation."]


def described(g, thinking):
    """A request that names fields and values."""
    roll = g.int(0, 9)
    if roll < 2:
        person, age = words.name(g), g.int(1, 99)
        data = {"name": person, "age": age}
        user = g.say(["[Return|Give me|Generate|Create|Write|Output] [a JSON object|JSON|an object] [for|describing|about|of] [a person|someone|a user] [named|called|with the name] {x}[,| who is| and] [aged|age] {a}[ years old|][.|]", "[Give|Return|Write] [a JSON object|JSON|an object] with [the |]name {x} and [the |]age {a}[.|]", "{x} is {a} years old. [Return|Give me|Write] [this|that|it] as [JSON|a JSON object] with [keys|fields] name and age[.|]",
                      "[Person|User|Name]: {x}, {a} years old. JSON [with name and age|please].", "JSON object: name={x}, age={a}", "[Return|Give me] {x} ({a}) as a JSON object with name and age.", "Return JSON with keys name and age for {x}, who is {a}.", "[Give me|Return|Write] a JSON object [describing|for] {x}, age {a}, with fields name (string) and age (integer).[ Only JSON.|]", "[Output|Return|Generate] a JSON object with [the |]keys \"name\" and \"age\"[ where| such that|:] name is [\"{x}\"|{x}] and age is {a}.", "[Respond|Reply|Answer] with [JSON|a JSON object]: name should be {x}[, | and ]age should be {a}",
                      "[Generate|Create|Return] a JSON object for a person [named|called] {x} who is {a} years old. Use the keys name and age.", "A JSON object with name set to {x} and age set to {a}.", "I need a JSON record of {x} ({a} years old): name and age.", "[Create|Return] a JSON person object: name {x}, age {a}"], x=person, a=age)
    elif roll < 3:
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
        user = g.say(ASK, d=describe(g, chosen)) + g.say(EXTRA)
    answer = json.dumps(data, ensure_ascii=False)
    think = g.pick(["The user wants JSON with the keys " + ", ".join(data) + ".", "I write one JSON object with the keys " + ", ".join(data) + " and no other text."])
    return Turn(user, answer, think, ("json", data))


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
    ask = g.say("[Respond|Answer|Reply] [only |]with [JSON|a JSON object] [matching|that matches|following|valid for] [this|the] [JSON |]schema:\n{s}", s=schema)
    if g.chance(0.4):
        system = g.pick(["", "You are a helpful assistant.\n\n"]) + ask
        messages = [Message("system", system), Message("user", g.say(["[Data|Facts|Input]: {d}", "{d}", "[Fill it with|Use] {d}"], d=facts))]
    else:
        messages = [Message("user", g.pick([f"{ask}\n\n{facts}", f"{facts}\n\n{ask}"]))]
    return Sample("json", messages + [Message("assistant", answer, think=think)], ("json", data), thinking)
