"""Word problems: the reasoning computes, the visible answer explains."""

from . import happenings, words
from .core import Turn
from .numbers import add_steps, divide_steps, multiply_steps, subtract_steps

ASIDE = ["", "", "", " Show your [reasoning|work|steps], then [answer|give the answer].", " [Think|Explain|Reason|Solve it|Work] step by step.", " Let's think step by step.", " [Explain|Show] how you [get|got|found] [it|the answer].", " [Give|State] [your reasoning|the steps] and then the [final |]answer.",
         " Please [show your reasoning first|reason carefully], then [answer|conclude].", " [Step by step|Explain briefly], please.", " [Show|Give|Write] [your |the |]reasoning[.| first.| and the answer.|, then the final answer.]", " [Reason|Think|Go] [step by step|carefully|through it slowly][.|, please.| and answer.]", " [Explain|Justify|Describe] your [answer|steps|solution][.|]", " [First|At first] [think|reason|explain], then [answer|give the result|state the answer][.|]", " [Answer with an explanation|Solve it and explain|Work it out in steps|Do it step by step][.|]", " [What is the answer|What's the answer|Answer][?|.]"]
LEAD = ["", "", "", "", "[Solve|Please solve|Here is a problem|A small puzzle|Word problem|Question|Problem|Riddle]: ", "[Can you help me|Help me] with this[ one|]? ", "[Step by step|Think step by step]: ", "[Solve this|Solve the following problem|Consider this problem|Work this out|Answer this][:|.] ", "[Let's think step by step|Reason step by step|Show your steps|Explain your reasoning|Show your reasoning, then answer][:|.] ", "[Math|Maths|A maths|A math] [problem|question|exercise|puzzle]: ", "[Think carefully|Take your time|Show your reasoning][.|:] "]


def apples(g):
    """Things given, bought, eaten, lost: two or three changes."""
    person, other, thing = words.name(g), g.pick(words.NAMES), g.pick(words.THINGS)
    total = g.int(2, g.pick([12, 30, 99]))
    start, parts, steps, visible = total, [], [], []
    for _ in range(g.pick([1, 2, 2, 2, 3])):
        if g.chance(0.5) and total >= 2:
            change = g.int(1, min(total - 1, 40))
            parts.append(g.say("[gives {k} to {o}|gives {o} {k}|loses {k}|uses {k}|eats {k}|sells {k}|throws away {k}|drops {k}|gives away {k}|hands {k} to {o}]", k=change, o=other))
            steps.append(subtract_steps(total, change))
            visible.append(f"{total} - {change} = {total - change}")
            total -= change
        else:
            change = g.int(1, g.pick([9, 20, 50]))
            parts.append(g.say("[buys {k} more|gets {k} more|finds {k}|receives {k} from {o}|gets {k} from {o}|collects {k} more|picks {k} more|adds {k}|buys {k}|is given {k}]", k=change, o=other))
            steps.append(add_steps(total, change))
            visible.append(f"{total} + {change} = {total + change}")
            total += change
    joined = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + g.pick([" and then ", " and ", ", then "]) + parts[-1]
    verb = g.pick(["has", "starts with", "begins with", "owns"])
    user = g.say(["{x} {v} {k} {t}s. [He|She|{x}|Then {x}] {j}. How many {t}s does {x} have [now|left|in the end|]?", "{x} {v} {k} {t}s and {j}. How many {t}s [are left|remain|does {x} have now|are there now]?",
                  "If {x} {v} {k} {t}s and then {j}, how many {t}s does {x} have?", "{x} {v} {k} {t}s[;|,] {x} {j}[.|;] [How many now|How many are left|What is the total]?"], x=person, v=verb, k=start, t=thing, j=joined)
    explain = " Then ".join(f"{step}." for step in visible)
    return user, "; ".join(steps), f"{person} starts with {start} {thing}s. {explain} So {person} has {total} {thing}s.", total


