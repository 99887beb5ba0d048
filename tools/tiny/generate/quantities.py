"""Sums asked with verbs, yes-or-no comparisons, and numbers put in order."""

from .core import Turn

ADD = ["[Add|Sum|Add up|Sum up] {a} and {b}[.|, please.|]", "[Can|Could|Would] you [add|sum|add up] {a} and {b}[ for me|]?", "[Add|Put] {b} to {a}[.|]", "[What is|What's] {a} and {b} [together|in total|added|combined]?", "[What do|How much do] {a} and {b} [make|give|add up to|come to]?", "{a} [increased by|raised by|and another|and] {b}[ is|?| makes what?]", "[What number is|What is] {b} more than {a}?", "[Start with|Take|Begin at] {a} and add {b}[.|. What do you get?]", "[The sum|The total|Sum|Total] of {a} and {b}[, please|?|.|]", "[I have to|Help me] add {a} and {b}[.|]", "Increase {a} by {b}[.|]"]
SUBTRACT = ["[Subtract|Take|Remove|Deduct] {b} from {a}[.|, please.|. What remains?|. What is left?|]", "[Take|Subtract] {b} away from {a}[.|. What is left?|]", "[Can|Could|Would] you [subtract|take] {b} from {a}[ for me|]?", "[What is|What's] left of {a} [when|if] [you|I] take away {b}?", "[What is|What's|How much is] {a} less {b}?", "{a} [reduced by|decreased by|without|lowered by|minus] {b}[ is|?| makes what?]", "[What number is|What is] {b} less than {a}?", "[The difference|Difference] [of|between] {a} and {b}[, please|?|.|]", "[Start with|Take|Begin at] {a} and [remove|subtract|take off] {b}[.|. What do you get?]", "Decrease {a} by {b}[.|]", "How much bigger is {a} than {b}?", "How much must I add to {b} to get {a}?"]
MULTIPLY = ["[Multiply|Times] {a} by {b}[.|, please.|]", "[Multiply|Take the product of] {a} and {b}[.|]", "[Can|Could|Would] you multiply {a} [by|with|and] {b}[ for me|]?", "[The product|Product] of {a} and {b}[, please|?|.|]", "[What is|What's] {a} [multiplied with|multiplied by|times] {b}?", "[How much is|What is] {b} [lots of|sets of|groups of] {a}?", "{a} taken {b} times[?| is| makes what?]", "[Please |]compute {a} times {b}[.|]", "[I need|I want] the product of {a} and {b}[.|]"]
DIVIDE = ["[Divide|Split] {a} [by|into] {b}[ equal parts|][.|, please.|]", "[Can|Could|Would] you divide {a} by {b}[ for me|]?", "[The quotient|Quotient] of {a} and {b}[, please|?|.|]", "[What is|What's] {a} [divided by|over|split into] {b}?", "How [often|many times] does {b} [fit into|go into] {a}?", "[Divide|Share] {a} [among|between|by] {b}[.|]", "{a} [shared by|divided among|in] {b} [equal parts|][?|.]", "[I need|I want] {a} divided by {b}[.|]", "[Please |]compute {a} divided by {b}[.|]"]
TWICE = {2: ["double", "twice", "two times"], 3: ["triple", "three times"]}
SHARE = {2: ["half", "one half", "50 percent"], 4: ["a quarter", "one fourth", "a fourth"], 3: ["a third", "one third"], 10: ["a tenth", "one tenth", "10 percent"]}


POWER = ["[What is|What's|How much is|Compute|Calculate] {a} [to the power of|raised to] {b}[?|.|]", "{a}^{b}[?| = ?|]", "{a}**{b}[?|]", "[What is|Compute] {a} to the power {b}[?|.]", "{a} to power of {b}[?|]"]
SQUARE = ["[What is|What's|How much is] {a} squared?", "[What is|What's|Compute|Tell me] the square of {a}[?|.]", "{a} squared[?|]", "[Square|The square of] {a}[?|.|, please.]"]
ROOT = ["[What is|What's|Compute|Tell me] the square root of {a}[?|.]", "[sqrt|root]({a})", "[The |]square root of {a}[?|]", "√{a}[?| = ?]"]
PERCENT = ["[What is|What's|How much is|Compute|Calculate] {p}[ percent|%] of {a}[?|.|]", "{p}[ percent|%] of {a}[?|]", "[I need|Give me|Tell me] {p}[ percent|%] of {a}[.|]", "[Take|Find] {p}[ percent|%] of {a}[.|]"]
PLAIN = ["[What is|What's|How much is|Compute|Calculate|Evaluate|Solve|Work out] {e}[?|.|]", "{e}[?| = ?|=|]", "[Please |Can you ][calculate|compute|solve] {e}[?|.|]", "[Result|Value] of {e}[?|]", "[Math|Order of operations|Calc]: {e}"]


