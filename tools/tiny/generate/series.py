"""Countdowns, even and odd numbers, multiples, next numbers, the alphabet: series that are not a plain count from here to there."""

from .core import Turn

CHINESE = "零一二三四五六七八九十"
SPLIT = [(", ", ["", "", "", "with commas", "separated by commas", "comma separated"]), (" ", ["separated by spaces", "with spaces between them", "on one line with spaces", "with a space between the numbers", "space separated"]), ("\n", ["one per line", "each on its own line", "one number per line", "on separate lines", "line by line"])]
DOWN = ["[Count down|Countdown|Count backwards|Count back|Do a countdown|Make a countdown|Start a countdown|Give me a countdown] from {a}[ to {z}|]", "[Countdown|Rocket countdown|Launch countdown][:|,] from {a}[ to {z}|]", "{a} to {z}[, counting down|, backwards|, descending]", "[Count|Go|List the numbers|Write the numbers] from {a} [down|back|backwards|in reverse] to {z}", "[Please|Can you|Now] count [down|backwards] from {a}[ to {z}|]", "[The numbers|Numbers] from {a} [down |]to {z}[ in reverse order| in descending order| backwards]", "[Descending|In descending order|Backwards|In reverse]: {a} to {z}", "[Start at|Begin with] {a} and count down[ to {z}|]", "[Write|Print|Say] {a} down to {z}"]
PARITY = ["[Give me|List|Write|Print|Show|Name|Output|Say] [the |all |all the |]{p} numbers [from|between] {a} [to|and] {b}", "[Which|What are the] {p} numbers [from|are between|between] {a} [to|and] {b}?", "{P} numbers [from {a} to {b}|between {a} and {b}|up to {b}, from {a}]", "[Count|Go] from {a} to {b}, [only the {p} numbers|{p} numbers only|using {p} numbers]", "[Only|Just] the {p} numbers [from|between] {a} [to|and] {b}", "[Can you|Please|I want you to] [list|write] the {p} numbers from {a} to {b}", "[All|Every] {p} [number|numbers] from {a} to {b}", "From {a} to {b}, [list|write down|give me] [the |all |]{p} numbers", "[I need|I want] the {p} numbers between {a} and {b}"]
FIRST = ["[Give me|List|Write|Print|Show|Name|Say] the first {n} {w}", "[What are|Tell me] the first {n} {w}?", "[The |]first {n} {w}[, please|]", "{n} {w}, [starting with the first|from the beginning|starting at {s}]", "[Start|Begin] with {s} and [list|give me] {n} {w}", "[Can you|Please] [list|write] the first {n} {w}", "[I need|I want] the first {n} {w}", "[List|Print] {n} {w}, the first ones", "[Begin|Start] at {s}: {n} {w}"]
NEXT = ["[What comes|What number comes|Which number comes|What is] next[:| after| in] {l}?", "[Continue|Go on|Carry on][:| with] {l}, ...", "{l}, ... [what is next|next number|and then]?", "[The next|Next] number [of|in|after] {l}[?|, please.]", "[Which|What] number [follows|is next after] {l}?", "[Complete|Extend] the [series|sequence|pattern]: {l}, ?", "{l}, ?", "[Find|Tell me|Guess] the next number: {l}", "[Series|Sequence|Pattern]: {l}. [Next|What comes next|And then]?"]
AFTER = ["[What|Which] number [comes|is] [right |][after|behind] {a}?", "[What|Which] number follows {a}?", "[The|What is the] number after {a}[?|]", "[What|Which] comes after {a}?", "{a} and then?", "[Say|Tell me|Give me] the number after {a}[.|]", "[Next|The next number] after {a}[?|]", "[What is|Give] the successor of {a}[?|]"]
BEFORE = ["[What|Which] number [comes|is] [right |]before {a}?", "[What|Which] number precedes {a}?", "[The|What is the] number before {a}[?|]", "[What|Which] comes before {a}?", "[Say|Tell me|Give me] the number before {a}[.|]", "[What is|Give] the predecessor of {a}[?|]", "[The one|The number] [just |]before {a}[?|, please.]", "One less than {a}[?| is| is what?]"]


def closing(g, user, style):
    """The request with the manner of writing and an end mark."""
    if user.endswith("?"):
        return user + (f" {style.capitalize()}." if style else "")
    return user + (g.pick([" ", ", "]) + style if style else "") + g.pick(["", ".", ".", "!"])


def finish(g, user, values, think):
    """A turn whose answer is the list in one of three manners."""
    separator, styles = g.pick([SPLIT[0], SPLIT[0], SPLIT[1], SPLIT[2]])
    answer = separator.join(map(str, values))
    return Turn(closing(g, user, g.pick(styles)), answer, think, ("contains", [answer]))


