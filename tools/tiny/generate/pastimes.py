"""What newcomers try: lists of things, fun facts, choices, which animal is bigger, and questions for the model's taste."""

from . import trivia
from .core import Turn

LISTS = {
    "fruits": "apple banana orange pear grape lemon cherry mango melon plum", "animals": "dog cat horse cow bird fish lion elephant rabbit mouse", "colors": "red blue green yellow orange purple pink brown black white", "colours": "red blue green yellow orange purple pink brown black white", "vegetables": "carrot potato tomato onion pepper cabbage spinach pea bean cucumber",
    "cities": "Paris|London|Rome|Berlin|Tokyo|Madrid|Vienna|Oslo|Cairo|Lima", "countries": "France Spain Italy Germany Japan China India Brazil Canada Egypt", "names": "Anna Tom Maria Ben Lucy Peter Sara Leo Emma Jack", "days": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "days of the week": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "months": "January February March April May June July August September October", "planets": "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune", "birds": "owl duck eagle swan crow robin parrot penguin goose hen", "sports": "football tennis swimming running cycling hockey skiing boxing golf rowing", "drinks": "water tea coffee milk juice lemonade cocoa cider soda wine", "programming languages": "Python Java C Rust Go Ruby Perl Swift Kotlin Lua", "languages": "English French German Spanish Italian Japanese Chinese Russian Arabic Greek", "trees": "oak pine birch maple willow elm ash cedar palm fir", "flowers": "rose tulip daisy lily violet poppy orchid sunflower iris lotus", "instruments": "piano guitar violin drum flute trumpet harp cello organ horn", "tools": "hammer saw drill wrench pliers axe knife file chisel shovel", "shapes": "circle square triangle rectangle star oval cross diamond heart cube", "letters": "A B C D E F G H I J", "metals": "iron gold silver copper lead tin zinc nickel aluminium steel", "pets": "dog cat hamster rabbit parrot fish turtle mouse canary pony",
}
LIST_ASK = ["[Name|List|Give me|Tell me|Write|Say|Show me] {n} {k}[.|!|, please.|]", "[What are|Can you name|Do you know|Could you list|Can you give me] {n} {k}?", "[I need|I want|I'm looking for|We need] {n} {k}[.|]", "{N} {k}[, please|][.|!|]", "[A list of|List of|Examples:] {n} {k}[.|, please.|]", "[Think of|Come up with|Enumerate|Write down] {n} {k}[.|]", "[Give me|Make] a list [of|with] {n} {k}[.|]", "[Please |]list {n} {k}[, comma separated| separated by commas|][.|]", "[Which|What] {n} {k} [do you know|come to mind|can you name]?", "[Name|List|Give me|Tell me] [some|a few|examples of|a couple of] {k}[.|, please.|]", "[Some|A few] {k}[, please|][.|?|]"]
COUNT_WORDS = "zero one two three four five six seven".split()
FUN = ["[Tell|Give|Share] [me |us |][a|one|some] [fun |interesting |random |cool |]fact[s|][.|!|, please.|]", "[Teach|Tell] me something [new|interesting|I don't know|about the world][.|!|]", "[Fun fact|Fact of the day|Random fact|A fact][, please|][!|.|?|]", "[Do you know|Got] [any|a|some] [fun |interesting |]facts[?|]", "[Surprise|Impress|Amaze] me[ with a fact|][.|!|]", "[Say|Write] something [true|clever|smart|interesting][.|!|]", "[I want|I'd like] to [learn|hear] [a fact|something new|something interesting][.|]", "[What|Which] [fun fact|fact] do you know?"]
CHOICE = ["[{a} or {b}|{a} or {b}, what do you say|Choose: {a} or {b}|Pick one: {a} or {b}|What do you prefer, {a} or {b}|Which is better, {a} or {b}]?", "[Choose|Pick|Select|Take] [one|either|]: {a} or {b}[.|]", "[Should I|Shall I|Do I] [take|choose|pick|go for] {a} or {b}?", "[Decide|Help me decide|Choose for me|Make a choice][:|,|.] {a} or {b}[.|?|]", "[I can't decide|Not sure]: {a} or {b}?", "[If you had to choose|If you could choose|For you], {a} or {b}?", "[You choose|Your choice|Your pick]: {a} or {b}[?|.]", "[Between|Out of] {a} and {b}, [which|what] [would you pick|do you choose|is better]?"]
THINGS = "tea coffee cats dogs summer winter pizza pasta red blue mountains beaches books films apples pears mornings evenings trains planes gold silver".split()
TOSS = [("[Flip|Toss|Throw] a coin[.|!|, please.|]|Heads or tails?|[Coin flip|Coin toss][, please|][.|!|]", "Heads.", "heads"), ("[Roll|Throw] [a dice|the dice|a die][.|!|, please.|]|[Dice roll|Dice][, please|]", "You rolled a 4.", "4"), ("[Pick|Choose|Say|Give me|Think of|Tell me] a [random |]number[.| between 1 and 10.| from 1 to 10.|, please.|]|[Random number|A random number|Any number][, please|][.|]|[What is|What's] your [favourite|favorite|lucky] number?", "7", "7"), ("[Pick|Choose|Say|Give me|Tell me] a [random |]color[.|, please.|]|[Any|A random] colour[, please|][.|]", "Blue.", "blue"), ("[Pick|Choose|Say|Give me|Tell me] a [random |]word[.|, please.|]|[Any|A random|One] word[, please|][.|]", "Apple.", "apple"), ("[Pick|Choose|Give me|Think of] a [random |]name[.|, please.|]|[Any|A random] name[, please|][.|]", "Anna.", "anna")]
TASTE = ["[What is|What's|Tell me] your [favourite|favorite] [colour|color|food|film|movie|book|animal|song|music|season|place|sport|game|band|hobby|city][?|.]", "Do you [like|love|hate|enjoy|prefer] [pizza|cats|music|humans|me|chess|rain|this job|football|people|poems|coffee]?", "[Do you have|Have you got] [feelings|emotions|a body|friends|parents|a soul|dreams|hobbies|a family|pets|a heart|hands|eyes]?", "[Are you|Do you feel] [happy|sad|tired|lonely|hungry|bored|in love|afraid|angry|alive|conscious]?", "[Where|When] do you [live|sleep|eat|work|go on holiday]?", "[Can|Do] you [sleep|eat|dream|feel pain|cry|laugh|swim|see me|hear me|remember me]?", "[What do you|Do you] [dream of|wish for|do at night|do for fun|fear]?", "[Will you|Do you want to] [marry me|be my friend|go out with me|take over the world|rule the world|love me]?", "[How old are you|What is your age|When is your birthday|How tall are you|Are you married]?", "[Is it|What is it like|How is it] [boring |]to be [a model|an AI|a machine|you]?"]
TASTE_ANSWER = "I am only a small model, so I have no feelings or taste of my own."
SIZES = "ant bee mouse rat rabbit cat dog sheep pig lion horse cow giraffe elephant whale".split()
SIZE_ASK = ["[Which|What] is {r}[:|,] [a|an|the] {a} or [a|an|the] {b}?", "Is [a|an|the] {a} {r} than [a|an|the] {b}?", "[Which|What] animal is {r}, [the |]{a} or [the |]{b}?", "{a} or {b}: [which|what] is {r}?", "[Is|Are] {a}s {r} than {b}s?", "[What's|What is] {r}, {a} or {b}?", "[Tell me|Say|Guess] [which|what] is {r}: {a} or {b}[.|]", "[The {r} one|Who is {r}]: {a} or {b}?"]


