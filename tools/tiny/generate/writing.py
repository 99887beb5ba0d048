"""Small pieces that are known by heart: jokes, short poems and lines of code."""

from . import words
from .core import Turn

JOKES = [
    "Why did the bicycle fall over? It was two tired.", "What do you call a bear with no teeth? A gummy bear.", "Why do bees have sticky hair? They use honeycombs.", "What did one wall say to the other? I will meet you at the corner.",
    "Why was the math book sad? It had too many problems.", "What do you call a sleeping bull? A bulldozer.", "Why did the scarecrow win a prize? He was outstanding in his field.", "What kind of tree fits in your hand? A palm tree.",
]
JOKE_ASK = ["[Tell|Give] me a joke[.|!|, please.|]", "[Do you know|Can you tell me] [a|any] joke[s|]?", "[Say|Tell] something funny[.|!|]", "[Make|Can you make] me laugh[.|!|?]", "joke[ please|]", "[I want|I'd like] [to hear |]a joke[.|]", "A [short |funny |]joke[, please|].", "Tell [us |me |]another joke[.|]", "got any jokes?"]
POEM_ASK = ["[Write|Compose|Give me] a [haiku|short poem|poem|little poem] about {t}[.|]", "[Write|Compose] a [haiku|poem][.|]", "[Haiku|Poem] about {t}", "[Can you|Please] write a [haiku|poem] about {t}[?|.]", "A [haiku|short poem] [about|on] {t}[, please|].", "[I want|I need] a poem about {t}[.|]", "Write [some|a few] [verses|lines] [about|on] {t}[.|]", "Make a poem: {t}", "poem, {t}"]
FIRST = ["The {t} waits in the {a} light,", "A {a} wind moves the {t},", "Softly comes the {t},"]
SECOND = ["the {p} is quiet and {b},", "{b} leaves fall on the {p},", "the {p} sleeps under {b} stars,"]
THIRD = ["and the day goes on.", "nothing else is heard.", "morning will return."]
CODE = {
    "adds two numbers": ("add", "a, b", "return a + b"), "subtracts two numbers": ("subtract", "a, b", "return a - b"), "multiplies two numbers": ("multiply", "a, b", "return a * b"), "squares a number": ("square", "x", "return x * x"),
    "reverses a string": ("reverse", "text", "return text[::-1]"), "returns the larger of two numbers": ("larger", "a, b", "return a if a > b else b"), "checks if a number is even": ("is_even", "n", "return n % 2 == 0"),
    "computes the factorial of a number": ("factorial", "n", "return 1 if n < 2 else n * factorial(n - 1)"), "sums a list": ("total", "values", "return sum(values)"), "says hello": ("hello", "", 'print("Hello, world!")'), "counts the words in a text": ("count_words", "text", "return len(text.split())"),
}
CODE_ASK = ["[Write|Give me|Show me|Create] a [Python |python |]function that {d}[.|]", "[Please|Can you] write a [Python |]function [that|which] {d}[?|.]", "Python function that {d}", "[How do I write|Write me] a function that {d}[?| in Python.]", "I need a Python function that {d}.", "[Code|Implement] a function that {d}[.|]", "python: a function that {d}", "Define a [Python |]function that {d}.", "function that {d}, in Python"]


def writing(g, thinking):
    """A joke, three lines of verse or a two-line function."""
    kind = g.int(0, 2)
    if kind == 0:
        return Turn(g.rough(g.say(JOKE_ASK)), g.pick(JOKES), "The user wants a joke. I tell a short one.", ("contains_ci", ["?"]))
    if kind == 1:
        thing = g.pick(words.PLACES + words.ANIMALS + ["autumn", "winter", "spring", "summer", "rain", "snow", "love", "the sea", "the moon"])
        user = g.say(POEM_ASK, t=thing)
        if thing not in user:
            thing = "moon"
        slots = {"t": thing.removeprefix("the "), "a": g.pick(words.ADJECTIVES), "b": g.pick(words.ADJECTIVES), "p": g.pick(words.PLACES)}
        lines = "\n".join(g.say(options, **slots) for options in (FIRST, SECOND, THIRD))
        return Turn(user, lines, f"The user wants verses about {thing}. I write three short lines.", ("contains_ci", [slots["t"]]))
    task = g.pick(list(CODE))
    name, parameters, body = CODE[task]
    return Turn(g.say(CODE_ASK, d=task), f"def {name}({parameters}):\n    {body}", f"The user wants a function that {task}.", ("contains", [f"def {name}"]))
