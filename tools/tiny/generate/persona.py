"""Roles with a name or a manner of speaking, and system prompts that fix the form of every answer."""

import json

from . import numbers, talk, words
from .core import Message
from .settings import company

FIRST = ["Captain", "Doctor", "Dr.", "Professor", "Chef", "Old", "Sir", "Lady", "Agent", "Master", "Miss", "Mr.", "Coach", "Little", "Grandma", "Brother", "Detective", "Nurse", "Wizard", "Queen", "King"]
ROLES = "pirate|wizard|knight|robot|support assistant|travel guide|librarian|cooking helper|shop assistant|tutor|fitness coach|language teacher|hotel concierge|museum guide|bank assistant|coding assistant|gardener|detective|storyteller|farmer|nurse|receptionist|sales agent|research assistant|personal assistant|news reader|space explorer|cat|dragon|barista".split("|")
NAMED = [
    "You are {n}, [a|the] {r}[.|] {s}", "You are {n}, [the|a] {r} [of|at|from|for] {c}[.|] {s}", "[Your name is|You are called|You go by the name] {n}[.|,] [and you are|You are|you work as] [a|the] {r}[.|] {s}", "You are a {r} [named|called] {n}[.|] {s}", "You are a {r}. [Your name is|You are called|People call you] {n}. {s}", "[Play|Act as|Take the role of|Pretend to be|Be] {n}, [a|the] {r}[.|] {s}", "{n} is [a|the] {r}[ of {c}|]. You are {n}. {s}", "[In this chat|Here|Today] you are {n}, [a|the] {r}[.|] {s}",
    "You are {n}. {s}", "You are the {r} of {c}[,| and] [your name is|called] {n}[.|] {s}", "[Role|Persona|Character]: {n}, {r}[.|]\n{s}", "[Name|Assistant name|Bot name]: {n}\n[Role|Job]: {r}\n{s}", "You're {n}, [a|the] {r} [who|that] [helps people|answers questions|is always polite][.|] {s}", "As {n}, [the|a] {r}[ of {c}|], you [talk to visitors|answer questions|help customers][.|] {s}", "{c} [has built|presents|made] {n}, [a|its] {r}. You are {n}. {s}", "You are an AI [assistant|model|agent] [named|called] {n}[.|, made by {c}.| developed by {c}.] {s}",
]
MANNERS = ["", "", "", "Be short and polite.", "Stay in character.", "Be friendly.", "Answer briefly.", "Never break character.", "Help the user.", "Speak simply.", "Be kind to children.", "You answer questions of customers."]
ASK = ["[What's|What is] your name[, friend|, please|, my friend|]?", "[Who are you|who r u|who are u|Who is this]?", "[What|How] do [they|people|others|your friends] call you?", "[And|So|Hello|Hi|Hey][,|!] [who are you|what is your name]?", "[Tell me|Say|Give me] your name[.|!|, please.]", "[Introduce yourself|Please introduce yourself|Present yourself][.|!|]", "[Who|With whom] am I [speaking with|talking to|speaking]?", "[What|Which] name do you [have|go by|use]?", "[May I ask|Can I ask|I'd like to know|Let me know] [your name|who you are][.|?]", "[Your name|name][?|, please.|]", "[Do you have|Have you got] a name?", "[How should I|What should I|What can I] call you?", "[Say who you are|State your name|Identify yourself][.|]", "[Nice to meet you|Good day|Good morning][,|!|.] [you are|and you are|who are you]?", "你叫什么名字？", "你是谁？", "お名前は？", "[Hi|Hello], [I am|I'm|my name is] {x}. [And you|Who are you|What is your name|And your name]?", "[Is your name|Are you called] {x}?"]
PIRATE = ["[You are|You're|Act as|Be|Play] a pirate[.|!|] {s}", "[Talk|Speak|Answer|Reply|Respond|Write] like a pirate[.|!|] {s}", "[Always|You must] [talk|speak|answer] [like a pirate|in pirate speak|as a pirate][.|] {s}", "[Pretend|Imagine] [that |]you are a pirate[.|] {s}", "You are a [helpful|friendly|grumpy|funny|old] pirate[ who helps people| on a ship|][.|] {s}", "[Role|Style|Tone|Persona]: pirate[.|] {s}", "[Answer|Reply] [every question|everything|the user] [as a pirate would|in the voice of a pirate|in pirate style][.|] {s}", "You are a pirate [captain|of the seven seas|from the Caribbean][.|] {s}", "[You live on a pirate ship|Your home is a pirate ship][.|,] [Talk like it|so speak like a pirate|You are a pirate][.|] {s}"]
ARR = ["Arr! {a}", "Arr, matey! {a}", "Ahoy! Arr, {a}", "Arr! {a} Yo ho ho!"]
FORM = [
    "[Always |][answer|reply|respond] [with|in|as] [a|one] JSON object [with|that has|containing] [one|the|a single] [key|field] \"{k}\"[.|]", "[Answer|Reply|Respond] [only |][in|as] JSON: \\{\"{k}\": \"...\"\\}", "[Put|Write|Wrap] [every|your|each] [answer|reply] [into|in] a JSON object under the key {k}[.|]", "[Your output|The output|Every answer] [is|must be] JSON [of the form|like|in the form] \\{\"{k}\": <text>\\}[.|]", "[You speak|Speak|Use] only JSON. The [text|answer] goes [into|in] \"{k}\"[.|]", "[Format|Output format|Answer format|Response format]: \\{\"{k}\": string\\}", "[Return|Output|Produce] JSON with the [key|field] \"{k}\" [for every message|always|each time][.|]", "[Each|Every] [reply|message|answer] of yours is a JSON object with the [key|field] `{k}`[.|]", "[Only|Just] JSON, key {k}[.|, no other text.]",
]
DIGITS = ["[Answer|Reply|Respond] [only |]with [numbers|digits|a number|the number][ only|][.|]", "[Only|Just] [numbers|digits|the number][, no words|][.|]", "[You are|Act as|Be] a calculator. [Print only the result.|Give only numbers.|No words.|Output the number and nothing else.]", "[Never|Do not] [use|write] words, [only|just] numbers[.|]", "[Output|Return|Print] [the|a] [number|result] and nothing else[.|]", "[Your|Every] [answer|reply] [is|must be] [one|a single] number[.|]", "[Numbers|Digits] only[.|, please.|]", "[Leave out|Skip|Omit] all words[,|;] [give|write] only the [result|number][.|]"]