def first_person(g):
    """`I have 3 apples and eat 1`."""
    thing, total = g.pick(words.THINGS), g.int(2, 40)
    change = g.int(1, total)
    if g.chance(0.5):
        verb = g.pick(["eat", "lose", "give away", "sell", "use"])
        user = g.say(["[I have|I had|There are|You have] {a} {t}s[ and I| and you|. I|. You] {v} {b}. How many [{t}s |]are left?", "If [I|you] have {a} {t}s and {v} {b}, how many [{t}s |]remain?"], a=total, b=change, t=thing, v=verb)
        return user, subtract_steps(total, change), f"At the start there are {total} {thing}s. After taking away {change}, {total} - {change} = {total - change}. So {total - change} are left.", total - change
    user = g.say(["[I have|I had|You have] {a} {t}s and [get|buy|find|receive] {b} more. How many [{t}s |]are there [now|in total|altogether]?", "If [I|you] have {a} {t}s and [get|buy|find] {b} [more|others], how many do [I|you] have?"], a=total, b=change, t=thing)
    return user, add_steps(total, change), f"At the start there are {total} {thing}s. Adding {change} gives {total} + {change} = {total + change}. So there are {total + change} now.", total + change


def shopping(g):
    """Price times count, and maybe the change from a note."""
    person, thing = words.name(g), g.pick(words.THINGS)
    price, count = g.int(1, 12), g.int(2, 12)
    cost, money = price * count, g.pick(["dollars", "euros", "coins", "yen", "pounds", "$"])
    shown = (lambda value: f"${value}") if money == "$" else (lambda value: f"{value} {money}")
    base = g.say(["{x} buys {n} {t}s at {p} each.", "[A|One] {t} costs {p}. {x} buys {n}[ {t}s|].", "{x} [wants|needs] {n} {t}s. Each [one |]costs {p}."], x=person, n=count, t=thing, p=shown(price))
    if g.chance(0.5):
        return base + g.say([" How much does {x} [pay|spend]?", " What is the total [cost|price]?"], x=person), multiply_steps(count, price), f"Each {thing} costs {shown(price)}. {count} times {price} is {cost}. So the total is {shown(cost)}.", cost
    paid = cost + g.int(1, 50)
    return (base + g.say([" {x} pays with {m}. How much change does {x} get?", " {x} has {m}. How much is left?"], x=person, m=shown(paid)),
            f"{multiply_steps(count, price)}; {subtract_steps(paid, cost)}", f"The cost is {count} * {price} = {cost}. The change is {paid} - {cost} = {paid - cost}. So {person} has {shown(paid - cost)} left.", paid - cost)


