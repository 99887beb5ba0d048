"""Secrets to be recalled across turns and across long filler, and obedience to a system prompt."""

from . import talk, words
from .copying import snippet
from .core import Message, Sample

KINDS = ["code", "code", "code", "secret", "secret code", "secret word", "password", "code word", "passphrase", "token", "key", "magic word", "PIN", "pin code", "access code", "lucky number", "favorite color", "favorite animal", "room number", "marker", "ticket number", "user id", "serial number", "codename", "secret number",
         "launch code", "order number", "flight number", "pet's name", "license plate", "meeting place", "wifi password"]


def value_for(g, kind):
    """A value that suits the kind of secret."""
    if kind == "favorite color":
        return g.pick(words.COLOURS)
    if kind == "favorite animal":
        return g.pick(words.ANIMALS)
    if kind in ("lucky number", "PIN", "pin code", "room number", "secret number"):
        return str(g.int(1, 9999))
    if kind == "pet's name":
        return g.pick([g.pick(words.NAMES), words.made_up(g, 2).capitalize()])
    if kind == "meeting place":
        return f"the {g.pick(words.ADJECTIVES)} {g.pick(words.PLACES)}"
    return words.code(g) if g.chance(0.8) else (words.chinese(g) if g.chance(0.3) else words.made_up(g))


TELL = [
    "[My|The] {k} is {v}. [Remember it|Please remember it|Keep it in mind|Don't forget it|I will ask you later|Remember this for later|]", "[Remember|Please remember|Memorize|Note|Keep in mind] [that |][my|the] {k} is {v}[.|]", "[Remember|Please remember|Memorize|Store|Save] this {k}: {v}[.|]", "{k}: {v}. [Remember it.|Memorize this.|Keep it.]",
    "[I'll tell you|Here is|This is] [a|my|the] {k}: {v}[.|]", "[Let's say|Suppose|Assume] [my|the] {k} is {v}.", "For [later|future reference], [my|the] {k} is {v}.", "[Hi|Hello]! [My|The] {k} is {v}.", "I have [a|one] {k}, it is {v}. [Do not forget|Remember].", "the {k} is {v}, [got it|ok|remember]?",
]
ACK = ["Okay, I will remember it.", "Got it.", "Noted.", "Understood, I will remember that.", "OK", "Okay.", "I have noted the {k}.", "Got it, {v}.", "I'll remember.", "Sure, I will remember that."]
ASK = [
    "[What is|What's|What was|Tell me|Repeat|whats] [my|the] {k}[ I told you|again|that I gave you|]?", "[Do you remember|Can you tell me|Do you recall|Do you know] [my|the] {k}[ I mentioned|]?", "Which {k} did I [give|tell] you?", "What {k} did I [mention|tell you|give you][ earlier|before|at the start|]?", "[Remind me|Please remind me], what [is|was] [my|the] {k}?",
    "[Now|So|And now]: [what is|tell me|give me] [my|the] {k}[?|.]", "[Give me|Say|Output|State|Return] [my|the] {k}[.|, please.|, nothing else.]", "[my|the] {k}?", "I forgot [my|the] {k}. What [is|was] it?", "[Please |]answer with [only |]the {k}[.|]",
]


def recall(g, thinking):
    """Tell a secret, talk about other things, ask for it."""
    kind = g.pick(KINDS)
    value = value_for(g, kind)
    messages = [Message("user", g.say(TELL, k=kind, v=value))]
    messages.append(Message("assistant", g.say(ACK, k=kind, v=value), think=f"I must remember the {kind}: {value}."))
    for _ in range(g.pick([0, 0, 0, 1, 1, 2, 3, 4])):
        turn = g.pick([talk.greeting, talk.fact, talk.statement, talk.unknown])(g, thinking)
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    if g.chance(0.25):
        other = g.pick([k for k in KINDS if k != kind])
        messages[-1:-1] = [Message("assistant", "Noted."), Message("user", g.say(TELL, k=other, v=value_for(g, other)))] if other not in kind and kind not in other else []
    user = g.say(ASK, k=kind)
    answer = value if ("only" in user or "nothing else" in user) and g.chance(0.9) else g.pick([f"The {kind} is {value}.", f"Your {kind} is {value}.", value])
    return Sample("recall", messages + [Message("user", user), Message("assistant", answer, think=f"The {kind} given earlier is {value}.")], ("contains", [value]), thinking)


