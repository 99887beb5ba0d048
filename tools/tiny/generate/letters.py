"""Small tasks on words and lists: lower case, letters counted and picked, ends of lists, words counted, joined and checked."""

from . import words
from .core import Turn

LOWER = ["[Write|Put|Convert|Turn|Change] {q} [in|to|into] [lower case|lowercase|small letters].", "{q} in [lower case|lowercase|small letters][.|, please.|]", "[Lowercase|lowercase|Lower]: {q}", "[Make|Please make] {q} [lower case|lowercase|small][.|]", "[Can|Could] you [write|put|convert] {q} [in|to] [lowercase|small letters]?", "[Give|Show|Return] [me |]{q} [in|as] lowercase[.|]", "[What is|What's] {q} in [lowercase|lower case]?", "[No|Without] capitals: {q}", "lower({q})", "[Use|With] [only |]small letters, write {q}[.|]"]
UPPER = ["[Write|Put|Say|Print|Give me|Type] {q} in [capitals|capital letters|upper case|uppercase|all caps|block letters|big letters][.|, please.|]", "[Capitals|In capitals|CAPS|In block letters][:|, please:] {q}", "[I want|I need] {q} in [capitals|uppercase][.|]", "[Uppercase|Capitalise|Capitalize] [this|the text|the words|the phrase]: {q}", "[Turn|Change|Make] [the text |the words |]{q} [into|to] [capitals|capital letters|uppercase][.|]", "[Shout|Yell|Scream]: {q}", "[Could|Can] you [shout|write in capitals|capitalise]: {q}", "{q} -> [UPPERCASE|capitals|upper case]", "[As|In] [uppercase|capitals|all caps], {q}[.|]"]
COUNT = ["How many letters [are in|are there in|has|does] [the word |]{q}[?| have?]", "[Count|Tell me] the [letters|number of letters] [in|of] [the word |]{q}[.|]", "[How long is|What is the length of] [the word |]{q}?", "[Number|Count] of letters in {q}[?|]", "{q}[:|,] how many letters[ is that| are there|]?", "[The word|Word] {q}[:|.] [How many letters|Number of letters|Length]?", "[Can|Could] you count the letters [in|of] {q}?", "[With how many letters|How many letters long] is {q} [written|]?", "letters in {q}?"]
WORDS = ["How many words [are in|are there in|has|does] [the sentence |the text |]{q}[?| have?]", "[Count|Tell me] the [words|number of words] [in|of] {q}[.|]", "[Number of words|Word count][:| of| in] {q}[?|]", "{q}[:|,] how many words[ is that| are there|]?", "[Can|Could] you count the words [in|of] {q}?", "words in {q}?", "[The text|Text|Sentence]: {q}. [How many words|Word count]?", "[Give|Return] the word count of {q}[.|]"]
LETTER = ["[What|Which] is the {o} letter [of|in] [the word |]{q}?", "[Give|Tell|Show] me the {o} letter of {q}[.|]", "[The |]{o} letter of {q}[?|, please.|]", "[With which|With what] letter does {q} {e}?", "{q} {e}s with [which|what] letter?", "[Which|What] letter does {q} {e} with?", "[Name|Say] the {o} letter of [the word |]{q}[.|]", "[Word|The word] {q}: [the |]{o} letter[?|]"]
ENDS = ["[What is|What's|Which is|Tell me|Give me|Name] the {o} [word|item|element|entry|one] [of|in][:| this list:| the list| these words:] {l}[?|.|]", "[Take|Pick|Return|Only|Just] the {o} [word|item|one] [of|from|in] {l}[.|]", "{l}[:|.| -] [what is|which is|give me|say|only] the {o} [one|word|item][?|.|]", "[Which|What] [word|item] [comes|stands|is] {o} [in|here:|in this list:] {l}[?|]", "the {o} of {l}[?|]", "[Sentence|Words|List|Items]: {l}. [The |]{o} [word|item][?|, please.|]", "[Look at|Given|Here is] [the list |]{l}[.|;|,] [Name|Say|Tell me] the {o} [one|word|item][.|]", "[Repeat|Say|Write] only the {o} [word|item] of {l}[.|]", "[I want|I need] the {o} [word|item] of {l}[.|]", "[From|Of|Out of] {l}[,| -] the {o} [one|word|item][.|?|, please.]"]
BACK = ["[List|Say|Write|Give|Name|Read|Repeat] [them|these|the words|the items] [backwards|in reverse|in reverse order|from back to front|from the last to the first|starting with the last]: {l}", "{l} [backwards|in reverse|reversed|the other way round][, please|][.|]", "[Now |]the other way [round|around]: {l}", "[Turn|Flip] the order [of|around:] {l}[.|]", "[Reverse|Invert] {l}[.|]", "[From back to front|From end to start|Last one first|In opposite order]: {l}", "[What is|Tell me] {l} [backwards|in reverse order]?", "[Output|Return] [the list |the words |]reversed: {l}", "[Mirror|Swap] the order of {l}[.|]", "[Start|Begin] [from|at] the [end|back]: {l}"]
HAS = ["[Does|Do] {l} contain {x}?", "Is {x} [in|part of|one of|among] {l}?", "[Is|Can you find] {x} in [the list |]{l}?", "[The list|List]: {l}. [Is {x} in it|Does it contain {x}|Is {x} there]?", "[Check|Tell me|Say] [if|whether] {x} is [in|among] {l}[.|]", "[Do you see|Can you see] {x} in {l}?", "{l}[:|.] [Is {x} there|{x} included|{x}, yes or no]?", "[Yes or no|True or false]: {x} is [in|among] {l}[.|?|]"]
JOIN = ["[Join|Connect|Combine|Put together|Concatenate] {l} with {s}[.|]", "[Write|Give me] {l} [joined|connected|separated] by {s}[.|]", "[Put|Place] {s} between [the words|these words|these]: {l}", "{l} [joined|connected] with {s}[.|, please.|]", "[Make one|Make a] line of {l} with {s} between[.|]", "[Join|Glue] [these|the words][:|] {l}. [Use {s}|Separator: {s}][.|]", "join({l}) with {s}", "[Link|Chain] {l} [by|with|using] {s}[.|]"]
SIGNS = {"a dash": "-", "dashes": "-", "underscores": "_", "an underscore": "_", "a slash": "/", "commas": ",", "a plus": "+", "dots": ".", "a hyphen": "-"}
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth"]


