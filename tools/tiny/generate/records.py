"""JSON from sentences: a person, a book, an article, a trip or an event told in words, the keys named or left to the model.

The instruction stands before the text, after it, or alone in the system prompt, with keys, keys and types, or a schema.
"""

import json

from . import words
from .core import Message, Sample, alternatives
from .personal import FOODS, HOBBIES, JOBS

MONTHS = "January February March April May June July August September October November December".split()
TYPES = {str: "string", int: "integer", bool: "boolean", float: "number", list: "array"}
KINDS = {
    "person": [
        ("name", words.name, "[named|called] {v}|[her|his|the] name is {v}|this is {v}|[meet|here is] {v}|{v} is a [person|user|customer|friend]"), ("age", lambda g: g.int(1, 99), "[is|aged|who is|she is|he is|now] {v}[ years old| years of age|]|[her|his|the] age is {v}|{v} years old|age {v}"),
        ("city", words.city, "[lives|living|at home|resides|who lives] in {v}|from {v}|[her|his|the] [city|home town|town] is {v}"), ("job", lambda g: g.pick(JOBS), "[works|working|employed] as a {v}|[is a|a] {v}|[her|his|the] job is {v}|a {v} by profession"),
        ("hobby", lambda g: g.pick(HOBBIES), "[likes|loves|enjoys|is fond of] {v}|[her|his|the] hobby is {v}"), ("email", lambda g: f"{g.pick(words.NAMES).lower()}@{words.made_up(g)}.com", "[reachable at|email|mail address|with the email] {v}|[her|his|the] email is {v}"),
        ("food", lambda g: g.pick(FOODS), "[likes to eat|eats|loves] {v}|[her|his] favourite food is {v}"), ("height", lambda g: g.int(100, 210), "[is|she is|he is] {v} [cm|centimeters] tall|[her|his|the] height is {v}[ cm|]"), ("married", lambda g: g.chance(0.5), "[married|is married|she is married|he is married]:: [single|is not married|unmarried]"),
    ],
    "book": [
        ("title", lambda g: words.words(g, 1, 3).title(), "[the book|a book|the novel] [is |]called {v}|titled {v}|[the|its] title is {v}"), ("author", words.name, "[written|] by {v}|[the|its] author is {v}|{v} wrote it"), ("year", lambda g: g.int(1800, 2026), "[published|printed|it appeared] in {v}|[the|its] year is {v}|year {v}"),
        ("pages", lambda g: g.int(20, 900), "[it has|has|with] {v} pages|{v} pages long|pages: {v}"), ("language", lambda g: g.pick("English French German Spanish Italian Japanese Chinese".split()), "[written|] in {v}|[the|its] language is {v}"), ("read", lambda g: g.chance(0.5), "[already read|I have read it|it was read]:: [not read yet|unread|I have not read it]"),
    ],
    "article": [
        ("item", lambda g: g.pick(words.THINGS), "[a|one|the] {v}|[the|its] item is a {v}|the product is a {v}"), ("price", lambda g: g.int(1, 500), "[costs|at|for|priced at] {v} [dollars|euros|]|[the|its] price is {v}|price {v}"), ("color", lambda g: g.pick(words.COLOURS), "[in|coloured] {v}|[the|its] colo[u|]r is {v}|it is {v}"), ("quantity", lambda g: g.int(1, 99), "[there are|we have|] {v} [of them|pieces|in stock]|[the|its] quantity is {v}|quantity {v}"),
        ("size", lambda g: g.pick([g.int(1, 60), g.pick(["small", "medium", "large"])]), "[of |in |]size {v}|[the|its] size is {v}"), ("tags", lambda g: [words.word(g) for _ in range(g.int(1, 3))], "[the|its] tags are {v}|tagged {v}|tags: {v}"), ("available", lambda g: g.chance(0.5), "[available|it is in stock|can be delivered]:: [not available|sold out|out of stock]"),
    ],
    "place": [
        ("city", words.city, "[the city is|the place is|we talk about|] {v}|city {v}"), ("country", lambda g: g.pick(words.COUNTRIES), "[in|located in|it lies in] {v}|[the|its] country is {v}"), ("population", lambda g: g.int(1, 9000) * 1000, "[with|has] {v} [people|inhabitants]|[the|its] population is {v}"), ("river", lambda g: words.made_up(g).capitalize(), "[on|at] the river {v}|[the|its] river is the {v}"), ("capital", lambda g: g.chance(0.5), "[it is the capital|a capital city]:: [not the capital|it is not a capital]"),
    ],
    "event": [
        ("title", lambda g: words.words(g, 1, 3).capitalize(), "[the event is|an event|the meeting is] called {v}|titled {v}|[the|its] title is {v}"), ("date", lambda g: f"{g.pick(MONTHS)} {g.int(1, 28)}", "[on|takes place on|it is on] {v}|[the|its] date is {v}"), ("time", lambda g: f"{g.int(8, 22):02d}:{g.int(0, 5)}0", "[at|starts at|begins at] {v}|[the|its] time is {v}"), ("place", words.city, "[in|held in|located in] {v}|[the|its] place is {v}"), ("guests", lambda g: g.int(2, 400), "[with|for] {v} [guests|people]|{v} guests [come|are expected]"),
    ],
}
WITH_KEYS = [
    "[Extract|Return|Get|Give me|Read|Write|Find] {k} [as JSON|in JSON|as a JSON object] [from this text|from this|][:|.]", "[Return|Answer with|Reply with|Output|Write] [a|one|only a] JSON object with [the keys|the fields|keys|fields|the properties] {k}[.|:]", "[Turn|Convert|Put|Transform] [this|the text|the sentence|it] [into|to] JSON with [the keys|keys|the fields|fields] {k}[.|:]", "[JSON|JSON only|Only JSON][,|:|.] [Keys|Fields|The keys are|Use the keys][:|] {k}[.|]", "[Use|With] [the keys|the fields] {k}[,| and] [write|return|give me] [JSON|a JSON object|it as JSON][.|:]", "[Answer|Reply|Respond] [only |]in JSON[ format|]. [Keys|Fields|Include]: {k}[.|]", "[I need|I want] {k} as JSON[.|:]", "[Fill|Make|Create|Build] a JSON object [from this|from the text|]: {k}[.|]",
    "[Parse|Structure|Represent] [this|the text] as JSON [having|with|using] {k}[.|:]", "[Pull out|List|Collect] {k} [in|as] a JSON object[.|:]", "[Your output is|Produce|Generate] [JSON|a JSON object] [with|having|containing] {k}[.| No other text.| and nothing else.]",
]
NO_KEYS = ["[Give me|Write|Return|Output|Make|Produce] [JSON|a JSON object|a json] [describing|for|about|of] [this|the following|a] {n}[:|.]", "[Turn|Convert|Put] this [{n} |][into|to] JSON[:|.]", "[{N}|This {n}|The {n}] as JSON[:|, please:]", "[JSON|json] [of|for] [the|this|a] {n}:", "[Describe|Represent|Encode] [this|the] {n} [as|in] JSON[:|.]", "[I want|I need|Please give me] [JSON|a JSON object] of this {n}[:|.]", "[Write|Save] the {n} as [JSON|a JSON object][:|.]", "[Make|Create] a JSON [{n}|object]:"]
SCHEMAS = ["[Answer|Reply|Respond] [only |]with [JSON|a JSON object] that [matches|follows|fits] this schema: {s}", "[Output|Return] JSON [according to|for|matching] the [JSON |]schema {s}[.| No other text.|]", "[Schema|JSON schema|Response format|Output schema]: {s}\n[Fill it|Answer with a matching object|Use it][.|]", "[The|Your] [answer|output] must [be valid against|conform to|fit] {s}", "[Extract|Fill in] the data for this schema: {s}", "[Structure|Format] your answer by this schema:\n{s}", "[Use|Apply] the schema {s} [to what the user says|to the text|][.|]", "{s}\n\n[Return|Write] JSON for [this|the] schema[.|]"]


