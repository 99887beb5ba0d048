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
    "[I want you to|You should|You must|Can you|Could you] [remember|memorize|keep in mind|store] [that |][my|the] {k} is {v}[.|]", "[I have|There is] a {k} for you: {v}[.|] [Remember it.|Keep it.|]", "[Listen|Attention|Important|Note|Info|FYI]: [my|the] {k} is {v}[.|]", "{v} is [my|the] {k}[.|] [Remember it|Keep it in mind|Do not forget it|][.|]", "[Save|Store|Keep|Note down|Write down] [my|the|this] {k}[:| -] {v}[.|]", "[We will use|I will use|Use|We agreed on] {v} as [the|my] {k}[.|]", "[Set|Define] [the|my] {k} to {v}[.|]", "[Today|For this session|In this chat|From now on], [my|the] {k} is {v}[.|]", "[Do not|Don't|Never] forget [my|the] {k}: {v}[.|]", "[My|The] {k} [is|equals|reads|=|:] {v}[.| Please confirm.| Say OK.| Just say ok.| Reply with OK.| Acknowledge.]", "[I'm telling you|Let me tell you|I am giving you] [my|the] {k}: {v}[.|]", "[Here's|Here is] [my|the] {k}: {v}[.|] [I will need it later|Keep it safe|You will be asked for it][.|]",
]
ACK = ["Okay, I will remember it.", "Got it.", "Noted.", "Understood, I will remember that.", "OK", "Okay.", "I have noted the {k}.", "Got it, {v}.", "I'll remember.", "Sure, I will remember that."]
ASK = [
    "[What is|What's|What was|Tell me|Repeat|whats] [my|the] {k}[ I told you|again|that I gave you|]?", "[Do you remember|Can you tell me|Do you recall|Do you know] [my|the] {k}[ I mentioned|]?", "Which {k} did I [give|tell] you?", "What {k} did I [mention|tell you|give you][ earlier|before|at the start|]?", "[Remind me|Please remind me], what [is|was] [my|the] {k}?",
    "[Now|So|And now]: [what is|tell me|give me] [my|the] {k}[?|.]", "[Give me|Say|Output|State|Return] [my|the] {k}[.|, please.|, nothing else.]", "[my|the] {k}?", "I forgot [my|the] {k}. What [is|was] it?", "[Please |]answer with [only |]the {k}[.|]",
    "[What|Which] [was|is] the {k} [I gave you|I told you|from before|from earlier|I mentioned|we agreed on|you should remember|I asked you to remember]?", "[Can|Could|Would] you [repeat|say|give me|tell me|recall] [my|the] {k}[ again|, please| now|]?", "[Tell|Show|Give] me [my|the] {k} [again|now|once more|back|, please][.|]", "[Do|Did] you [still |][remember|know|recall|have] [my|the] {k}[?|]", "[What did I say|What did I tell you] [my|the] {k} [is|was]?", "[Recall|Retrieve|Name|Reveal|Write] [my|the] {k}[.|, please.|]", "[I need|I want] [my|the] {k} [now|again|back][.|]", "[Earlier|Before|At the beginning] I [told|gave] you [my|the] {k}. What [is|was] it?", "[So|Well|Okay], [what is|what's|what was] [my|the] {k}[ again|]?", "[Quiz|Test|Check|Memory test]: [what is |]the {k}?", "[Repeat|Return|Output] the {k} [from above|exactly|you were given|from my first message][.|]", "[Time to answer|Now I ask]: [what is|what was] [my|the] {k}?", "[My|The] {k} [is|was] [what|...]?",
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
    user = g.dress(g.say(ASK, k=kind), 0.12)
    answer = value if ("only" in user or "nothing else" in user) and g.chance(0.9) else g.pick([f"The {kind} is {value}.", f"Your {kind} is {value}.", value])
    return Sample("recall", messages + [Message("user", user), Message("assistant", answer, think=f"The {kind} given earlier is {value}.")], ("contains", [value]), thinking)


def monotonous(g, count):
    """About `count` words that repeat a few sentences, numbered or not, as artificial long prompts do."""
    lines = [g.pick(TOPICS) if g.chance(0.3) else words.sentence(g) for _ in range(g.int(1, 6))]
    numbered, join, paragraphs, length, number = g.pick(["", "", "{}. ", "Line {}: ", "[{}] ", "Paragraph {}. ", "Entry {}: "]), g.pick([" ", "\n", " "]), [], 0, 0
    while length < count:
        part = []
        for _ in range(g.int(4, 16)):
            number += 1
            line = lines[number % len(lines)]
            length += len(line.split())
            part.append(numbered.format(number) + line)
        paragraphs.append(join.join(part))
    return paragraphs


def babble(g, count):
    """About `count` words of sentences over a small vocabulary."""
    vocabulary = [words.word(g) for _ in range(g.int(6, 30))] + "the a is of and".split()[:g.int(0, 5)]
    size, lines, paragraphs = g.int(4, 12), g.int(3, 10), []
    for _ in range(max(1, count // (size * lines))):
        paragraphs.append(" ".join(" ".join(g.pick(vocabulary) for _ in range(size)).capitalize() + "." for _ in range(lines)))
    return paragraphs


def within(g, paragraph, text):
    """The paragraph with the text between two of its sentences."""
    places = [index + 2 for index in range(len(paragraph) - 2) if paragraph[index:index + 2] == ". "]
    if not places:
        return f"{paragraph} {text}"
    place = g.pick(places)
    return f"{paragraph[:place]}{text} {paragraph[place:]}"


def filler(g, count):
    """About `count` words of varied text in paragraphs."""
    if count > 100 and g.chance(0.4):
        return g.pick([monotonous, babble])(g, count)
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
    "[In case you need it|For the record|As agreed|As a reminder], {x}'s {k} is {v}.", "{x}: {k} {v}.", "[They gave|We gave] {x} the {k} {v}.", "{v} is the {k} [of|for] {x}.", "[Remember this|Keep this in mind|Pay attention]: {x} has {k} {v}.", "[The|A] new {k} [of|for] {x} [is|reads|:] {v}.", "<fact>{k} for {x}: {v}</fact>", "[If you ask for|When asked for] the {k} [of|for] {x}, [say|answer] {v}.",
]
SINGLE_NEEDLE = ["The {k} is {v}.", "[Note|Remember|Important|Hidden fact]: the {k} is {v}.", "[By the way|Also|Please note|Keep in mind], the {k} is {v}.", "The [special |magic |]{k} is: {v}.", "{k}: {v}", "[My|Our] {k} is {v}[.|, do not forget it.]", "[Please remember|Remember] [this|the] {k}: {v}.", "NEEDLE: the {k} is {v}.", "[In case you need it|For the record|Here is the important part|Attention], the {k} is {v}.", "[The|Our] [secret |hidden |real |]{k} [is|reads|equals|was set to] {v}.", "{v} is the {k}.", "[Pay attention|Important information|Needle|Key fact|Secret]: {k} = {v}", "<{k}>{v}</{k}>", "[The one thing to remember|What you must remember]: the {k} is {v}.", "[I hide|I put|There is] a {k} here: {v}.", "[When asked|If asked|Later], [say that |]the {k} is {v}."]
TOPICS = ["The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.", "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.", "The quick brown fox jumps over the lazy dog.", "This is a line of filler text that carries no information."]
LONG_INTRO = ["[Read|Here is|Please read|Study] [the following|this|a long] [text|document|log|report][ carefully|]:\n\n", "", "[Document|Text|Context|Notes]:\n\n", "[I will ask you a question about the following text|There is a fact hidden in this text|Some important information is hidden inside a lot of irrelevant text. Find it].\n\n", "<document>\n"]
LONG_ASK = ["[What is|What's|Tell me|Find] the {k}[ mentioned in the text| in the document| above|]?", "[According to|Based on|In] the [text|document|notes][ above|], what is the {k}?", "[Question|Q]: what is the {k}?", "What [is|was] the {k}? [Answer with the value only|Reply with only the value|Answer briefly].", "Which {k} is [given|mentioned|hidden] [in the text|above]?", "What {k} [did I mention|is mentioned]?", "Give me the {k}.", "the {k}?", "[From|In] the [text|passage|document|log|report|notes][ above|], [find|extract|give me|name] the {k}.", "[Somewhere|Hidden] in the [text|document] [is|there is] the {k}. [What is it|Tell me]?", "[Can|Could] you [find|tell me|locate] the {k}[ in the text| in the document|]?", "[Return|Output|Reply with|Answer with] [only |just |]the {k}[ from the text|].", "[I need|Find me] the {k}[ from the document|].", "[What does the text say|What do we know] about the {k}?", "[Read the text again|Search the text|Look carefully]: [what is|what was] the {k}?", "[Do you remember|Did you see|Did you find] the {k}[ in the text|]?", "[Which|What] value does the {k} have?", "[Now|So|Finally], [what is|tell me] the {k}[?|.]", "[Based on|Using|Given] [everything|all|the text] above, [what is|state] the {k}[?|.]", "[Task|Question]: [state|name|give|find] the {k}."]


def needle(g, thinking, length):
    """Facts hidden in about `length` words of filler, then several questions about them."""
    paragraphs = filler(g, length)
    count = 1 if g.chance(0.25) else g.int(2, max(2, min(24 if length > 12000 else 12, 2 + length // 150)))
    facts = []
    if count == 1:
        kind = g.pick(KINDS)
        facts.append((kind, value_for(g, kind)))
        text = g.say(SINGLE_NEEDLE, k=kind, v=facts[0][1])
        place = int(len(paragraphs) * g.pick([0.1, 0.25, 0.5, 0.75, 0.9])) if g.chance(0.4) else g.int(0, len(paragraphs))
        if g.chance(0.5) and place < len(paragraphs):
            paragraphs[place] = within(g, paragraphs[place], text) if g.chance(0.6) else paragraphs[place] + g.pick([" ", "\n"]) + text
        else:
            paragraphs.insert(place, text)
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
                paragraphs[place] = within(g, paragraphs[place], text) if g.chance(0.6) else f"{paragraphs[place]} {text}"
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
    asked = facts[:16 if length > 12000 else 8]
    for number, (key, value) in enumerate(asked):
        question = g.say(LONG_ASK, k=key)
        if number == 0 and not in_system:
            question = body + "\n\n" + question if g.chance(0.85) else question + "\n\n" + body
        answer = value if (("only" in question[-60:] or "just" in question[-40:]) and g.chance(0.9)) or g.chance(0.2) else f"The {key} is {value}."
        messages += [Message("user", question), Message("assistant", answer, think=f"The text says the {key} is {value}.")]
    return Sample("needle", messages, ("contains", [asked[-1][1]]), thinking, preserve=True)
