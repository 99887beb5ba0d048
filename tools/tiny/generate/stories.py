"""Short stories that end, built from beats with many alternatives."""

from . import words
from .core import Turn

ASK = [
    "[Tell|Write|Give] me a [short |little |brief |]story[.|!|]", "[Tell|Write|Give] [me |us |]a [short |little |very short |brief ]story about {t}[.|, please.|]", "[Please |Can you |Could you ][write|tell] a [short |small |]story [about|with] {t}[.|?|]", "[I want|I would like|I'd like] [to hear |to read |]a [short |]story[ about {t}|][.|]",
    "Write a story[ about {t}|]", "[Write|Tell|Compose|Make up|Invent] a [short|brief|tiny|little|bedtime|funny|sad|happy] [story|tale] [about|featuring|with] {t}[.|]", "[short story|story|a story] about {t}", "Once upon a time[...|, there was {t}. Continue.]", "[A short story, please|Story time|Tell me something about {t}, as a story][.|!]",
    "Write me a tale [about|of] {t}[.|]", "[Tell|Write] a story [for children|for my kids|for bedtime][ about {t}|][.|]", "Short story[.|, please.|]", "[Please tell|Please write] [me |]a short story[.|]", "[Hi|Hello]! [Tell|Write] me a [short |]story[ about {t}|].", "Can you tell me a story[?| about {t}?]", "write a very short story [in a few sentences|about {t}]",
    "[Make up|Invent|Create|Compose|Think of] a [short |little |]story[ about {t}| with {t}|][.|]", "[Let me hear|I want to read|Read me] a [short |]story[ about {t}|][.|]", "[Could|Would|Can] you [please |][tell|write] [me |us |][a|one] [short |little |bedtime |]story[ about {t}|][?|]", "[Entertain me with|Surprise me with|Amuse me with] a [short |]story[ about {t}|][.|]", "[Story|Short story|Tale] [about|on|of|with] {t}[, please|][.|]", "[Write|Tell] [a story|a tale] [of|in] [a few|five|some|about six] [sentences|lines][ about {t}|][.|]", "[My child|My daughter|My son] [wants|would like] a story[ about {t}|][.|]", "[Once|One day|Long ago], there was {t}. [Go on|Continue the story|Tell the rest][.|]", "[Please |]write [me |]a [short|brief] [piece of fiction|narrative|fairy tale|fable][ about {t}|][.|]",
    "[A|One] [fable|fairy tale|bedtime story|short tale|little story][ about {t}| with {t}|][, please|][.|]", "[Now|So|OK], [tell|write] [me |]a story[ about {t}|][.|]", "[I need|Give us] a [short |]story [for a school project|for tonight|for a test|about {t}][.|]",
    "[Tell|Show] [me|us] what happened to {t}[.|, as a story.|]", "[Start|Begin] a story with {t}[ and finish it|][.|]", "[Fiction|Narrative|Fairy tale|Bedtime story][:| about] {t}[.|]", "[There once was|Once there was|Once upon a time there was|Imagine] {t}[...|. Continue.| - go on.|. What happened?]", "Once upon a time[...| there was| in a forest|,]", "[Could|Can|Would] you [make up|invent|write down] a [tale|story|little story] [for me|for us|with a happy end|with a good ending][ about {t}|][?|]", "[Please |]tell [me |]the story of {t}[.|]", "[A story about|Story:|Tale:|About] {t}[, short|, please|, briefly|][.|]",
    "[Write|Tell] [me |us |][a|one] [story|tale] [that ends well|with a happy end|with a beginning and an end|that has an end][ about {t}|][.|]", "[I am|I'm] [tired|bored|in bed], [tell|read] me a [story|bedtime story][.|!|]", "[Do you know|Have you got] a [good |nice |short |]story[ about {t}|]?", "[Write|Tell] [something|a few sentences|a paragraph] [like a story |in story form |]about {t}[.|, as a story.|, like a fairy tale.]", "[Your|The next|My] task[:| is] [write|tell] a [short |]story[ about {t}|][.|]",
    "Once upon a time[...|,| there was| in a land far away| there lived|.|]", "[There was once|There lived|Once there lived|In a land far away there was|Far away there lived] {t}[...|.| and|,|]", "[It was a dark and stormy night|One cold winter morning|In a small village by the sea|Long, long ago|Deep in the forest|Many years ago][...|.|,|]", "[One day|One evening|One night|Yesterday|Last summer][,|] {t} [went|walked|came|set out|got lost][...|.|]", "[Make|Let] {t} the [hero|main character|star] of a [short |]story[.|]", "[I|We]['d love|'d like| would like| want] [a tale|a story|to hear a tale|something] [about|of|with] {t}[ who lost its way| that ends well| and a friend|][.|, please.|]", "[A|One|Some] [short |little |tiny |bedtime |][tale|story] [with|about|of|featuring] {t} [in it|as the hero|please|for my kids|and a happy end][.|]", "[short story|story|tale|a story|bedtime story] [pls|please|now|!]",
    "[Write|Tell|Give me] [a|one] [bedtime|short|small|nice|funny] story [with|that has] {t} in it[.|]", "[Tell|Narrate|Recount|Spin] [me |us |]a [yarn|tale|story|legend][ about {t}| of {t}|][.|!|]", "[Continue|Finish|Complete] [this story|the story|the tale][:|:\n] [Once upon a time|One day|Long ago][,|] there was {t}[...|.|]", "{t}: [a story|a short story|tell me a story|write a tale][.|]"
]
OPEN = [
    "Once upon a time, {a} {x} named {n} lived [in|near] {p}.", "Long ago, in {p}, there lived {a} {x} called {n}.", "{n} was {a} {x} who lived [near|in] {p}.", "In {p}, everyone knew {n}, {a} {x}.", "There was once {a} {x} whose name was {n}. {n} lived in {p}.", "Far away, beyond {q}, {a} {x} named {n} had a small home in {p}.",
]
HABIT = [
    "Every [morning|evening|day], {n} [looked for|counted|cleaned|watched over] {t}s and [sang|hummed|whistled] a [quiet|merry|short] song.", "{n} loved {t}s more than anything else.", "[Most|All] days were [quiet|calm|the same], and {n} [liked it that way|often felt lonely].", "{n} [dreamed of|wished for] {d}.", "The others [laughed at|admired|liked] {n} because {n} was so {j}.",
]
TROUBLE = [
    "One [day|night|morning], {n} found {u} {t} [under a tree|by the road|in the snow|behind the door].", "But one [winter|summer|autumn] the [rain|snow|wind] did not stop, and {p} was in [danger|trouble].", "Then, one [stormy|foggy|cold] night, {m}, {b} {y}, [knocked at the door|got lost|asked for help].", "One day {n} lost {u} {t} and could not find it anywhere.", "[Suddenly|One evening], a [strange|bright|soft] light appeared above {q}.",
]
ACTION = [
    "{n} [walked|ran|climbed] [all day|for hours|for three days] until [the sun went down|the path ended|{q} was in sight].", "\"[Do not worry|Come with me|I will help you],\" said {n}, and together they [followed the light|crossed {q}|looked everywhere].", "On the way {n} met {m}, {b} {y}, who [shared some bread|knew the way|offered a lantern].", "It was [hard|cold|dark], but {n} [did not give up|kept going|was {j}].", "{n} [thought for a long time|had an idea|took a deep breath] and [used the {t}|asked {m} for help|opened the old {t}].",
]
TURN = [
    "[At last|In the end|Finally], they found {d} [behind|under|inside] {q}.", "[To everyone's surprise|Slowly|Just then], the [light grew warm|door opened|clouds moved away].", "{m} smiled and gave {n} {u} {t} as a [gift|thank you].", "When the [morning|spring|sun] came, everything was [quiet|bright|different].", "And so the {t} was [found|repaired|returned], and nobody was [afraid|sad|lonely] any more.",
]
CLOSE = [
    "From that day on, {n} was never lonely again.", "{n} [went home|returned to {p}] [tired but happy|with a full heart|with a new friend]. The end.", "And they lived happily ever after.", "{n} [smiled|laughed] and fell asleep under the stars. The end.", "People in {p} still tell this story today.", "And that is how {n} learned that [kindness|courage|patience|friendship] is worth more than any {t}.",
]
DREAMS = ["a friend", "a treasure", "the sea", "a home", "a golden key", "a star", "a garden full of roses", "a great adventure", "the lost song", "a warm fire"]


