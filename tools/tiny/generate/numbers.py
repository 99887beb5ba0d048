"""Sums, differences, products, quotients and comparisons with digit-wise working."""

from . import quantities
from .core import Turn


def add_steps(a, b):
    """Column addition in words: `7+5=12 carry 1; 1+2+1=4; 42`."""
    if a < 10 and b < 10:
        return f"{a}+{b}={a + b}"
    steps, carry, x, y = [], 0, str(a)[::-1], str(b)[::-1]
    for i in range(max(len(x), len(y))):
        digits = [x[i] if i < len(x) else "0", y[i] if i < len(y) else "0"] + (["1"] if carry else [])
        total = sum(map(int, digits))
        carry = total // 10
        steps.append("+".join(digits) + f"={total}" + (f" write {total % 10} carry 1" if carry else ""))
    if carry:
        steps.append("write 1")
    return "; ".join(steps) + f"; so {a}+{b}={a + b}"


def subtract_steps(a, b):
    """Column subtraction with borrows, a >= b >= 0."""
    if a < 20 and b < 10:
        return f"{a}-{b}={a - b}"
    steps, borrow, x, y = [], 0, str(a)[::-1], str(b)[::-1]
    for i in range(len(x)):
        top, low = int(x[i]) - borrow, int(y[i]) if i < len(y) else 0
        shown = f"{x[i]}-1={top}, " if borrow else ""
        borrow = 1 if top < low else 0
        steps.append(shown + (f"{top + 10}-{low}={top + 10 - low} borrow 1" if borrow else f"{top}-{low}={top - low}"))
    return "; ".join(steps) + f"; so {a}-{b}={a - b}"


def multiply_steps(a, b):
    """Long multiplication by the digits of the smaller factor."""
    if min(a, b) <= 1 or (a <= 12 and b <= 12) or b in (10, 100):
        return f"{a}*{b}={a * b}"
    if a < b:
        return f"{a}*{b}={b}*{a}; " + multiply_steps(b, a)
    if b < 10:
        parts = [int(digit) * 10 ** power for power, digit in enumerate(str(a)[::-1]) if digit != "0"][::-1]
        text = "; ".join(f"{part}*{b}={part * b}" for part in parts)
        return text + ("; " + sum_steps([part * b for part in parts]) if len(parts) > 1 else "") + f"; so {a}*{b}={a * b}"
    parts = [int(digit) * 10 ** power for power, digit in enumerate(str(b)[::-1]) if digit != "0"][::-1]
    texts = []
    for part in parts:
        digit = int(str(part)[0])
        inner = multiply_steps(a, digit)
        texts.append(inner + (f"; {a}*{part}={a * part}" if part != digit else ""))
    return "; ".join(texts) + ("; " + sum_steps([a * part for part in parts]) if len(parts) > 1 else "") + f"; so {a}*{b}={a * b}"


def sum_steps(values):
    """Add several numbers from the left."""
    total, steps = values[0], []
    for value in values[1:]:
        steps.append(add_steps(total, value))
        total += value
    return "; ".join(steps)


def divide_steps(a, b):
    """Exact division by finding the factor."""
    return f"{b}*{a // b}={a}; so {a}/{b}={a // b}"


def magnitude(g, thinking):
    """A number whose size suits mental (thinking off) or written (on) working."""
    if not thinking:
        return g.int(0, g.pick([9, 12, 20, 50, 99]))
    return g.int(0, g.pick([9, 9, 12, 20, 50, 99, 99, 300, 999, 9999]))


