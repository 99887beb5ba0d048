"""More word problems: things that break, come and go, are compared, doubled, shared, or counted by the legs."""

from . import words
from .numbers import add_steps, divide_steps, multiply_steps, subtract_steps

GOOD = "eggs cookies apples oranges books balloons pencils coins cups plates marbles stamps candles flowers tickets bottles chairs toys shells stickers cards buttons sweets muffins letters photos keys stones lamps hats".split()
BEINGS = "birds ducks sheep cows fish children passengers people cats dogs frogs students guests players visitors horses goats rabbits chickens pigs".split()
HOLDER = "basket|box|bag|bowl|drawer|jar|crate|shelf|garden|room|shop|truck|table|kitchen|tin|cupboard".split("|")
AREA = "pond|farm|bus|train|room|park|field|classroom|zoo|team|boat|stable|hall|library|club|garden".split("|")
LEGS = {"dog": 4, "cat": 4, "horse": 4, "spider": 8, "bird": 2, "ant": 6, "cow": 4, "chicken": 2, "bee": 6, "chair": 4, "table": 4, "duck": 2, "sheep": 4}
WHEELS = {"car": 4, "bicycle": 2, "tricycle": 3, "motorbike": 2, "wagon": 4}
TEAR = ["{b} of them [break|are broken|fall down|are lost|are sold|are eaten|disappear|are stolen|are taken out|are given away|go missing|are thrown away|are used up]", "{b} [break|get lost|are sold|are eaten|are removed|are taken away|vanish|are stolen]", "[somebody|a friend|{x}|a child|a thief] [takes|removes|steals|eats|buys|borrows|carries away] {b}[ of them|]", "[a dog eats|the wind blows away|a mouse takes|mother removes|the teacher collects] {b}", "{x} [uses|breaks|loses|sells|eats|burns|drops|throws away|gives away|donates|mails|hides] {b}[ of them|]"]
GROW = ["{b} [more|others|new ones] are [added|put in|bought|found|brought|delivered|placed there]", "[somebody|a friend|{x}|a child] [adds|brings|puts in|buys|finds|delivers|makes|bakes] {b} [more|others|new ones]", "{x} [gets|receives|collects|wins|picks|finds|buys|adopts] {b} [more|others|on top|in addition]", "then {b} [more|others] [arrive|come|are added]"]
LEAVE = ["{b} [of them |][leave|go away|fly away|run away|go home|get off|get out|walk out|fall asleep and leave|are sold|swim away]", "then {b} [leave|go|get off|go home|disappear]", "{b} [have to go|are picked up|move away]"]
COME = ["{b} [more|others|new ones] [come|arrive|join|get on|enter|appear|are born|move in]", "then {b} [more|others] [come|arrive|join them|get in|enter]", "{b} [more|others] [join them|come along|are added]"]
REMAIN = ["How many [{t} |][are|remain|stay|are still there|do remain|are left]?", "How many {t} are [left|left now|there now|still there]?", "How many [are left|remain]?", "[What|How much] [is left|remains]?", "How many [whole |good |]{t} [are left|remain]?", "[Now how many {t} are there|How many does that leave]?"]
TOTAL = ["How many {t} are there [now|in total|altogether|in all|then]?", "How many [now|in all|altogether]?", "[What is|What's] the [total|new number|total number of {t}]?", "How many {t} is that[ in total| altogether|]?", "[Now how many {t} are there|How many are there now|How many are there]?"]
OWN = ["How many {t} does {x} [have|own|have now|own now|have left|end up with]?", "How many {t} [has {x} got|are {x}'s] now?", "How many does {x} have [now|in the end|then]?"]
SET = ["{There} {are} {a} {t} in [a|the] {h}", "[A|The] {h} [holds|contains|has] {a} {t}", "In [a|the] {h} [there are|are|I see|you find] {a} {t}", "{a} {t} are in [a|the] {h}", "[We|They|I] [count|have|see|keep] {a} {t} in the {h}"]


def change(g):
    """Something in a place grows or shrinks."""
    beings = g.chance(0.4)
    thing, place = g.pick(BEINGS if beings else GOOD), g.pick(AREA if beings else HOLDER)
    a, lose = g.int(2, g.pick([12, 30, 99])), g.chance(0.5)
    b = g.int(1, a) if lose else g.int(1, g.pick([9, 30, 60]))
    first = g.say(SET, There="There", are=g.pick(["are", "are", "were"]), a=a, t=thing, h=place)
    second = g.say((LEAVE if beings else TEAR) if lose else (COME if beings else GROW), b=b, x=g.pick(words.NAMES))
    ask = g.say(REMAIN if lose else TOTAL, t=thing)
    user = g.pick([f"{first}. {second[:1].upper() + second[1:]}. {ask}", f"{first} and {second}. {ask}", f"{first}, {second}. {ask}", f"If {first[:1].lower() + first[1:]} and {second}, {ask[:1].lower() + ask[1:]}"])
    if lose:
        return user, subtract_steps(a, b), f"At the start there are {a} {thing}. After taking away {b}, {a} - {b} = {a - b}. So {a - b} are left.", a - b
    return user, add_steps(a, b), f"At the start there are {a} {thing}. Adding {b} gives {a} + {b} = {a + b}. So there are {a + b} now.", a + b