def shown(value):
    """A value in a sentence."""
    return " and ".join(value) if isinstance(value, list) else str(value)


def told(g, field, value):
    """One fact in words."""
    if "::" in field[2]:
        yes, no = field[2].split("::")
        return g.say(yes if value else no.strip())
    return g.say(g.pick(alternatives(field[2])), v=shown(value)).strip()


def text_of(g, chosen):
    """All facts as prose or as labelled values."""
    roll = g.int(0, 9)
    if roll < 2:
        return g.pick([". ", "\n", "; ", ", "]).join(f"{field[0].capitalize()}{g.pick([': ', ': ', ' = ', ' - '])}{shown(value)}" for field, value in chosen) + g.pick(["", "."])
    if roll < 3:
        return ", ".join(shown(value) if not isinstance(value, bool) else told(g, field, value) for field, value in chosen)
    sentences = [told(g, field, value) for field, value in chosen]
    text = g.pick([", ", ", ", ". ", "; "]).join(sentences[:-1]) + g.pick([", ", " and ", ". ", ", and "]) + sentences[-1] if len(sentences) > 1 else sentences[0]
    return text[:1].upper() + text[1:] + g.pick(["", ".", "."])


def listed(g, keys, chosen):
    """The keys in the instruction, sometimes with types."""
    manner = g.int(0, 5)
    kinds = {key: TYPES[type(value)] for key, (_, value) in zip(keys, chosen)}
    parts = [f"{key} ({kinds[key]})" if manner == 0 else f"{key}: {kinds[key]}" if manner == 1 else f'"{key}"' if manner == 2 else f"`{key}`" if manner == 3 else key for key in keys]
    return ", ".join(parts) if g.chance(0.5) or len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def record(g, thinking):
    """A conversation that asks for one JSON object."""
    kind = g.pick(list(KINDS) + ["person", "person"])
    fields = KINDS[kind]
    picked = [fields[0]] + g.some(fields[1:], g.int(1, 3))
    chosen = [(field, field[1](g)) for field in picked]
    keys = [field[0] for field, _ in chosen]
    instruction_kind = g.pick(["keys", "keys", "keys", "none", "schema"])
    if instruction_kind == "none":
        chosen = [one for one in chosen if not isinstance(one[1], bool)]
        keys = [field[0] for field, _ in chosen]
        instruction = g.say(NO_KEYS, n=kind, N=kind.capitalize())
    elif instruction_kind == "keys":
        keys = [key if g.chance(0.9) else f"{kind}_{key}" for key in keys]
        instruction = g.say(WITH_KEYS, k=listed(g, keys, chosen))
    else:
        properties = {key: {"type": TYPES[type(value)]} | ({"items": {"type": "string"}} if isinstance(value, list) else {}) for key, (_, value) in zip(keys, chosen)}
        instruction = g.say(SCHEMAS, s="\0").replace("\0", json.dumps({"type": "object", "properties": properties, "required": keys} | ({"additionalProperties": False} if g.chance(0.3) else {})))
    data = {key: value for key, (_, value) in zip(keys, chosen)}
    text = text_of(g, chosen)
    joiner = g.pick([" ", "\n", "\n\n"])
    system = g.chance(0.35) and instruction_kind != "none"
    if system:
        messages = [Message("system", g.pick(["", "", "You are a helpful assistant. ", "You extract data. ", "You are an API. "]) + instruction.rstrip(":") + g.pick(["", "", " No other text.", " JSON only."])), Message("user", text)]
    else:
        messages = [Message("user", text + joiner + instruction.rstrip(":") + "." * (not instruction.endswith((".", ":"))) if instruction_kind != "none" and g.chance(0.35) else instruction + joiner + text)]
    answer = json.dumps(data, ensure_ascii=False)
    return Sample("json", messages + [Message("assistant", answer, think=f"I write JSON with the keys {', '.join(keys)}.")], ("json", data), thinking)