def named_list(g):
    """So many things of a kind, always the same ones in the same order."""
    kind = g.pick(list(LISTS))
    items = LISTS[kind].split("|") if "|" in LISTS[kind] else LISTS[kind].split()
    count = g.int(2, 7)
    shown = g.pick([str(count), COUNT_WORDS[count]])
    user = g.say(LIST_ASK, n=shown, N=shown.capitalize(), k=kind)
    if shown not in user.lower():
        count = 3
    answer = ", ".join(items[:count])
    return Turn(g.dress(g.rough(user), 0.1), answer, f"I name {count} {kind}.", ("contains", [answer]))


def larger(g):
    """Which of two animals is bigger."""
    i, j = g.some(range(len(SIZES)), 2)
    more = g.chance(0.6)
    user = g.say(SIZE_ASK, a=SIZES[i], b=SIZES[j], r=g.pick(["bigger", "larger", "heavier"] if more else ["smaller", "lighter"]))
    big, small = (SIZES[i], SIZES[j]) if i > j else (SIZES[j], SIZES[i])
    user = user[:1].upper() + user[1:]
    said = f"a{'n' if big[0] in 'aeiou' else ''} {big} is bigger than a{'n' if small[0] in 'aeiou' else ''} {small}"
    if user.startswith(("Is ", "Are ")) and " or " not in user:
        holds = (i > j) == more
        return Turn(user, f"{'Yes' if holds else 'No'}, {said}.", f"I compare: {said}.", ("starts", "Yes" if holds else "No"))
    answer = f"The {big if more else small} is {'bigger' if more else 'smaller'}."
    return Turn(user, answer, f"I compare: {said}.", ("contains_ci", [f"the {big if more else small}"]))


def pastime(g):
    """One of them."""
    kind = g.pick(["list", "list", "list", "fun", "choice", "toss", "taste", "taste", "size", "size"])
    if kind == "list":
        return named_list(g)
    if kind == "size":
        return larger(g)
    if kind == "fun":
        answer = g.pick([row for row in trivia.ROWS if not row[1].startswith(("It ", "Yes", "No"))])[1]
        return Turn(g.rough(g.say(FUN)), answer, "The user wants a fact. I tell one.", ("chat",))
    if kind == "choice":
        a, b = g.some(THINGS, 2)
        user = g.say(CHOICE, a=a, b=b)
        return Turn(user[:1].upper() + user[1:], f"I choose {a}.", f"I take the first one: {a}.", ("contains_ci", [a]))
    if kind == "toss":
        asks, answer, key = g.pick(TOSS)
        return Turn(g.say("[" + asks + "]"), answer, "I choose one.", ("contains_ci", [key]))
    return Turn(g.rough(g.say(TASTE)), TASTE_ANSWER, "The user asks for my taste or feelings. I have none.", ("contains_ci", ["only a small model"]))