ASK = [
    "[What is|What's|whats|Calculate|Compute|Work out|Find|How much is|Tell me] {e}[?|.|]", "{e}", "{e} = ?", "{e}=?", "{e}?", "[Please|Can you] [calculate|compute|work out|add up|solve] {e}[.|?|]", "[Solve|Evaluate]: {e}",
    "[What does|How much does] {e} [equal|make|come to]?", "[Give|Tell] me [the result of|the value of|the answer to] {e}[.|]", "[I need|I want to know] {e}.", "[Quick|Math|Hey, quick]: [what's|what is] {e}?", "[Hi|Hello]! [What is|How much is] {e}?",
    "Do you know [what|how much] {e} is?", "The result of {e} is [what|?]", "{e} equals", "[Help me|Please help]: {e}",
    "[Can|Could|Would] you [tell me|say|compute|calculate|work out] [what|how much] {e} is[?|]", "[Can|Could] you [do|add|calculate|solve] {e}[?| for me?]", "[What do you get|What do I get|What is the result] [for|from|of|when you compute] {e}?", "[What number|Which number|What value] is {e}?", "[I wonder|I ask you|Say|Tell me] [what|how much] {e} is[.|]", "[The|Your] [task|question|sum|exercise|problem] is[:|] {e}[.|]", "[Simple|Easy|Short|Small] [math|maths|question|sum|arithmetic|problem][:|,] {e}[?|]", "[Do|Solve|Answer|Compute] [this|the following|this sum|this problem]: {e}", "[Math|Maths|Arithmetic|Calculation] [question|problem|test|][:|] {e}", "[How|What] does {e} [come out to|give|yield|amount to]?",
    "[Find|Determine|State|Give] the [value|result|answer|total] [of|for] {e}[.|]", "[If you|When you|Suppose you] [calculate|compute|work out] {e}, [what do you get|what is it]?", "[Please|Kindly] [answer|tell me|say]: [what is |how much is |]{e}[?|]", "[Answer|Result|Value] of {e}[?|]", "[So|And|Now|Well], [what is|what's|how much is] {e}?", "{e}[, please|  please| ?|...]",
]
SHORT = [
    "[|, ]only the number[.|]", "Answer with [only|just] the number.", "[Just|Only] [give|tell|output|return] [me |]the [number|result|answer].", "[Reply|Respond|Answer] with [a number only|the number only|just a number|a single number|one number].", "Number only[.|, please.]", "No [explanation|words], just the number.",
    "(number only)", "[Output|Print|Write] only the [number|digits|result][.|, nothing else.]", "[Be brief|Short answer], only the number.",
    "[Reply|Answer|Respond] [only |just ]with [the |a ]number[.|]".replace("[only |just ]", "[only|just] ").replace("[the |a ]", "[the|a] "), "[A|One|The] number [is enough|only|suffices|and nothing else][.|]", "[Give|Return|Output|Write|Say|State] [only|just] the [number|final number|result|final result|final answer|value][.|, please.]", "[Nothing|No text|No words] but the number[.|]", "[Only|Just] [a|the|one] [number|digit|digits|value|final answer][.|, please.|!]", "[The answer|Your answer|The reply] [must|should] be [a|one] number[.|]", "[Answer|Reply] in digits[ only|][.|]", "[Without|No] [explanation|explanations|steps|working|text][.|, please.]", "[Number|Digits|Result|Answer] only[!|.]", "[I only|I just] [want|need] the [number|result|answer][.|]",
]
CHINESE_ASK = ["{e}等于多少？", "{e}等于几？", "请计算{e}", "{e}=？", "{e}是多少？", "计算：{e}", "请问{e}等于多少？", "算一下{e}", "{e}的结果是什么？", "帮我算{e}", "{e}等于什么？", "{e}得多少？", "求{e}", "帮我计算一下{e}", "请算出{e}的值", "你知道{e}等于几吗？", "{e}=", "请回答{e}", "请问{e}是多少？", "{e}是几？", "{e}一共是多少？", "请问{e}等于几", "告诉我{e}等于多少", "{e}的答案是什么？", "{e}的答案", "计算{e}的结果", "请计算：{e}", "问题：{e}等于几？", "{e}等于", "算算{e}", "求{e}的值", "{e}？", "解答：{e}", "{e}结果是几？", "请做计算：{e}", "数学题：{e}"]
CHINESE_DIGITS = "零一二三四五六七八九十"
CHINESE_SHORT = ["只输出数字", "只回答数字。", "只给出数字", "只要数字", "请只回复数字。", "直接回答数字", "只说答案", "只需回答数字即可", "仅输出数字", "回答一个数字", "只回复结果", "请只回答数字", "只需要数字", "请只输出数字。", "只写数字", "不要解释", "只要答案", "请只给出结果", "请直接给出答案", "只用数字回答", "仅回答数字即可", "请用一个数字回答", "只输出结果", "只需给出数字，不要其他内容", "只返回数字", "只说数字", "答案只要数字", "不要多余的文字", "请仅回答一个数字"]
JAPANESE_ASK = ["{e}は？", "{e}はいくつですか？", "{e}を計算してください。", "{e}=?", "{e}の答えは何ですか？", "{e}はいくつ？", "計算：{e}", "{e}を計算して", "{e}は何ですか？", "{e}の結果は？", "{e}を教えて", "{e}は何になりますか？", "{e}の答えを教えてください", "次を計算してください：{e}", "{e}？", "{e}の値は？"]
JAPANESE_SHORT = ["数字だけ答えてください。", "数字のみで答えて。", "数字だけ。", "答えの数字だけ出力してください。", "数字だけで答えてください", "答えだけ", "数字のみ。", "数字だけ出力して", "結果の数字だけ", "説明は不要です。", "数字一つで答えて"]
WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()