def series(g, thinking):
    """One series of numbers or letters."""
    kind = g.pick(["down", "down", "down", "parity", "parity", "first", "next", "after", "alphabet", "zh"])
    if kind == "down":
        last = g.pick([1, 1, 1, 0, g.int(2, 20)])
        first = last + g.int(2, g.pick([5, 9, 10, 20]))
        user = g.say(DOWN, a=first, z=last)
        if f"{last}" not in user.replace(str(first), "", 1):
            last = 1
            if first <= last:
                first = 5
                user = g.say(DOWN, a=first, z=last)
        return finish(g, user, range(first, last - 1, -1), f"I count down from {first} to {last}.")
    if kind == "parity":
        parity = g.pick(["even", "odd"])
        start, end = g.int(0, 30) if g.chance(0.5) else g.int(1, 2), 0
        end = start + g.int(4, g.pick([8, 18, 30]))
        values = [value for value in range(start, end + 1) if value % 2 == (parity == "odd")]
        return finish(g, g.say(PARITY, p=parity, P=parity.capitalize(), a=start, b=end), values, f"The {parity} numbers from {start} to {end} begin with {values[0]} and go in steps of 2.")
    if kind == "first":
        name, make = g.pick([("even numbers", lambda i: 2 * i), ("odd numbers", lambda i: 2 * i - 1), ("natural numbers", lambda i: i), ("square numbers", lambda i: i * i), ("positive integers", lambda i: i), ("multiples of {m}", None), ("multiples of {m}", None)])
        m, count = g.int(2, 12), g.int(3, 10)
        name = name.replace("{m}", str(m))
        values = [make(i) if make else m * i for i in range(1, count + 1)]
        return finish(g, g.say(FIRST, n=count, w=name, s=values[0]), values, f"I list the first {count} {name}.")
    if kind == "next":
        step, start = g.pick([1, 1, 2, 2, 3, 5, 10, -1, -2]), g.int(10, 60)
        start = g.int(1, 20) if step > 0 else start
        values = [start + step * i for i in range(g.int(3, 5))]
        value = values[-1] + step
        return Turn(g.say(NEXT, l=", ".join(map(str, values))), str(value), f"The numbers go in steps of {step}. Next is {value}.", ("number", value))
    if kind == "after":
        a, after = g.int(1, g.pick([20, 100, 1000])), g.chance(0.6)
        value = a + 1 if after else a - 1
        return Turn(g.rough(g.say(AFTER if after else BEFORE, a=a), 0.1), str(value), f"{'After' if after else 'Before'} {a} comes {value}.", ("number", value))
    if kind == "alphabet":
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        if g.chance(0.4):
            index = g.int(0, 24)
            return Turn(g.say(["[What|Which] letter [comes|is] after {c}?", "[The|Give me the] letter after {c}[?|.]", "[What|Which] letter follows {c}[ in the alphabet|]?"], c=letters[index]), letters[index + 1], f"After {letters[index]} comes {letters[index + 1]}.", ("contains", [letters[index + 1]]))
        end = g.pick([26, 26, g.int(3, 25)])
        ask = ["[Say|Recite|Write|List|Print|Give me] the [alphabet|ABC|letters of the alphabet|letters from A to Z][.|!|, please.|]", "[The alphabet|ABC|All letters from A to Z][, please|][.|]"] if end == 26 else ["[Write|List|Say|Give me] the [first {n} letters of the alphabet|letters from A to {c}|letters A to {c}][.|]", "[The first {n} letters|Letters A to {c}][, please|][.|]"]
        answer = " ".join(letters[:end])
        return Turn(g.say(ask, n=end, c=letters[end - 1]), answer, f"I write the letters from A to {letters[end - 1]}.", ("contains", [answer]))
    last = g.int(3, 10)
    shown, down = g.pick([str(last), CHINESE[last]]), g.chance(0.3)
    values = range(last, 0, -1) if down else range(1, last + 1)
    if g.chance(0.3):
        user = g.pick([f"{last}から1まで逆に数えて", f"{last}からカウントダウンして", f"{last}からカウントダウンしてください。"] if down else [f"1から{last}まで数えて", f"{last}まで数えてください。", f"{last}まで数えて", f"一から{CHINESE[last]}まで数えてください"])
    else:
        user = g.pick([f"从{shown}倒数到1", f"从{shown}倒数", f"倒着数，从{shown}开始", f"请从{shown}倒数到一", f"{shown}到1倒数"] if down else [f"数到{shown}", f"请数到{shown}", f"从一数到{shown}", f"从1数到{shown}", f"数数到{shown}", f"请从一数到{shown}。", f"你能数到{shown}吗？", f"帮我数到{shown}"])
    answer = ", ".join(map(str, values))
    return Turn(user, answer, f"I count {'down from' if down else 'to'} {last}.", ("contains", [answer]))