HAVE_LOSS = ["[gives|hands|passes|sends|lends|sells] {b} to {y}", "[gives|hands|sends|lends|sells] {y} {b}", "[eats|loses|breaks|drops|uses|sells|spoils|forgets|throws away|gives away|donates|burns] {b}[ of them|]", "[gives|gave] {b} away"]
HAVE_GAIN = ["[buys|gets|finds|receives|wins|adopts|collects|picks|makes|earns|catches|bakes] {b} [more|others|more of them|]", "[gets|receives|takes|borrows] {b} from {y}", "then [buys|gets|finds|adopts] {b} more", "is [given|handed|sent] {b} [more|by {y}|]"]


def owner(g):
    """A person with things: one or two changes."""
    x, y, thing = words.name(g), g.pick(words.NAMES), g.pick(GOOD + BEINGS[:6])
    total = g.int(2, g.pick([12, 30, 99]))
    start, sentences, steps, visible = total, [], [], []
    for _ in range(g.pick([1, 1, 2, 2, 3])):
        lose = g.chance(0.5) and total > 1
        b = g.int(1, min(total - 1, 40)) if lose else g.int(1, g.pick([9, 20, 50]))
        sentences.append(g.say(HAVE_LOSS if lose else HAVE_GAIN, b=b if b > 1 or g.chance(0.4) else "one", y=y))
        steps.append(subtract_steps(total, b) if lose else add_steps(total, b))
        visible.append(f"{total} {'-' if lose else '+'} {b} = {total - b if lose else total + b}")
        total += -b if lose else b
    opening = g.say(["{x} [has|had|owns|owned|keeps|starts with|begins with|got|carries] {a} {t}", "{x} has {a} {t}", "[Here is|Meet] {x}, the owner of {a} {t}"], x=x, a=start, t=thing)
    pronoun = g.pick(["He", "She", x, "Then he", "Then she", f"Then {x}"])
    middle = g.pick([", ", " and ", ". " + g.pick(["Then ", "Later ", "After that, "]) + g.pick(["he ", "she ", x + " "])]).join(sentences)
    user = g.pick([f"{opening}. {pronoun} {middle}.", f"{opening}, then {middle}.", f"{opening} and {middle}."]) + " " + g.say(OWN, x=x, t=thing)
    return user, "; ".join(steps), f"{x} starts with {start} {thing}. " + " Then ".join(f"{one}." for one in visible) + f" So {x} has {total} {thing}.", total


def both(g):
    """Two people together, or how many more one has."""
    x, y, thing = words.name(g), g.pick(words.NAMES), g.pick(GOOD)
    a, b = g.int(1, 60), g.int(1, 60)
    opening = g.say(["{x} has {a} {t} and {y} has {b}[ {t}|].", "{x} [owns|collected|found|bought] {a} {t}[,|;] {y} [owns|collected|found|bought] {b}.", "{x} has {a} {t}. {y} has {b}."], x=x, y=y, a=a, b=b, t=thing)
    if g.chance(0.6):
        user = opening + g.say([" How many [{t} |]do they have [together|in total|altogether|in all]?", " [What is the total|How many is that together]?", " How many {t} are [there|that] [in total|altogether]?"], t=thing)
        return user, add_steps(a, b), f"{x} has {a} and {y} has {b}. {a} + {b} = {a + b}, so together they have {a + b} {thing}.", a + b
    more, less, high, low = (x, y, max(a, b), min(a, b)) if a >= b else (y, x, max(a, b), min(a, b))
    user = opening + g.say([" How many more [{t} |]does {m} have than {l}?", " How many [{t} |]more has {m} than {l}?", " How many fewer does {l} have than {m}?"], m=more, l=less, t=thing)
    return user, subtract_steps(high, low), f"{more} has {high} and {less} has {low}. {high} - {low} = {high - low}, so the difference is {high - low} {thing}.", high - low