def quoted(g, text):
    """The text bare or between marks."""
    return g.pick(["{}", "{}", '"{}"', "'{}'", "'{}'", "“{}”", "`{}`"]).format(text)


def item(g):
    """A common word: a colour, an animal, a thing, a name or any other."""
    return g.pick([g.pick(words.COLOURS), g.pick(words.ANIMALS), g.pick(words.THINGS), g.pick(words.NAMES), g.pick(words.ENGLISH), words.word(g), g.pick(words.ADJECTIVES), g.pick(words.PLACES)])


def phrase(g):
    """One to four common words."""
    return g.pick(["good morning", "hello world", "thank you", "good night", "happy birthday", "hello there", "see you soon", "see you later", "stop here", "well done"]) if g.chance(0.2) else " ".join(item(g) for _ in range(g.int(1, 4)))


def listed(g, low=2, high=6):
    """(items, how they are shown)."""
    items = list(dict.fromkeys(item(g) for _ in range(g.int(low, high))))
    return items, g.pick([", ", ", ", " ", "; ", " / ", " and "]).join(items)


def cased(g, upper):
    """A text in the other case."""
    text = phrase(g)
    if upper:
        return Turn(g.dress(g.say(UPPER, q=quoted(g, text)), 0.1), text.upper(), "I write it in upper case.", ("contains", [text.upper()]))
    given = g.pick([text.upper(), text.upper(), text.title()])
    return Turn(g.dress(g.say(LOWER, q=quoted(g, given)), 0.1), text.lower(), "I write it in lower case.", ("contains", [text.lower()]))


def counted(g):
    """Letters of a word or words of a text."""
    if g.chance(0.5):
        text = g.pick([g.pick(words.ANIMALS), g.pick(words.THINGS), g.pick(words.COLOURS), g.pick(words.PLACES)])
        spelt = " ".join(f"{letter}{index + 1}" for index, letter in enumerate(text.upper()))
        return Turn(g.say(COUNT, q=quoted(g, text)), f"{text} has {len(text)} letters.", f"I count: {spelt}. That is {len(text)}.", ("number", len(text)))
    items = [item(g) for _ in range(g.int(2, 7))]
    shown = quoted(g, " ".join(items))
    count = len(" ".join(items).split())
    numbered = " ".join(f"{word}{index + 1}" for index, word in enumerate(" ".join(items).split()))
    return Turn(g.say(WORDS, q=shown), f"There are {count} words.", f"I count: {numbered}. That is {count}.", ("number", count))


def ends(g):
    """A letter of a word or an item of a list."""
    if g.chance(0.35):
        text, last = item(g).lower(), g.chance(0.5)
        user = g.say(LETTER, q=quoted(g, text), o="last" if last else "first", e="end" if last else "start")
        letter = (text[-1] if last else text[0]).upper()
        return Turn(user, letter, f"The {'last' if last else 'first'} letter of {text} is {letter}.", ("contains", [letter]))
    items, shown = listed(g)
    index = g.pick([0, len(items) - 1, len(items) - 1, g.int(0, len(items) - 1)])
    ordinal = "last" if index == len(items) - 1 and (index > 5 or g.chance(0.7)) else ORDINALS[min(index, 5)]
    return Turn(g.say(ENDS, o=ordinal, l=shown), items[index], f"The {ordinal} item is {items[index]}.", ("contains", [items[index]]))


def letters(g, thinking):
    """One of the tasks."""
    kind = g.pick(["lower", "upper", "upper", "count", "ends", "ends", "back", "has", "join"])
    if kind in ("lower", "upper"):
        return cased(g, kind == "upper")
    if kind == "count":
        return counted(g)
    if kind == "ends":
        return ends(g)
    items, shown = listed(g)
    if kind == "back":
        answer = ", ".join(reversed(items))
        return Turn(g.say(BACK, l=shown), answer, "I list the items from last to first.", ("contains", [answer]))
    if kind == "has":
        other = item(g)
        sought = g.pick(items) if g.chance(0.5) or other in items else other
        inside = sought in items
        return Turn(g.say(HAS, l=shown, x=sought), f"Yes, {sought} is in the list." if inside else f"No, {sought} is not in the list.", f"I look for {sought} among {', '.join(items)}.", ("starts", "Yes" if inside else "No"))
    sign = g.pick(list(SIGNS))
    answer = SIGNS[sign].join(items)
    return Turn(g.say(JOIN, l=shown, s=sign), answer, f"I join the words with {SIGNS[sign]}.", ("contains", [answer]))