def special(g, steps):
    """Powers, roots, percentages, negative results and two operations at once: (question, value, working, spelling)."""
    add, subtract, multiply, divide = steps
    kind = g.pick(["power", "square", "root", "percent", "percent", "negative", "mixed", "mixed", "mixed"])
    if kind == "power":
        a, b = g.pick([(2, g.int(2, 10)), (3, g.int(2, 4)), (g.int(2, 12), 2), (10, g.int(2, 5)), (g.int(2, 5), 3)])
        return g.say(POWER, a=a, b=b), a ** b, "*".join([str(a)] * b) + f"={a ** b}", f"{a}^{b}"
    if kind == "square":
        a = g.int(1, 15)
        return g.say(SQUARE, a=a), a * a, f"{a}*{a}={a * a}", f"{a} * {a}"
    if kind == "root":
        a = g.int(1, 15)
        return g.say(ROOT, a=a * a), a, f"{a}*{a}={a * a}; so the root is {a}", f"√{a * a}"
    if kind == "percent":
        percent = g.pick([5, 10, 10, 20, 25, 50, 50, 75, 100])
        a = g.int(1, 20) * {5: 20, 10: 10, 20: 5, 25: 4, 50: 2, 75: 4, 100: 1}[percent]
        value = a * percent // 100
        return g.say(PERCENT, p=percent, a=a), value, f"{percent}% of {a} = {a}*{percent}/100 = {value}", f"{percent}% of {a}"
    if kind == "negative":
        b = g.int(2, g.pick([10, 30]))
        a = g.int(0, b - 1)
        return g.say(PLAIN, e=f"{a} - {b}"), a - b, f"{subtract(b, a)}; so {a}-{b}={a - b}", f"{a} - {b}"
    a, b, c = g.int(1, 20), g.int(1, 10), g.int(1, 10)
    form = g.int(0, 4)
    product = multiply(b, c)
    if form == 0:
        return g.say(PLAIN, e=f"{a} + {b} * {c}"), a + b * c, f"first {product}; {add(a, b * c)}", f"{a} + {b} * {c}"
    if form == 1:
        return g.say(PLAIN, e=f"{b} * {c} + {a}"), a + b * c, f"first {product}; {add(b * c, a)}", f"{b} * {c} + {a}"
    if form == 2:
        a = g.int(1, 9)
        return g.say(PLAIN, e=f"({a} + {b}) * {c}"), (a + b) * c, f"first {add(a, b)}; {multiply(a + b, c)}", f"({a} + {b}) * {c}"
    if form == 3:
        a = g.int(0, b * c)
        return g.say(PLAIN, e=f"{b} * {c} - {a}"), b * c - a, f"first {product}; {subtract(b * c, a)}", f"{b} * {c} - {a}"
    c = g.int(0, a + b)
    return g.say(PLAIN, e=f"{a} + {b} - {c}"), a + b - c, f"{add(a, b)}; {subtract(a + b, c)}", f"{a} + {b} - {c}"