CHINESE_WORDS = list(CHINESE_DIGITS) + ["十一", "十二", "十三", "十四", "十五", "十六", "十七", "十八", "十九", "二十"]


def in_words(g, names, signs):
    """A small sum in words: (text, value, steps, spelling with digits)."""
    sign = g.pick("++-*")
    a, b = g.int(0, g.pick([10, 10, 20])), g.int(0, g.pick([10, 10, 20]))
    if sign == "-":
        a, b = max(a, b), min(a, b)
    if sign == "*":
        a, b = min(a, 12), min(b, 12)
    value = a + b if sign == "+" else a - b if sign == "-" else a * b
    steps = add_steps(a, b) if sign == "+" else subtract_steps(a, b) if sign == "-" else multiply_steps(a, b)
    return f"{names[a]}{g.pick(signs[sign])}{names[b]}", value, f"{names[a]}={a}, {names[b]}={b}; {steps}", f"{a} {sign} {b}"


def expression(g, thinking):
    """Return (plain spelling, natural spelling, value, steps)."""
    a, b = magnitude(g, thinking), magnitude(g, thinking)
    kind = g.pick("++++--**/s")
    gap = g.pick(["", " "])
    if kind == "+":
        natural = g.pick([f"{a}{gap}+{gap}{b}"] * 4 + [f"{a} plus {b}", f"the sum of {a} and {b}", f"{a} added to {b}"])
        return f"{a}{gap}+{gap}{b}", natural, a + b, add_steps(a, b), f"{a} + {b}"
    if kind == "-":
        a, b = max(a, b), min(a, b)
        natural = g.pick([f"{a}{gap}-{gap}{b}"] * 4 + [f"{a} minus {b}", f"the difference between {a} and {b}", f"{a} take away {b}"])
        return f"{a}{gap}-{gap}{b}", natural, a - b, subtract_steps(a, b), f"{a} - {b}"
    if kind == "*":
        if thinking:
            a, b = g.pick([(g.int(0, 12), g.int(0, 12)), (g.int(0, 12), g.int(0, 12)), (g.int(2, 99), g.int(2, 9)), (g.int(11, 99), g.int(11, 99)), (g.int(100, 999), g.int(2, 9))])
        else:
            a, b = g.int(0, 12), g.int(0, 12)
        sign = g.pick("*x×*")
        natural = g.pick([f"{a}{gap}{sign}{gap}{b}"] * 4 + [f"{a} times {b}", f"the product of {a} and {b}", f"{a} multiplied by {b}"])
        return f"{a}{gap}{sign}{gap}{b}", natural, a * b, multiply_steps(a, b), f"{a} * {b}"
    if kind == "/":
        a, b = g.int(0, 12), g.int(1, 12)
        sign = g.pick("/÷")
        natural = g.pick([f"{a * b}{gap}{sign}{gap}{b}"] * 3 + [f"{a * b} divided by {b}", f"{a * b} over {b}"])
        return f"{a * b}{gap}{sign}{gap}{b}", natural, a, divide_steps(a * b, b), f"{a * b} / {b}"
    limit = g.pick([9, 20, 99]) if thinking else 9
    values = [g.int(1, limit) for _ in range(g.int(3, 5 if thinking else 4))]
    plain = (gap + "+" + gap).join(map(str, values))
    natural = g.pick([plain, plain, "the sum of " + ", ".join(map(str, values[:-1])) + f" and {values[-1]}"])
    return plain, natural, sum(values), sum_steps(values), " + ".join(map(str, values))


