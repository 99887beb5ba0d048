"""Random choice with held-out phrasings, the template language, and the conversation types."""

import random
import re
from dataclasses import dataclass, field
from functools import lru_cache

HELD_OUT_EVERY = 8
LEADS = [
    "Hi, ", "Hello! ", "Hey, ", "Quick question: ", "[I have a question|My question is|One question|Question|Q|Test|Task|Next|Another one]: ", "Please tell me: ", "[OK|Okay|So|Now|Well|Alright], ", "[Sorry to bother you, but|Excuse me,|Pardon me,] ", "[I was wondering|I am wondering|Just wondering|Just curious]: ",
    "[Good morning|Good evening|Good afternoon|Greetings][,|!|.] ", "Dear assistant, ", "[Here is my|This is my] [question|request]: ", "[Next question|Last question|First question|New question][:|.] ", "[Assistant|Model|Computer|AI|Bot][,|:] ", "[Thanks|Thank you|Great|Perfect]! ", "[Listen|Look|Say], ", "[Please|Kindly] [answer|respond|help]: ", "[Let me ask|Let me ask you|May I ask]: ", "[User|Me]: ", "[I need help.|I need your help.|Help me.|Please help.] ", "1. ", "> ", "# [Task|Question]\n", "[One more thing|One more|And]: ",
    "[Hi|Hello|Hey], I'm [Tom|Anna|a student|new here|Leo|back]. ", "[My teacher|My boss|My son|A friend|My daughter|My colleague|Someone] [asks|wants to know|asked me]: ", "[For|This is for] [my homework|a quiz|school|work|a test|my report]: ", "[I'm|I am] [testing you|trying you out|checking something|curious]. ", "[Let's|Let us] [try something|test this|begin|see]: ", "[Hello|Hi|Hey] [deltaserve|model|bot|there|again|assistant][,|!|.|:] ", "[Be honest|Think|Careful|Concentrate|Do your best][:|.|,] ", "[Could you help me|Can you help me|I need a hand|Help me out]? ", "[Then|After that|Second|Finally|Also|Next][:|,] ", "[Round|Question|Item|No.|Task] [1|2|3|7|12][:|.|)] ", "[Be so kind|If you can|If possible|Whenever you are ready][:|,] ", "\n",
]
TAILS = [" Thanks!", " Thank you.", " [Please|Please answer|Please reply|Please help|Please be brief].", " [Be brief|Keep it short|Short answer please|A short answer is fine|Be concise|Answer briefly|In short].", " Thanks in advance.", " [I need it now|I need this for my work|It is urgent|It is important|I am in a hurry].", "\n", "  ", " [I really want to know|I am curious|I forgot|I am not sure].", " :)", " [Answer in English|Use English|Plain text only|No markdown].", " [Go|Go ahead|Your turn|Over to you]!", " [ok|right|okay|please|thx]?", " [I hope you can help|You can do it|Take your time|I am waiting|No rush|I count on you]!", " [That is all|Nothing more|That's my question|This is a test|It's for school].", " [Cheers|Best regards|Yours, Tom|Greetings|Bye]."]


@dataclass
class Message:
    """One chat message; `think` and `calls` are only used by the assistant, `images` only by the user."""

    role: str
    content: str
    think: str = ""
    calls: list = field(default_factory=list)
    images: list = field(default_factory=list)


@dataclass
class Sample:
    """A conversation that ends with the assistant's answer, and how that answer is judged."""

    ability: str
    messages: list
    expect: tuple
    thinking: bool = True
    tools: list = field(default_factory=list)
    preserve: bool = False


@dataclass
class Turn:
    """One question and answer, to be used alone or among others in a conversation."""

    user: str
    answer: str
    think: str
    expect: tuple
    images: list = field(default_factory=list)


@lru_cache(maxsize=None)
def parse(template):
    """Parse `text [a|b[c|d]|] text` into nested tuples: ('seq', parts) and ('alt', options)."""
    position = 0

    def sequence(stops):
        nonlocal position
        parts, start = [], position
        while position < len(template) and template[position] not in stops:
            if template[position] == "[":
                parts.append(template[start:position])
                position += 1
                options = [sequence("|]")]
                while template[position] == "|":
                    position += 1
                    options.append(sequence("|]"))
                position += 1
                parts.append(("alt", options))
                start = position
            else:
                position += 1
        parts.append(template[start:position])
        return ("seq", [part for part in parts if part])

    return sequence("")


def alternatives(text):
    """Split at the bars outside of brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return parts + [current]


SLOT = re.compile(r"\{(\w+)\}")


class Source:
    """A seeded source of choices. With `held_out` it prefers phrasings that training never sees."""

    def __init__(self, seed, held_out=False):
        self.rng = random.Random(seed)
        self.held_out = held_out

    def chance(self, probability):
        """True with the given probability."""
        return self.rng.random() < probability

    def int(self, low, high):
        """A uniform integer, both ends included."""
        return self.rng.randint(low, high)

    def pick(self, items):
        """A uniform choice from data (not held out)."""
        return items[int(self.rng.random() * len(items))]

    def some(self, items, count):
        """`count` different items in random order."""
        return self.rng.sample(items, min(count, len(items)))

    def phrase(self, templates):
        """A choice among phrasings: one in HELD_OUT_EVERY is kept for evaluation when there are enough."""
        if len(templates) < HELD_OUT_EVERY:
            return self.pick(templates)
        if self.held_out:
            return self.pick(templates[HELD_OUT_EVERY - 1::HELD_OUT_EVERY])
        while True:
            index = int(self.rng.random() * len(templates))
            if index % HELD_OUT_EVERY != HELD_OUT_EVERY - 1:
                return templates[index]

    def expand(self, node):
        """Expand a parsed template."""
        if isinstance(node, str):
            return node
        kind, parts = node
        if kind == "alt":
            return self.expand(self.pick(parts))
        return "".join([self.expand(part) for part in parts])

    def say(self, templates, **slots):
        """Choose a template (or take the only one), expand its alternatives and fill its {slots}."""
        template = templates if isinstance(templates, str) else self.phrase(templates)
        text = self.expand(parse(template))
        return SLOT.sub(lambda match: str(slots[match.group(1)]), text)

    def dress(self, text, strength=0.2):
        """Sometimes put an opening before a question or a remark after it."""
        if self.chance(strength):
            lead = self.say(LEADS)
            text = lead + (text[:1].lower() + text[1:] if lead.endswith(", ") and text[1:2].islower() and self.chance(0.6) else text)
        if self.chance(strength * 0.6):
            text += self.say(TAILS)
        return text

    def rough(self, text, strength=0.12):
        """Sometimes change case or end punctuation, as people type."""
        roll = self.rng.random()
        if roll > strength:
            return text
        roll /= strength
        if roll < 0.35:
            return text[:1].lower() + text[1:]
        if roll < 0.6:
            return text.rstrip(".!?")
        if roll < 0.75:
            return text.lower() if text.isascii() and not re.search(r"[A-Z_0-9]{2}|[\"'`]", text) else text
        if roll < 0.9:
            return text.rstrip(".!?") + self.pick(["!", "??", "...", " please", ", thanks", " :)", " pls"])
        return self.typo(text)

    def typo(self, text):
        """Swap two letters of one long lower-case word."""
        words = text.split(" ")
        places = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha() and word.islower()]
        if not places:
            return text
        place = self.pick(places)
        word = words[place]
        cut = self.int(1, len(word) - 3)
        words[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2:]
        return " ".join(words)