def tell(g, slots):
    """Sentences from opening to end."""
    beats = [OPEN, HABIT, TROUBLE] + [ACTION] * g.int(1, 3) + [TURN, CLOSE]
    if g.chance(0.3):
        beats.insert(2, HABIT)
    sentences, used = [], set()
    for beat in beats:
        for _ in range(4):
            template = g.pick(beat)
            if template not in used:
                break
        used.add(template)
        sentences.append(g.say(template, **slots))
    return sentences


def story(g, thinking):
    """One story of five to nine sentences."""
    animal, place, thing = g.pick(words.ANIMALS + ["girl", "boy", "knight", "baker", "robot", "wizard", "sailor", "dragon", "farmer", "painter", "princess", "inventor"]), g.pick(words.PLACES), g.pick(words.THINGS)
    hero = g.pick([g.pick(words.NAMES), words.made_up(g, 2).capitalize()])
    kind = g.int(0, 4)
    topic = {0: words.article(animal), 1: f"{words.article(g.pick(words.ADJECTIVES))} {animal}", 2: f"{words.article(animal)} and {words.article(thing)}", 3: f"{words.article(animal)} named {hero}", 4: g.pick([f"the {place}", f"{words.article(animal)} in the {place}", f"a {place}", words.article(thing), f"{words.article(animal)} who found {words.article(thing)}"])}[kind]
    request = g.say(ASK, t=topic)
    if topic not in request:
        topic = ""
    adjective = topic.split()[1] if topic and kind == 1 else g.pick(words.ADJECTIVES)
    slots = dict(a=words.article(adjective), j=g.pick(["brave", "kind", "careful", "clever", "patient", "gentle"]), x=animal, n=hero, p=f"a {g.pick(words.ADJECTIVES)} {place}" if place[0] in "aeiou" else f"the {place}", q=f"the {g.pick(words.ADJECTIVES)} {g.pick(words.PLACES)}",
                 t=thing, u=words.article(g.pick(words.ADJECTIVES)), b=words.article(g.pick(words.ADJECTIVES)), y=g.pick(words.ANIMALS), m=g.pick([name for name in (g.pick(words.NAMES), g.pick(words.NAMES)) if name != hero] or ["Milo"]), d=g.pick(DREAMS))
    told = topic.split()[-1] if topic else ""
    while True:
        sentences = tell(g, slots)
        text = " ".join(sentences)
        if told.lower() in text.lower():
            break
    if g.chance(0.25):
        cut = g.int(2, len(sentences) - 2)
        text = " ".join(sentences[:cut]) + "\n\n" + " ".join(sentences[cut:])
    think = f"I plan a short story: {hero} the {animal}, the {place}, {words.article(thing)}, a problem and a good end."
    return Turn(g.dress(g.rough(request, 0.1), 0.08), text, think, ("story", told))