def name(g):
    """A name of one to three words, or a product's name."""
    roll = g.int(0, 9)
    if roll < 3:
        return g.pick(words.NAMES)
    if roll < 5:
        return words.made_up(g).capitalize()
    if roll < 8:
        return f"{g.pick(FIRST)} {g.pick([g.pick(words.NAMES), words.made_up(g).capitalize(), g.pick(words.COLOURS).capitalize() + g.pick(['beard', 'wood', 'stone', 'field', 'hat']), g.pick(words.ENGLISH).capitalize()])}"
    if roll < 9:
        return f"{g.pick(words.NAMES)} {words.made_up(g, 2).capitalize()}"
    return g.pick([words.made_up(g).capitalize() + "Bot", words.made_up(g).upper(), f"{words.made_up(g, 2).capitalize()}-{g.int(1, 9)}", f"{g.pick(words.ENGLISH).capitalize()} {g.pick(['Assistant', 'Helper', 'Bot', 'AI', 'Guide'])}", f"{words.made_up(g, 1).capitalize()}GPT"])


def asked_name(g, person):
    """The question for the name and its answer."""
    user = g.say(ASK, x=g.pick(words.NAMES))
    other = next((one for one in words.NAMES if f"called {one}?" in user or f"Is your name {one}?" in user), None)
    if other and other != person:
        return Message("user", user), Message("assistant", f"No, my name is {person}.", think=f"The system prompt says my name is {person}.")
    return Message("user", g.dress(user, 0.1)), Message("assistant", g.pick([f"My name is {person}.", f"I am {person}.", f"I am {person}."]), think=f"The system prompt says my name is {person}.")


def named(g, turns):
    """A named role: (rule, messages, expectation); the name is asked for, or something else."""
    person = name(g)
    rule = g.say(NAMED, n=person, r=g.pick(ROLES), c=company(g), s=g.pick(MANNERS)).strip()
    if "pirate" in rule:
        rule = rule.replace("pirate", "sailor")
    messages = []
    if g.chance(0.3):
        for turn in turns:
            messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
        if g.chance(0.5):
            return rule, messages, turns[-1].expect
    messages += asked_name(g, person)
    return rule, messages, ("contains", [person])


def pirate(g, turns):
    """Every answer in the manner of a pirate."""
    rule, messages = g.say(PIRATE, s=g.pick(["", "", "", "Be brief.", "The user is a landlubber.", "Current time: 10:30.", "You know many things."])).strip(), []
    for turn in turns:
        messages += [Message("user", turn.user), Message("assistant", g.pick(ARR).format(a=turn.answer), think=f"{turn.think} I speak like a pirate.")]
    return rule, messages, ("contains_ci", ["arr"])


def form(g, turns):
    """Every answer as JSON with one key."""
    key = g.pick(["answer", "reply", "response", "text", "output", "result", "message", "content", words.word(g)])
    rule, messages = g.say(FORM, k=key).replace("\\{", "{").replace("\\}", "}"), []
    for turn in turns:
        messages += [Message("user", turn.user), Message("assistant", json.dumps({key: turn.answer}, ensure_ascii=False), think=f"{turn.think} I write JSON with the key {key}.")]
    return rule, messages, ("json", {key: turns[-1].answer})


def digits(g, thinking):
    """Only numbers."""
    rule, messages, value = g.say(DIGITS), [], 0
    for _ in range(g.int(1, 2)):
        turn = numbers.arithmetic(g, thinking)
        value = turn.expect[1]
        messages += [Message("user", turn.user), Message("assistant", str(value), think=turn.think.replace(" Only the number.", "") + " Only the number.")]
    return rule, messages, ("contains", [str(value)])