def trains(g):
    """Two vehicles towards each other, apart, or one catching the other; or one vehicle alone."""
    kind = g.pick(["meet", "meet", "meet", "apart", "chase", "start", "distance", "time"])
    vehicle = g.pick(["train", "train", "train", "car", "bus", "cyclist", "boat", "truck"])
    unit = g.pick(["km", "km", "miles", "kilometers"])
    per = g.pick([f"{unit}/h", f"{unit} per hour", {"km": "km/h", "miles": "mph", "kilometers": "kilometers per hour"}[unit]])
    one, two = g.pick(words.CITIES), g.pick(words.CITIES)
    a, b, hours = g.int(2, 12) * 10, g.int(2, 12) * 10, g.int(1, 9)
    if kind == "meet":
        speed = a + b
        distance = speed * hours
        user = g.say(["Two {v}s [start|leave|depart] {d} {u} apart and [drive|travel|move|head] toward[s|] each other at {a} {p} and {b} {p}. [When do they meet|After how many hours do they meet|How long until they meet]?",
                      "[A|One] {v} leaves {c} at {a} {p}[ and|,] another leaves {e} at {b} {p} toward[s|] it. The [cities|stations|towns] are {d} {u} apart. [After how many hours|When|How soon] [do|will] they meet?",
                      "Two {v}s are {d} {u} apart. [One travels|The first goes] at {a} {p}[,| and] the [other|second] at {b} {p}, toward each other. How [long|many hours] until they meet?"], v=vehicle, d=distance, u=unit, a=a, b=b, p=per, c=one, e=two)
        return user, f"speeds add: {add_steps(a, b)}; time = {distance}/{speed}; {multiply_steps(speed, hours)}; so {hours}", f"The {vehicle}s approach each other at {a} + {b} = {speed} {per}. The distance is {distance} {unit}, so they meet after {distance} / {speed} = {hours} hours.", hours
    if kind == "apart":
        user = g.say(["Two {v}s leave {c} in opposite directions at {a} {p} and {b} {p}. How far apart are they after {h} hours?", "Two {v}s drive away from each other at {a} {p} and {b} {p}. What is the distance between them after {h} hours?"], v=vehicle, c=one, a=a, b=b, p=per, h=hours)
        return user, f"speeds add: {add_steps(a, b)}; {multiply_steps(a + b, hours)}", f"They move apart at {a} + {b} = {a + b} {per}. After {hours} hours they are {a + b} * {hours} = {(a + b) * hours} {unit} apart.", (a + b) * hours
    if kind == "chase":
        slow, fast = min(a, b), max(a, b) + 10
        gap = (fast - slow) * hours
        user = g.say(["A {v} is {d} {u} ahead and goes at {a} {p}. A second {v} follows at {b} {p}. After how many hours does it catch up?", "A {v} going {b} {p} chases a {v} going {a} {p} that is {d} {u} ahead. How many hours until it catches it?"], v=vehicle, d=gap, u=unit, a=slow, b=fast, p=per)
        return user, f"speeds differ: {subtract_steps(fast, slow)}; time = {gap}/{fast - slow}; {multiply_steps(fast - slow, hours)}; so {hours}", f"The second {vehicle} gains {fast} - {slow} = {fast - slow} {per}. It must gain {gap} {unit}, so it needs {gap} / {fast - slow} = {hours} hours.", hours
    if kind == "start":
        later, hour = g.int(1, 3), g.int(6, 12)
        slow = (hours * g.int(1, 6)) * 10 // g.pick([1, 1, 2]) or 10
        gap = slow * later
        gains = [gain for gain in range(5, 121, 5) if gap % gain == 0] or [gap]
        fast = slow + g.pick(gains)
        needed = gap // (fast - slow)
        user = g.say(["[Train A|A {v}|The first {v}] leaves at {h}:00 [travelling|going|at] {a} {p}[,| and] [train B|another {v}|the second {v}] leaves the same [station|place|town] at {l}:00 [travelling|going|at] {b} {p} in the same direction. [When does the second catch the first|After how many hours does the second catch up|When does B catch A]?"], v=vehicle, h=hour, l=hour + later, a=slow, b=fast, p=per)
        return user, f"head start: {multiply_steps(slow, later)}; speeds differ: {subtract_steps(fast, slow)}; time = {gap}/{fast - slow} = {needed}", f"The first has a head start of {slow} * {later} = {gap} {unit}. The second gains {fast} - {slow} = {fast - slow} {per}. It catches up after {gap} / {fast - slow} = {needed} hours.", needed
    if kind == "distance":
        user = g.say(["A {v} [travels|drives|goes|moves] at {a} {p} for {h} hours. How far does it [go|travel]?", "How far does a {v} go in {h} hours at {a} {p}?"], v=vehicle, a=a, p=per, h=hours)
        return user, multiply_steps(a, hours), f"Distance is speed times time. {a} * {hours} = {a * hours}, so the {vehicle} goes {a * hours} {unit}.", a * hours
    user = g.say(["A {v} [travels|drives|goes] {d} {u} at {a} {p}. How [long|many hours] does it take?", "How many hours does a {v} need for {d} {u} at {a} {p}?"], v=vehicle, d=a * hours, u=unit, a=a, p=per)
    return user, f"time = {a * hours}/{a}; {multiply_steps(a, hours)}; so {hours}", f"Time is distance divided by speed. {a * hours} / {a} = {hours}, so it takes {hours} hours.", hours