def filler(g, count):
    """About `count` words of varied text in paragraphs."""
    paragraphs, length = [], 0
    while length < count:
        kind = g.int(0, 7)
        if kind < 4:
            text = " ".join(words.sentence(g) for _ in range(g.int(2, 8)))
        elif kind == 4:
            text = "\n".join(f"{g.int(2020, 2026)}-{g.int(1, 12):02d}-{g.int(1, 28):02d} {g.pick(['INFO', 'WARN', 'DEBUG', 'ERROR'])} {words.words(g, 2, 6)} {g.int(0, 9999)}" for _ in range(g.int(3, 8)))
        elif kind == 5:
            text = words.words(g, 20, 60)
        elif kind == 6:
            line = words.sentence(g)
            text = " ".join([line] * g.int(2, 12))
        else:
            text = "\n".join(snippet(g) for _ in range(g.int(2, 6)))
        length += len(text.split())
        paragraphs.append(text)
    return paragraphs


NEEDLE = [
    "[The|My] {k} [of|for] {x} is {v}.", "[Note|Remember|Important]: the {k} [of|for] {x} is {v}.", "{x} [has|uses|chose] the {k} {v}.", "[By the way|Also|Please note], the {k} [for|of] {x} is {v}.", "The {k} for {x} was set to {v}.", "[SECRET|FACT|NOTE]: {k} for {x} = {v}", "One of the [special|magic] {k}s for {x} is: {v}.", "Everyone knows that the {k} of {x} is {v}.",
]
SINGLE_NEEDLE = ["The {k} is {v}.", "[Note|Remember|Important|Hidden fact]: the {k} is {v}.", "[By the way|Also|Please note|Keep in mind], the {k} is {v}.", "The [special |magic |]{k} is: {v}.", "{k}: {v}", "[My|Our] {k} is {v}[.|, do not forget it.]", "[Please remember|Remember] [this|the] {k}: {v}.", "NEEDLE: the {k} is {v}."]
LONG_INTRO = ["[Read|Here is|Please read|Study] [the following|this|a long] [text|document|log|report][ carefully|]:\n\n", "", "[Document|Text|Context|Notes]:\n\n", "[I will ask you a question about the following text|There is a fact hidden in this text|Some important information is hidden inside a lot of irrelevant text. Find it].\n\n", "<document>\n"]
LONG_ASK = ["[What is|What's|Tell me|Find] the {k}[ mentioned in the text| in the document| above|]?", "[According to|Based on|In] the [text|document|notes][ above|], what is the {k}?", "[Question|Q]: what is the {k}?", "What [is|was] the {k}? [Answer with the value only|Reply with only the value|Answer briefly].", "Which {k} is [given|mentioned|hidden] [in the text|above]?", "What {k} [did I mention|is mentioned]?", "Give me the {k}.", "the {k}?"]


def needle(g, thinking, length):
    """Facts hidden in about `length` words of filler, then several questions about them."""
    paragraphs = filler(g, length)
    count = 1 if g.chance(0.3) else g.int(2, max(2, min(12, 2 + length // 150)))
    facts = []
    if count == 1:
        kind = g.pick(KINDS)
        facts.append((kind, value_for(g, kind)))
        text = g.say(SINGLE_NEEDLE, k=kind, v=facts[0][1])
        paragraphs.insert(g.int(0, len(paragraphs)), text)
    else:
        seen = set()
        for _ in range(count):
            kind, owner = g.pick(KINDS), words.name(g) if g.chance(0.6) else words.made_up(g).capitalize()
            key = f"{kind} {g.pick(['of', 'for'])} {owner}"
            if owner in seen:
                continue
            seen.add(owner)
            value = value_for(g, kind)
            facts.append((key, value))
            text = g.say(NEEDLE, k=kind, x=owner, v=value)
            place = g.int(0, len(paragraphs))
            if g.chance(0.4) and place < len(paragraphs):
                paragraphs[place] += " " + text
            else:
                paragraphs.insert(place, text)
        g.rng.shuffle(facts)
    body = g.say(LONG_INTRO) + "\n\n".join(paragraphs)
    if body.startswith("<document>"):
        body += "\n</document>"
    messages = []
    in_system = g.chance(0.15)
    if in_system:
        messages.append(Message("system", body))
    asked = facts[:max(1, min(len(facts), 8))]
    for number, (key, value) in enumerate(asked):
        question = g.say(LONG_ASK, k=key)
        if number == 0 and not in_system:
            question = body + "\n\n" + question if g.chance(0.85) else question + "\n\n" + body
        answer = value if ("only" in question[-60:] and g.chance(0.9)) or g.chance(0.2) else f"The {key} is {value}."
        messages += [Message("user", question), Message("assistant", answer, think=f"The text says the {key} is {value}.")]
    return Sample("needle", messages, ("contains", [asked[-1][1]]), thinking, preserve=True)