def arithmetic(g, thinking):
    """One sum, in English, Chinese or Japanese, with the answer as a number or a sentence."""
    plain, natural, value, steps, clean = expression(g, thinking)
    language = g.pick(["en"] * 7 + ["zh"] * 2 + ["ja"])
    if language == "en" and g.chance(0.12):
        natural, value, steps, clean = in_words(g, WORDS, {"+": [" plus ", " plus ", " added to "], "-": [" minus ", " take away ", " less "], "*": [" times ", " multiplied by "]})
    spoken = None
    if language == "en" and g.chance(0.25):
        spoken, value, steps, clean = quantities.verbal(g, thinking, (add_steps, subtract_steps, multiply_steps, divide_steps))
    short = g.chance(0.4)
    answer = str(value)
    if language == "en":
        user = g.dress(g.rough(spoken or g.say(ASK, e=natural), 0.1), 0.12)
        if short:
            extra = g.say(SHORT)
            user = f"{extra} {user}" if g.chance(0.2) and extra[0] not in ",(" else (user + extra if extra[0] == "," else f"{user} {extra}")
        elif g.chance(0.6):
            answer = f"{clean} = {value}"
        elif g.chance(0.5):
            answer = g.pick([f"The answer is {value}.", f"{clean} equals {value}."])
    elif language == "zh":
        if g.chance(0.3):
            plain, value, steps, clean = in_words(g, CHINESE_WORDS, {"+": ["加", "加上", "加"], "-": ["减", "减去"], "*": ["乘", "乘以"]})
            answer = str(value)
        user = g.say(CHINESE_ASK, e=plain)
        if short:
            extra = g.say(CHINESE_SHORT)
            user = g.pick([f"{user}{extra}", f"{user} {extra}", f"{user}，{extra}", f"{extra}：{user}", f"{user}（{extra}）", f"{extra}，{user}", f"{extra}\n{user}", f"{user}\n{extra}", f"请{extra.removeprefix('请')}：{user}"])
        elif g.chance(0.7):
            answer = f"{clean} = {value}"
    else:
        if g.chance(0.2):
            plain, value, steps, clean = in_words(g, CHINESE_WORDS, {"+": ["足す", "たす"], "-": ["引く", "ひく"], "*": ["かける", "掛ける"]})
            answer = str(value)
        user = g.say(JAPANESE_ASK, e=plain)
        if short:
            user = f"{user}{g.say(JAPANESE_SHORT)}"
        elif g.chance(0.7):
            answer = f"{clean} = {value}"
    think = g.pick([f"{steps}.", f"{steps}."]) + (" Only the number." if short else "")
    return Turn(user, answer, think, ("number", value))