def ages(g):
    """Older and younger, now and later."""
    x, y = g.some(words.NAMES, 2)
    age, difference, years = g.int(4, 50), g.int(1, 20), g.int(1, 15)
    if g.chance(0.4):
        user = g.say(["{x} is {a} years old. How old will {x} be in {k} years?", "If {x} is {a} now, how old is {x} [in|after] {k} years?"], x=x, a=age, k=years)
        return user, add_steps(age, years), f"{x} is {age} now. In {years} years {x} will be {age} + {years} = {age + years} years old.", age + years
    if g.chance(0.5):
        user = g.say(["{x} is {a} years old. {y} is {d} years older. How old is {y}?", "{y} is {d} years older than {x}, who is {a}. How old is {y}?"], x=x, y=y, a=age, d=difference)
        return user, add_steps(age, difference), f"{x} is {age}. {y} is {difference} years older, so {y} is {age} + {difference} = {age + difference} years old.", age + difference
    age += difference
    user = g.say(["{x} is {a} years old. {y} is {d} years younger. How old is {y}?", "{y} is {d} years younger than {x}, who is {a}. How old is {y}?"], x=x, y=y, a=age, d=difference)
    return user, subtract_steps(age, difference), f"{x} is {age}. {y} is {difference} years younger, so {y} is {age} - {difference} = {age - difference} years old.", age - difference


def sharing(g):
    """Equal shares and groups."""
    each, groups, thing, group = g.int(2, 12), g.int(2, 12), g.pick(words.THINGS), g.pick(["box", "bag", "child", "friend", "basket", "table", "team", "shelf", "row"])
    plural = {"box": "boxes", "child": "children", "shelf": "shelves"}.get(group, group + "s")
    if g.chance(0.5):
        user = g.say(["{n} {t}s are [shared|divided|split] equally among {k} {p}. How many [{t}s |]does each {o} get?", "[Divide|Share|Split] {n} {t}s equally between {k} {p}. How many per {o}?"], n=each * groups, t=thing, k=groups, p=plural, o=group)
        return user, divide_steps(each * groups, groups), f"There are {each * groups} {thing}s for {groups} {plural}. {each * groups} / {groups} = {each}, so each {group} gets {each} {thing}s.", each
    user = g.say(["There are {k} {p} with {n} {t}s each. How many {t}s are there [in total|altogether|]?", "Each of {k} {p} has {n} {t}s. How many {t}s is that[ in total|]?"], n=each, t=thing, k=groups, p=plural)
    return user, multiply_steps(groups, each), f"There are {groups} {plural} with {each} {thing}s each. {groups} * {each} = {groups * each}, so there are {groups * each} {thing}s.", groups * each


def areas(g):
    """Area and perimeter of rectangles and squares."""
    a, b = g.int(2, 20), g.int(2, 12)
    unit = g.pick(["cm", "m", "meters", "feet"])
    if g.chance(0.5):
        user = g.say(["A rectangle is {a} {u} long and {b} {u} wide. What is its area?", "What is the area of a {a} by {b} {u} rectangle?"], a=a, b=b, u=unit)
        return user, f"area = {a}*{b}; {multiply_steps(a, b)}", f"The area is length times width. {a} * {b} = {a * b}, so the area is {a * b} square {unit}.", a * b
    user = g.say(["A rectangle is {a} {u} long and {b} {u} wide. What is its perimeter?", "What is the perimeter of a {a} by {b} {u} rectangle?"], a=a, b=b, u=unit)
    return user, f"perimeter = 2*({a}+{b}); {add_steps(a, b)}; {multiply_steps(a + b, 2)}", f"The perimeter is twice the sum of the sides. 2 * ({a} + {b}) = {2 * (a + b)}, so it is {2 * (a + b)} {unit}.", 2 * (a + b)


KINDS = [apples, apples, apples, first_person, first_person, shopping, trains, trains, ages, sharing, areas] + happenings.KINDS


def word_problem(g, thinking):
    """One word problem with its working."""
    user, steps, answer, value = g.pick(KINDS)(g)
    user = g.dress(g.say(LEAD) + user + g.say(ASIDE), 0.1)
    return Turn(g.rough(user, 0.08), answer, f"I work it out: {steps}.", ("number_last", value))