def verbal(g, thinking, steps):
    """A sum in words of action: (question, value, working, spelling). `steps` are the workings of numbers.py."""
    if g.chance(0.35):
        return special(g, steps)
    add, subtract, multiply, divide = steps
    limit = g.pick([9, 12, 20, 50, 99]) if not thinking else g.pick([9, 20, 99, 99, 500])
    a, b, kind = g.int(0, limit), g.int(0, limit), g.pick("++--**//23")
    if kind == "+":
        return g.say(ADD, a=a, b=b), a + b, add(a, b), f"{a} + {b}"
    if kind == "-":
        a, b = max(a, b), min(a, b)
        return g.say(SUBTRACT, a=a, b=b), a - b, subtract(a, b), f"{a} - {b}"
    if kind == "*":
        a, b = g.int(1, 12), g.int(1, 12)
        return g.say(MULTIPLY, a=a, b=b), a * b, multiply(a, b), f"{a} * {b}"
    if kind == "/":
        a, b = g.int(1, 12), g.int(1, 12)
        return g.say(DIVIDE, a=a * b, b=b), a, divide(a * b, b), f"{a * b} / {b}"
    if kind == "2":
        factor = g.pick([2, 2, 3])
        word = g.pick(TWICE[factor])
        user = g.say(["{w} {a}[?|.| is| makes what?]", "[What is|What's|How much is] {w} {a}?", "[Double|Triple] {a}[.|, please.|]", "[Compute|Calculate|Tell me|Give me] {w} {a}[.|]"][:2 if factor == 3 else 4], w=word, a=a)
        factor = 3 if "Triple" in user else factor
        return user[:1].upper() + user[1:], a * factor, multiply(a, factor), f"{a} * {factor}"
    part = g.pick([2, 2, 2, 4, 3, 10])
    whole = part * g.int(1, 12 if part > 2 else 30)
    word = g.pick(SHARE[part])
    user = g.say(["{w} of {a}[?|.| is| is what?]", "[What is|What's|How much is] {w} of {a}?", "[Compute|Calculate|Tell me|Give me] {w} of {a}[.|]", "[I need|I want to know] {w} of {a}[.|]"], w=word, a=whole)
    return user[:1].upper() + user[1:], whole // part, divide(whole, part), f"{whole} / {part}"


MORE = ["bigger than", "larger than", "greater than", "more than", "higher than", "above", ">"]
LESS = ["smaller than", "less than", "lower than", "below", "<", "fewer than"]


def yes_or_no(g, thinking):
    """Is one number larger than another?"""
    a, b = g.some(range(0, g.pick([20, 100, 1000])), 2)
    if g.chance(0.08):
        b = a
    more = g.chance(0.5)
    user = g.say(["Is {a} {r} {b}?", "[Tell me|Say|Answer]: is {a} {r} {b}?", "{a} {r} {b}[?|, right?|: true or false?|, yes or no?]", "[Is it true that|Do you think|Would you say] {a} is {r} {b}?", "[True or false|Yes or no][:|?] {a} is {r} {b}[.|?|]", "[Check|Decide|Tell me] [if|whether] {a} is {r} {b}[.|]", "[Am I right|Is it correct] that {a} is {r} {b}?", "[Which is true|Answer yes or no]: is {a} {r} {b}?", "[The number|Number] {a}: is it {r} {b}?"], a=a, b=b, r=g.pick(MORE if more else LESS))
    holds = a > b if more else a < b
    relation = f"{a} is equal to {b}" if a == b else f"{a} is {'larger' if a > b else 'smaller'} than {b}"
    return Turn(g.rough(user, 0.1), f"{'Yes' if holds else 'No'}, {relation}.", f"{relation}.", ("starts", "Yes" if holds else "No"))


def in_order(g, thinking):
    """Numbers sorted up or down."""
    values = g.some(range(0, g.pick([10, 30, 100, 1000])), g.int(2, 5 if not thinking else 7))
    up = g.chance(0.6)
    listing = g.pick([", ", ", ", " ", "; "]).join(map(str, values))
    user = g.say(["[Sort|Order|Arrange|Put in order] [these|these numbers|the numbers|][ {w}|]: {l}", "[Sort|Order] {l} [{w}|in {w} order].", "{l} - [sort them {w}|sorted {w}, please|in {w} order].", "[Write|List|Give me] {l} {w}[.|]", "[Can|Could] you [sort|order] {l}[ {w}|]?", "[Sorted|In order] {w}: {l}", "[Please |]arrange {l} {w}[.|]", "[Numbers|List|Input]: {l}. [Sort them|Order them|Sort] {w}[.|]", "sort {l} {w}", "[What is|What's] {l} [sorted|in order] {w}?"],
                 l=listing, w=g.pick(["ascending", "from smallest to largest", "from low to high", "in increasing order", "upwards", "smallest first"] if up else ["descending", "from largest to smallest", "from high to low", "in decreasing order", "downwards", "largest first", "backwards by size"])).replace("in in ", "in ").replace("in from ", "from ").replace(" order order", " order")
    if not up and not any(word in user for word in ("descend", "largest", "high to", "decreas", "downw", "backw")):
        up = True
    answer = ", ".join(map(str, sorted(values, reverse=not up)))
    return Turn(user, answer, f"I put the numbers in order: {answer}.", ("contains", [answer]))