def factors(g):
    """So many each, legs and wheels, per day, doubles."""
    a, b, thing, x = g.int(2, 12), g.int(2, 12), g.pick(GOOD), words.name(g)
    kind = g.int(0, 4)
    if kind == 0:
        table, part = g.pick([(LEGS, "legs"), (WHEELS, "wheels")])
        being = g.pick(list(table))
        each = table[being]
        plural = "sheep" if being == "sheep" else being + "s"
        user = g.say(["How many {p} do {n} {t} have[ altogether| in total|]?", "{n} {t} have how many {p}?", "There are {n} {t}. How many {p} [is that|are there|do they have]?"], p=part, n=a, t=plural)
        return user, multiply_steps(a, each), f"One {being} has {each} {part}. {a} * {each} = {a * each}, so {a} {plural} have {a * each} {part}.", a * each
    if kind == 1:
        unit, whole = g.pick([("day", "days"), ("hour", "hours"), ("week", "weeks"), ("minute", "minutes"), ("month", "months")])
        user = g.say(["{x} [reads|makes|sells|bakes|saves|collects|writes|finds|buys] {n} {t} [every|each|a|per] {u}. How many [{t} |]is that in {k} {w}?", "{x} [reads|makes|sells|bakes|collects] {n} {t} [a|per|each] {u}. How many {t} [in|after] {k} {w}?", "At {n} {t} per {u}, how many {t} [does {x} get|are there|is that] in {k} {w}?"], x=x, n=a, t=thing, u=unit, k=b, w=whole)
        return user, multiply_steps(b, a), f"In one {unit} it is {a} {thing}. {b} * {a} = {a * b}, so in {b} {whole} it is {a * b} {thing}.", a * b
    if kind == 2:
        money = g.pick(["dollars", "euros", "cents", "coins", "pounds"])
        one = thing[:-1]
        user = g.say(["[A|One|Each] {o} costs {n} {m}. [What do|How much do|What is the price of] {k} {t}[ cost|]?", "What do {k} {t} cost [if|when] one costs {n} {m}?", "{k} {t} at {n} {m} each[:|,] [how much is that|what is the total|what do I pay]?", "The price of a {o} is {n} {m}. How much are {k} {t}?"], o=one, n=a, m=money, k=b, t=thing)
        return user, multiply_steps(b, a), f"One costs {a} {money}. {b} * {a} = {a * b}, so {b} {thing} cost {a * b} {money}.", a * b
    if kind == 3:
        group = g.pick(["kids", "children", "friends", "people", "boxes", "plates", "bags", "students", "families"])
        user = g.say(["{n} {t} are [shared|split|divided|distributed] [equally |evenly |fairly |]by {k} {g}. How many [{t} |][for each|per one|does each get|each]?", "{k} {g} [share|split|divide] {n} {t} [equally|evenly|fairly]. How many [{t} |]does each [get|have|receive]?", "[I have|We have|There are] {n} {t} for {k} {g}. How many [{t} |]for each?", "{n} {t} go into {k} {g} [equally|evenly]. How many [{t} |]in each?"], n=a * b, t=thing, k=b, g=group)
        return user, divide_steps(a * b, b), f"There are {a * b} {thing} for {b} {group}. {a * b} / {b} = {a}, so each gets {a}.", a
    y = g.pick(words.NAMES)
    times, word = g.pick([(2, "twice as many"), (2, "double the number of"), (3, "three times as many"), (4, "four times as many")])
    user = g.say(["{x} has {n} {t}. {y} has {w} {t}[ as {x}|]. How many [{t} |]does {y} have?", "{y} has {w} {t} as {x}, who has {n}. How many does {y} have?"], x=x, y=y, n=a, t=thing, w=word)
    return user, multiply_steps(a, times), f"{x} has {a}. {y} has {times} times as many, so {a} * {times} = {a * times} {thing}.", a * times


def goal(g):
    """What is still missing."""
    x, thing = words.name(g), g.pick(GOOD)
    b = g.int(2, 90)
    a = g.int(1, b - 1)
    user = g.say(["{x} [needs|wants|must collect|wants to sell] {b} {t} and [has|already has|has got] {a}. How many [more |]{t} [are missing|does {x} still need|are still needed|must {x} get]?", "A book has {b} pages. {x} has read {a}. How many pages are left?", "{x} [has walked|has driven|went] {a} of {b} kilometers. How [far|many kilometers] [is|are] left?", "Of {b} {t}, {a} are [done|red|sold|old]. How many are not?"], x=x, a=a, b=b, t=thing)
    return user, subtract_steps(b, a), f"The goal is {b} and {a} are there. {b} - {a} = {b - a}, so {b - a} are missing.", b - a


KINDS = [change, change, change, owner, owner, owner, both, factors, factors, goal]
