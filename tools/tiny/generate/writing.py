"""Small pieces that are known by heart: jokes, short poems and lines of code."""

from . import words
from .core import Turn

JOKES = [
    "Why did the bicycle fall over? It was two tired.", "What do you call a bear with no teeth? A gummy bear.", "Why do bees have sticky hair? They use honeycombs.", "What did one wall say to the other? I will meet you at the corner.",
    "Why was the math book sad? It had too many problems.", "What do you call a sleeping bull? A bulldozer.", "Why did the scarecrow win a prize? He was outstanding in his field.", "What kind of tree fits in your hand? A palm tree.",
]
JOKE_ASK = ["[Tell|Give] me a joke[.|!|, please.|]", "[Do you know|Can you tell me] [a|any] joke[s|]?", "[Say|Tell] something funny[.|!|]", "[Make|Can you make] me laugh[.|!|?]", "joke[ please|]", "[I want|I'd like] [to hear |]a joke[.|]", "A [short |funny |]joke[, please|].", "Tell [us |me |]another joke[.|]", "got any jokes?", "[Please|Can you|Could you] [tell|give] [me |us |][a|one] [good |short |funny |]joke[.|?|]", "[Let me hear|I need|Show me|Let's hear] [a|your best|some|one of your] joke[s|][.|]", "[Be funny|Amuse me|Cheer me up|I am bored|I want to laugh][.|!|]", "[Know|Do you have|Have you got] [a|any|some] [good |funny |]jokes?", "[Your best|A good|A funny|A silly|One] joke[, please|][.|!]", "[Time for|How about|What about] a joke[.|?|!]", "[Tell|Write] [me |][something|anything] [humorous|silly|that makes me laugh][.|]", "[Crack|Make|Share|Write] a [joke|pun][.|, please.|]", "[Please |]say something funny[.|]"]
POEM_ASK = ["[Write|Compose|Give me] a [haiku|short poem|poem|little poem] about {t}[.|]", "[Write|Compose] a [haiku|poem][.|]", "[Haiku|Poem] about {t}", "[Can you|Please] write a [haiku|poem] about {t}[?|.]", "A [haiku|short poem] [about|on] {t}[, please|].", "[I want|I need] a poem about {t}[.|]", "Write [some|a few] [verses|lines] [about|on] {t}[.|]", "Make a poem: {t}", "poem, {t}", "[Could|Can|Would] you [write|compose|make] [me |][a|some] [poem|haiku|verses|verse|rhyme] [about|on|for] {t}?", "[Write|Give] me a [haiku|poem|verse|short verse|little poem][ about {t}| on {t}|][.|, please.|]", "[Please |]compose [a poem|a haiku|verses|three lines|a short verse] [about|on|for] {t}[.|]", "[Describe|Praise|Sing of] {t} in [a poem|a haiku|verse|three lines|verses][.|]", "[Poetry|Haiku|Verses|A verse|A poem] [about|on|for|:] {t}[, please|][.|]", "[Be a poet|You are a poet][.|:|,] [write about|a poem about] {t}[.|]", "[I'd like|I would like|We need] a [haiku|poem|short poem] [about|on] {t}[.|]", "[Three lines|A few lines|Some lines|Some poetry] about {t}[.|, please.|]", "[Make|Create|Produce] [me |][a|one] [haiku|poem|short poem] [about|with|on] {t}[.|]", "{t}[:|,| -] [a poem|a haiku|write a haiku|make it a poem][.|, please.|]", "[Can|Could] I have a [poem|haiku] about {t}?"]
FIRST = ["The {t} waits in the {a} light,", "A {a} wind moves the {t},", "Softly comes the {t},"]
SECOND = ["the {p} is quiet and {b},", "{b} leaves fall on the {p},", "the {p} sleeps under {b} stars,"]
THIRD = ["and the day goes on.", "nothing else is heard.", "morning will return."]
CODE = {
    "adds two numbers": ("add", "a, b", "return a + b"), "subtracts two numbers": ("subtract", "a, b", "return a - b"), "multiplies two numbers": ("multiply", "a, b", "return a * b"), "squares a number": ("square", "x", "return x * x"),
    "reverses a string": ("reverse", "text", "return text[::-1]"), "returns the larger of two numbers": ("larger", "a, b", "return a if a > b else b"), "checks if a number is even": ("is_even", "n", "return n % 2 == 0"),
    "computes the factorial of a number": ("factorial", "n", "return 1 if n < 2 else n * factorial(n - 1)"), "sums a list": ("total", "values", "return sum(values)"), "says hello": ("hello", "", 'print("Hello, world!")'), "counts the words in a text": ("count_words", "text", "return len(text.split())"),
}
CODE_ASK = ["[Write|Give me|Show me|Create] a [Python |python |]function that {d}[.|]", "[Please|Can you] write a [Python |]function [that|which] {d}[?|.]", "Python function that {d}", "[How do I write|Write me] a function that {d}[?| in Python.]", "I need a Python function that {d}.", "[Code|Implement] a function that {d}[.|]", "python: a function that {d}", "Define a [Python |]function that {d}.", "function that {d}, in Python", "[Could|Can|Would] you [please |][code|implement|show me|give me] a [Python |]function that {d}?", "[Write|Show|Give me] [some |][Python |][code|Python code] that {d}[.|]", "[Write|Create|Make] a [short |small |simple |][Python |]function[, which|. It|: it] {d}[.|]", "[Implement|Program|Write] in Python: [a function that |]{d}[.|]", "[I want|I'd like|We need] a [Python |]function [which|that] {d}[.|]", "[How can I write|How would you write|How do you write] a [Python |]function that {d}?", "[Python|Code|Coding task|Programming][:| -] {d}[.|]", "[Help me write|Please write|Please code] a [Python |]function that {d}[.|]", "[A|One] [Python |]function [that|which] {d}[, please|][.|]", "[Using|With|In] Python, [write|define|implement] a function that {d}[.|]", "[Give|Show] [me |us |]the [Python |]code [for|of] a function that {d}[.|]", "def ...: a function that {d}[.|]", "[Write|Return|Output] only [the |]code[:|.| of] a function that {d}[.|]"]


def writing(g, thinking):
    """A joke, three lines of verse or a two-line function."""
    kind = g.int(0, 2)
    if kind == 0:
        return Turn(g.dress(g.rough(g.say(JOKE_ASK)), 0.1), g.pick(JOKES), "The user wants a joke. I tell a short one.", ("contains_ci", ["?"]))
    if kind == 1:
        thing = g.pick(words.PLACES + words.ANIMALS + ["autumn", "winter", "spring", "summer", "rain", "snow", "love", "the sea", "the moon"])
        user = g.dress(g.say(POEM_ASK, t=thing), 0.1)
        if thing not in user:
            thing = "moon"
        slots = {"t": thing.removeprefix("the "), "a": g.pick(words.ADJECTIVES), "b": g.pick(words.ADJECTIVES), "p": g.pick(words.PLACES)}
        lines = "\n".join(g.say(options, **slots) for options in (FIRST, SECOND, THIRD))
        return Turn(user, lines, f"The user wants verses about {thing}. I write three short lines.", ("contains_ci", [slots["t"]]))
    task = g.pick(list(CODE))
    name, parameters, body = CODE[task]
    return Turn(g.dress(g.say(CODE_ASK, d=task), 0.1), f"def {name}({parameters}):\n    {body}", f"The user wants a function that {task}.", ("contains", [f"def {name}"]))