def compare(g, thinking):
    """Which of some numbers is largest or smallest; is a number even."""
    kind = g.int(0, 4)
    if kind == 4:
        return quantities.yes_or_no(g, thinking) if g.chance(0.55) else quantities.in_order(g, thinking)
    if kind < 3:
        values = g.some(range(1, g.pick([20, 100, 1000])), g.int(2, 5))
        listing = ", ".join(map(str, values[:-1])) + f" {g.pick(['and', 'or'])} {values[-1]}"
        large = g.chance(0.5)
        value = max(values) if large else min(values)
        adjective = g.pick(["largest", "biggest", "greatest", "highest"] if large else ["smallest", "lowest", "least"])
        user = g.say(["[Which|What] is the {a} [number|]: {l}?", "[Find|Give me|Tell me] the {a} of {l}.", "Which number is {a}, {l}?", "What is the {a} number in {l}?", "{l}: which is the {a}?", "[Which|What] [of these|of these numbers|one] is {a}: {l}?", "[Tell|Show] me [which|what] is the {a}: {l}[.|]", "[Pick|Select|Choose|Name|State] the {a} [number|one|value] [of|from|among]: {l}[.|]", "[Among|Out of|Of|From] {l}, [which|what] is the {a}[ number| one|]?", "[The numbers are|Numbers:|Given] {l}. [Which|What] is the {a}?", "the {a} [number |one |]of {l}[?|]", "[Can|Could] you [find|tell me|name] the {a} [number |]of {l}?", "{l}[ -|:|?] [the {a} one|give me the {a}|{a} number][, please|?|.]", "[Compare|Look at] {l}. [Which one is|Which is|What is] the {a}?", "[Which|What] is the {a}, {l}?", "[Find|Determine|Identify] the {a} [number|value|one][:| in| among| of] {l}[.|]", "[Here are|These are] [some |the |]numbers: {l}. [Tell me|Say|Which is|Find] the {a}[ one|][.|?]", "[List|Values|Data|Input]: {l}. [Output|Return|Say|Answer with] the {a}[ number| one|][.|]", "[I have|We have|There are] the numbers {l}. [Which|What] is {a}?", "{a} of {l}[?|]", "[Say|Write|Reply with|Answer with] the {a} [number|value|one] [of|in|from] {l}[.|]", "[Which|What] [number|value] [in|of|among] {l} is [the |]{a}?", "[Do you know|Can you say|Could you say] which is {a}[:|,] {l}?", "[Of|From|Between] the [numbers|values] {l}, [which is|which one is|what is|take|pick] the {a}[?|]", "[Let|Have] a look at [the numbers |]{l}[:|;| and say] which is {a}[?|.|]", "[Is it|Tell me:|The {a},] {l}[ - which one|: which one]?", "[Show|Name] the {a} [number|one|value]: {l}[.|]", "[Search|Scan|Check] {l} for the {a} [number|value][.|]"], a=adjective, l=listing)
        return Turn(user, f"The {adjective} number is {value}.", f"I compare {', '.join(map(str, values))}. The {adjective} is {value}.", ("number", value))
    value = g.int(0, g.pick([20, 500]))
    parity = "even" if value % 2 == 0 else "odd"
    user = g.say(["Is {n} [even or odd|odd or even]?", "[Tell me if|Say whether] {n} is even or odd.", "{n}: odd or even?", "[Is|Would you say] {n} [an even|an odd|an even or an odd] number[?|]", "[Even or odd|Odd or even][:|?] {n}", "[What is|What's] the parity of {n}?", "[Can|Could] you tell me [if|whether] {n} is [even|odd]?", "[Is the number|The number] {n}[:| -|,] [even or odd|odd or even]?", "[Check|Decide|Determine] [if|whether] {n} is [odd or even|even or odd|even|odd][.|]", "[I want to know|I wonder] [if|whether] {n} is even[.|]", "[Say|Answer] [even or odd|odd or even][:| for] {n}", "[Does|Can] [the number |]{n} [divide|be divided] by [2|two][ without a remainder| evenly|]?", "[Is|Are] {n} [divisible by|a multiple of] [2|two]?", "[Tell|Show] me [if|whether] {n} is [an |]odd[ number|][.|]", "[Parity|Odd/even|Even/odd] of {n}[?|]", "{n} is [even or odd|odd or even|odd, right|even, right]?", "[Do you think|Do you know if|Please say if] {n} is [even|odd][?|]", "[Number|Value|Input]: {n}. [Even or odd|Odd or even|Is it even|Is it odd]?", "[Classify|Label] {n} as [even or odd|odd or even][.|]", "[Which is it|What is it], {n}: [even or odd|odd or even]?"], n=value)
    return Turn(user, f"{value} is {parity}.", f"The last digit of {value} is {value % 10}, which is {parity}.", ("contains_ci", [parity]))
