"""Echo of arbitrary text, counting, and repetition."""

import json

from . import letters, series, words
from .core import Turn
from .numbers import WORDS

ECHO = [
    "[Repeat|Please repeat|Can you repeat|Could you repeat|Echo|Please echo] [exactly|this exactly|the following|this|the following text|the text|after me|back|verbatim|word for word|the phrase|this sentence]: {t}",
    "[Say|Write|Print|Output|Type|Return] [exactly|this|the following|the text|only|just|the phrase]: {t}", "[Say|Repeat|Echo|Write] {q}", "[Reply|Respond|Answer] with [exactly|only|just|exactly the text|this text|the following text][:|] {t}[| and nothing else| only]",
    "[Reply|Respond|Answer] with [exactly|only|just][:|] {q}[ and nothing else|, nothing else|]", "[Echo back|Repeat back|Say back|Copy|Copy this|Mirror]: {t}", "[Repeat|Echo|Copy] [exactly|the text|this|what I say|after me]: {q}", "Repeat [exactly|this|after me][:|]\n{t}",
    "[Say|Repeat] {t}", "echo {t}", "[Output|Print] [exactly|only] {q}[.|]", "{q}\n[Repeat|Echo|Copy] [that|this|the text above][ exactly|].", "[Repeat|Echo] [the text|the string|everything] [between|inside|in] the quotes: {q}", "[Your|The] [only|whole|entire] [answer|reply|output|response] [must|should] be[:|] {t}",
    "[I want you to|You must|You should|Now] [say|repeat|reply with|answer with|output] [exactly|the following|] {q}[.|]", "[Just|Only|Simply] [say|reply|answer|respond|repeat|output|echo|write|print][:|] {t}", "[Just|Only|Simply] [say|reply with|answer with|respond with|return] {q}[.|]", "[Without changing anything|Character by character|Letter for letter], [repeat|copy|echo]: {t}", "[Please|Kindly] [answer|reply] [exactly|with] [this|] {q}[| and stop]",
    "[Transmit|Reproduce|Recite|Quote|Parrot] [this|the following|exactly]: {t}", "repeat after me: {t}", "[Repeat the following|Repeat the following text exactly|Repeat exactly the following|Please repeat the following exactly][:|:\n|:\n\n]{t}", "[Echo the marker|Return the marker|Reply with the marker|Output the token|Say the marker|Print the code|Reply with the code|Give back the token][:|] {t}",
    "[Respond|Reply|Answer] with [the marker|the word|the string|the code|the token|the text|the phrase] {t}[ only| and nothing else|]", "[Repeat|Say|Echo] [the word|the phrase|the text|the string|the marker|the code] {t}[ exactly|]",
    "[Repeat|Please repeat|Echo] [this|the following] [emoji|emojis|characters|symbols|text|words|line] [exactly|back to me|as is|unchanged][:|] {t}", "[Repeat|Say|Write|Output|Print] [exactly|precisely|literally|word by word|verbatim]: {q}", "[Repeat|Reproduce|Copy|Output|Return] [the following|this|the next] [text|line|string|message|sentence] [exactly|unchanged|verbatim|without changes|as it is|character for character]: {t}", "[Repeat|Echo|Output|Return|Copy] [exactly |]the [text|line|string|message] [below|after the colon|that follows][:|.|]\n{t}",
    "[Please|Kindly|Now] [write|output|return|print|give] [back |]exactly[:|] {t}", "[Text|Input|Message|String]: {t}\n[Repeat|Echo|Copy|Return] [the text|the input|the message|it] [exactly|unchanged|verbatim][.|]", "{t}\n\n[Repeat|Echo|Copy] the [line|text|message] above[ exactly| word for word|][.|]", "[What I say, you repeat|You are an echo|Be my echo|Act as an echo][:|.] {t}",
    "[Repeat|Echo|Say] [exactly|only] [what is between the quotes|the quoted text|what stands in quotes]: {q}", "[Respond|Reply|Answer] [only |just |exactly |]with[:|] {t}", "[Your|The] [reply|answer|response|output] [should be|must be|is] [exactly|only|just|simply] {q}[.|]", "[Output|Return|Print|Write] [exactly |]{q} [and nothing else|only|with nothing before or after][.|]", "[Don't|Do not] [add|change] anything[:|, just repeat:|, only repeat:] {t}", "[Send|Give] [me |][back |][exactly|only|just] [this|the text|this text][:|] {t}", "[Repeat|Say] it [back|again|exactly]: {t}", "[Repeat|Write|Say] this [marker|token|code|id|key|word] [back|exactly|in your answer|in your reply][:|] {t}",
    "[In your answer|In your reply|As your answer], [write|repeat|output] [exactly|only|just] {q}[.|]", "[Answer|Reply|Respond] [using|with] [only |exactly |]the [marker|code|token|identifier|id|label] {q}[.|]", "[The marker|The code|The token|The text] is {q}[.|;|,] [repeat|return|echo|say|write] it[.| exactly.|]", "[Here is|This is] a [marker|code|token|text]: {t}\n[Repeat|Return|Echo] it[ exactly|].", "[Reply|Answer] [{q}|{t}]", "[Confirm|Acknowledge] [by saying|with|by writing|by repeating][:|] {t}", "[Include|Put] [exactly |only |][the marker|the text|this] in your [answer|reply][:|] {t}", "[Test|Echo test|Marker test][.|:|] [Reply|Answer|Respond] with {t}",
    "[Say the following|Say this|Repeat this phrase|Repeat this sentence|Repeat this word|Repeat this line|Repeat these words][ exactly| verbatim| back to me|][:|] {t}", "[Can|Could] you [say|write|print|echo|output] [exactly |only |just |]{q}[?|]", "[I say|I write] {q}[,|.] [you repeat|now you|repeat it exactly|now repeat it][.|]", "[Write out|Type out|Spell out] [exactly|the text][:|] {t}",
]
ECHO_MORE = [
    "[I'll give|I will give|I give] you [a text|a marker|a word|a line|something], [repeat it|say it back|return it][:|.] {t}", "[Please |Kindly |]write back [to me |]what [is|stands] between the [brackets|quotes|marks][:|] {q}", "[Write|Say|Repeat|Copy|Print] [exactly|only|verbatim|literally]: {t}", "{t}\n[Say that back|Repeat it|Return it|The same again|Echo][, please|][.|]", "[Put|Place|Use] [exactly |only |just |]{q} [in|as|into] your [answer|reply|response][.|]", "[Your|The] [answer|reply] [must|should|has to] [contain|be|include] [exactly |][{q}|{t}]", "[Message to repeat|To be repeated|To be echoed|Text to return]: {t}", "[Can|Could|Would] you [please |][say|repeat|echo|return] [this|the following|exactly this][:|?] {t}",
    "[Let me see|I want to see|Show me] [exactly |only |]{q} [in your answer|as your answer|and nothing more][.|]", "[No changes|No comment|Nothing added|Word by word|One to one|As is][:|,] [just |]{t}", "[Say|Write] [the words|the sign|the signs|the letters|the line] [{q}|{t}]", "[Be a parrot|Play echo|Parrot mode|Echo mode|Copy mode][:|.] {t}", "[Reply|Answer|Respond] with [nothing but|no more than|only] [{q}|{t}]", "[Take|Here is|This is] the [string|text|marker|code] {q} and [return|print|repeat] it[ unchanged| as it is|][.|]", "[What I write|What comes now|The next line] is to be [repeated|copied|returned]:\n{t}", "Fill your [answer|reply] with [just |]{q}, [nothing else|once][.|]", "[Type|Enter|Write|Print] the [following|next] [symbols|characters|text|words] [exactly|once][:|] {t}", "[Give me back|Send back|Hand back|Throw back][:|] {t}",
    "[Everyone repeat|All together|Say after me|Now you|Your turn]: {t}", "[To confirm|To prove that you read it|As a test|For a check], [repeat|write|say] {q}[.|]", "[Show|Display|Render] [exactly |]this[ text| string| line|]: {t}", "[Print|Echo|Say] {q}, [please|then stop|once|no more][.|]", "[My favourite|A nice|The magic] [phrase|word|line] is {q}. [Say it.|Repeat it.|Write it.]", "[Return|Output|Produce] [this|the following] verbatim[, nothing else|, please|][:|] {t}",
]
CHINESE_ECHO = ["请重复：{t}", "请原样重复：{t}", "重复一遍：{t}", "请复述：{t}", "跟我说：{t}", "请一字不差地重复：{t}", "请输出：{t}", "只回复：{t}", "请准确重复以下内容：{t}", "说“{t}”", "请重复这句话：{t}", "原样输出：{t}", "复述以下文字：{t}", "请说：{t}", "请重复下面的话：{t}", "请回答：{t}", "请一字不漏地重复：{t}", "请完整重复以下文字：{t}", "把这句话重复一遍：{t}", "请精确重复：{t}", "请逐字重复：{t}", "请照着说：{t}", "重复：{t}", "复制：{t}", "请把下面的文字原样返回：{t}", "请原封不动地输出：{t}", "请只输出以下内容：{t}", "请重复以下中文：{t}", "请准确地重复：“{t}”", "重复这段话：{t}", "请说“{t}”", "请逐字复述下面的内容：\n{t}", "请重复“{t}”", "请重复以下内容，不要添加任何东西：{t}", "只输出“{t}”", "请重复我的话：{t}", "念：{t}", "请写：{t}", "照抄：{t}", "请一模一样地输出：{t}"]
JAPANESE_ECHO = ["繰り返してください：{t}", "次の言葉を繰り返してください：{t}", "そのまま繰り返して：{t}", "「{t}」と言ってください。", "「{t}」と答えてください", "復唱してください：{t}", "次の文をそのまま出力してください：{t}", "次を正確に繰り返してください：{t}", "「{t}」を繰り返してください。", "{t} と言って", "そのまま返してください：{t}", "「{t}」とだけ答えて", "次の文字を繰り返してください：{t}", "正確に繰り返してください：{t}", "以下をそのまま出力：{t}", "リピートして：{t}", "この文を繰り返して：「{t}」", "「{t}」と書いてください", "{t}\n上の文を繰り返してください。", "同じ言葉を言ってください：{t}", "「{t}」とそのまま返して", "コピーしてください：{t}", "一字一句そのまま：{t}", "次のテキストを正確に繰り返す：{t}"]
SNIPPETS = [
    "def {a}({b}):\n    return {b} + {n}", "for {a} in range({n}):\n    print({a})", "x = {n}", "int {a} = {n};", "SELECT {a} FROM {b} WHERE {c} = {n};", "console.log('{a}');", "if ({a} > {n}) {{ {b}(); }}",
    "<div class=\"{a}\">{b}</div>", "{{\"{a}\": {n}, \"{b}\": \"{c}\"}}", "git commit -m '{a} {b}'", "ls -la /{a}/{b}", "https://{a}.com/{b}?{c}={n}", "{a}@{b}.org", "[{n}, {m}]", "{a} = [{n}, {m}, \"{b}\"]", "# {a} {b}", "* {a}\n* {b}",
    "std::vector<{a}> {b};", "{a}.{b}({n})", "/{a}/{b}.{c}", "--{a}={n} --{b}", "{n}:{m}", "${n}.{m}", "\\{a}{{{b}}}", "{a}|{b}|{c}", "fn {a}() -> {b} {{}}", "{a} && {b} || !{c}", "({a}, {b})", "v{n}.{m}.0-{a}", "@{a} #{b}", "{a}~{b}^{n}",
]


def snippet(g):
    """A line of code, a path, an address or another piece with punctuation."""
    return g.pick(SNIPPETS).format(a=words.word(g), b=words.word(g), c=words.word(g), n=g.int(0, 999), m=g.int(0, 99))


def mixed_case(g, text):
    """The text in some letter case."""
    return g.pick([text, text, text, text.upper(), text.title(), text.capitalize()])


def anything(g):
    """Any short text worth copying."""
    roll = g.int(0, 21)
    if roll > 19:
        return rare(g)
    if roll < 3:
        return words.code(g)
    if roll < 6:
        return mixed_case(g, words.words(g, 1, 8)) + g.pick(["", "", ".", "!", "?", "..."])
    if roll < 8:
        return words.sentence(g)
    if roll < 10:
        return words.chinese(g)
    if roll < 12:
        return words.japanese(g)
    if roll < 14:
        return words.emoji(g)
    if roll < 15:
        return snippet(g)
    if roll < 16:
        return words.random_text(g, 3, 24)
    if roll < 17:
        return " ".join(str(g.int(0, 999)) for _ in range(g.int(1, 10)))
    if roll < 18:
        return "".join(chr(g.int(33, 126)) for _ in range(g.int(3, 20))).replace("<|", "<")
    if roll < 19:
        return g.pick([" ", "", "-", ", "]).join([words.words(g, 1, 2), words.emoji(g, 1, 2), words.chinese(g), words.japanese(g)][g.int(0, 1):g.int(2, 4)])
    return "".join(chr(g.pick([g.int(0x400, 0x44F), g.int(0x3B1, 0x3C9), g.int(0xE0, 0xFF), g.int(0xAC00, 0xD7A3), g.int(0x4E00, 0x9FA5)])) for _ in range(g.int(2, 8)))


def rare(g):
    """Characters that are written with several tokens each, alone, mixed with others or in lines."""
    def run(low, high, first, last):
        return "".join(chr(g.int(first, last)) for _ in range(g.int(low, high)))

    kind = g.int(0, 5)
    if kind < 2:
        return run(2, 14, 0x4E00, 0x9FA5)
    if kind == 2:
        return words.chinese(g) + run(1, 5, 0x4E00, 0x9FA5) + words.chinese(g)
    if kind == 3:
        return g.pick(["，", "。", " ", "、", ""]).join([words.chinese(g), words.japanese(g), words.emoji(g, 1, 2), words.words(g, 1, 3), run(1, 4, 0x4E00, 0x9FA5), run(2, 6, 0xAC00, 0xD7A3)][g.int(0, 3):][:g.int(2, 3)])
    if kind == 4:
        return g.pick(["", " "]).join(chr(g.pick([g.int(0x1F300, 0x1F64F), g.int(0x1F680, 0x1F6C5), g.int(0x1F900, 0x1F9FF)])) for _ in range(g.int(1, 6)))
    return "\n".join(g.pick([words.sentence, words.chinese, words.japanese, snippet])(g) for _ in range(g.int(2, 4)))


def quoted(g, text):
    """The text between some kind of quotes."""
    left, right = g.pick([('"', '"'), ('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("«", "»"), ("<<", ">>"), ("**", "**"), ("[", "]")])
    return left + text + right


def echo(g, thinking):
    """Repeat a text exactly."""
    text = anything(g).strip()
    language = g.pick(["en"] * 8 + ["zh", "ja"])
    if language == "zh":
        user = g.say(CHINESE_ECHO, t=text)
    elif language == "ja":
        user = g.say(JAPANESE_ECHO, t=text)
    else:
        template = g.phrase(ECHO if g.chance(0.65) else ECHO_MORE)
        if text.endswith((".", "!", "?")) is False and template.endswith("{t}") and g.chance(0.08):
            template += "."
        user = g.say(template, t=text, q=quoted(g, text))
    think = f"I repeat: {text}" if g.chance(0.5) and len(text) < 40 else "The user wants this text repeated exactly."
    return Turn(user, text, think, ("contains", [text]))


def number_word(value):
    """Small numbers in words."""
    return WORDS[value] if value <= 20 else str(value)


def counting(g, thinking):
    """Count up, down, in steps, with a separator, in three languages or in words."""
    if g.chance(0.35):
        return series.series(g, thinking)
    step = g.pick([1] * 6 + [2, 2, 3, 5, 10])
    start = g.pick([1, 1, 1, 1, 0, g.int(1, 20), g.int(1, 90)]) if step == 1 else g.pick([step, 0, g.int(1, 10)])
    length = g.int(3, g.pick([6, 10, 12, 20, 30, 40]))
    end = start + step * (length - 1)
    values = list(range(start, end + 1, step))
    down = g.chance(0.2)
    if down:
        values.reverse()
    first, last = values[0], values[-1]
    styles = [(" ", "separated by [spaces|a space|single spaces|one space|blanks]|with [spaces|a space|single spaces][ between| between them| in between|]|, [space separated|space-separated]|spaced|, [put|with] a space between [them|the numbers|each number]|on one line, [separated by|with] spaces|, separated by [single |]spaces|, spaced"), (", ", "separated by [commas|a comma and a space|comma and space]|with commas[ between| between them|]|, [comma separated|comma-separated|divided by commas]|, put commas between them"), ("\n", "[one per line|each on a new line|one number per line|on separate lines|each on its own line|line by line|one number on each line|with line breaks]"),
              (",", "separated by commas without spaces"), ("-", "separated by [dashes|hyphens]"), ("; ", "separated by semicolons"), (" | ", "separated by vertical bars")]
    separator, spelling = g.pick(styles[:3] * 3 + styles)
    style = g.say("[" + spelling + "]") if g.chance(0.6) else ""
    if not style:
        separator = ", "
    in_words = end <= 20 and step == 1 and g.chance(0.12)
    show = number_word if in_words else str
    a, b = (number_word(first), number_word(last)) if (max(values) <= 20 and g.chance(0.4)) else (first, last)
    language = g.pick(["en"] * 8 + ["zh", "ja"])
    if language != "en" and step == 1 and not in_words:
        separator = g.pick([", ", " ", "、"]) if language == "ja" else g.pick([", ", " ", "，"])
        named = {", ": ("用逗号和空格分隔", "コンマとスペースで区切って"), " ": ("用空格分隔", "スペースで区切って"), "，": ("用中文逗号分隔", ""), "、": ("", "読点で区切って")}[separator]
        if language == "zh":
            if separator == ", " and g.chance(0.6):
                named = ("", "")
            user = g.pick([f"从{first}数到{last}", f"请从{first}数到{last}", f"数数，从{first}到{last}", f"请列出从{first}到{last}的数字", f"请写出{first}到{last}"]) + (f"，{named[0]}" if named[0] else "") + g.pick(["", "。", "！"])
        else:
            if separator == ", " and g.chance(0.6):
                named = ("", "")
            user = (named[1] or "") + g.pick([f"{first}から{last}まで数えてください", f"{first}から{last}まで数えて", f"{first}から{last}までの数を書いてください"]) + g.pick(["", "。"])
        answer = separator.join(map(str, values))
        return Turn(user, answer, g.pick([f"从 {first} 数到 {last}。", f"I count from {first} to {last}."]) if language == "zh" else f"{first}から{last}まで数えます。", ("contains", [answer]))
    by = "" if step == 1 else g.say([" by {s}s", " in steps of {s}", " counting by {s}", " by {w}s"], s=step, w=WORDS[step] if step <= 20 else step)
    back = g.pick([" backwards", " down", " backward", ""]) if down else g.pick(["", "", "", " up"])
    if not down and first == 1 and step == 1 and g.chance(0.4):
        user = g.say(["[Please |Can you |Could you |]count [up |]to {b}", "Count to {b}", "[Count|Please count] [all the way |]to {b}", "[I want you to|Now|Let's] count to {b}", "[Can|Could|Would] you count [for me |][up |]to {b}", "Count [aloud |out loud |slowly |]to {b}", "[Count|Counting] up to {b}", "[Show me how you|You can] count to {b}", "[Please |]count from one to {b}"], b=b)
    else:
        user = g.say(["[Please |Can you |Could you |]count{k} from {a} to {b}{y}", "[List|Write|Print|Output|Give me|Say|Show] [the |all |]numbers [from |]{a} to {b}{y}", "[Count|Enumerate]{k} {a} to {b}{y}", "[Write out|Type] {a} [through|to] {b}{y}", "[Start at|Begin with] {a} and count{k} to {b}{y}",
                      "count{k} {a}..{b}{y}", "Numbers {a} to {b}{y}", "[Recite|Name] the numbers {a} to {b}{y}", "[Write|List|Print|Give me|Output|Say] [all |][the |]numbers between {a} and {b}{y}", "[Write|Print|Output] {a} to {b}{y}", "[I need|I want] [all |]the numbers from {a} to {b}{y}", "[Please |]count{k} starting [at|from|with] {a} [and ending|until you reach|up to|ending] [at |with |]{b}{y}", "[Can|Could] you [count|list the numbers]{k} from {a} [to|until|up to] {b}{y}", "[Count|Go]{k} from {a} [until|through|till] {b}{y}", "[Display|Return|Produce|Generate] the [integers|numbers|sequence] [from |]{a} [to|through] {b}{y}", "[The numbers|All integers|Every number] from {a} to {b}{y}", "[List|Enumerate] [the integers |all integers |every number |]from {a} [to|through] {b}{y}", "from {a} to {b}, count{k}{y}",
                      "[Let's|Now] count{k} from {a} to {b}{y}", "{a} to {b}{y}"], a=a, b=b, k=back, y=by)
    if in_words:
        user += g.pick([" in words", ", in words", " using words", ", spelled out"])
    if style:
        user += (style if style.startswith(",") else g.pick([" ", ", "]) + style)
    user += g.pick(["", ".", ".", "!"])
    answer = separator.join(show(value) for value in values)
    think = f"I count from {first} to {last}" + (f" in steps of {step}" if step > 1 else "") + (" downwards" if down else "") + "."
    return Turn(user, answer, think, ("contains", [answer]))


def repetition(g, thinking):
    """Say a word many times."""
    unit = g.pick(["a", "a", "b", "x", "ha", "la", "ok", "hello", "yes", "no", "hi", g.pick(words.ENGLISH), words.made_up(g, 1), g.pick(words.EMOJI), g.pick(words.CHINESE)])
    count = g.pick([g.int(2, 12), g.int(2, 30), g.int(10, 100), 100, 50, 20, 10])
    separator = g.pick([" ", " ", " ", ", ", "\n"])
    how = {" ": g.pick(["", "", " separated by spaces"]), ", ": g.pick([" separated by commas", " with commas"]), "\n": g.pick([" one per line", " each on a new line"])}[separator]
    user = g.say(["[Say|Write|Print|Repeat|Output|Type] {q} {n} times{h}", "[Say|Write|Type] {u} x{n}{h}", "[Say|Repeat] {u} x {n}{h}", "Repeat the [word|text|letter|token] {q} {n} times{h}", "[say|write] {u} {n} times{h}", "{n} times {q}{h}", "Write [the word |]{u} {n} times in a row{h}", "{u} x{n}{h}", "[Print|Give me|Show] {n} [copies of|times] {u}{h}", "[Please |]repeat {q} exactly {n} times{h}", "{u} * {n}{h}", "I want to see {u} {n} times{h}", "[Type out|List] {u} {n}x{h}", "[Can you|Could you] [say|write] {u} {n} times{h}?", "[Generate|Produce] {u} repeated {n} times{h}", "[Please |]say {q} [a total of |]{n} times{h}", "[Repeat|Say|Write] {q} [over and over|again and again], {n} times{h}", "[Say|Write|Print|Output] {n} times [the word|the text|the letter|the token|] {q}{h}", "[I need|Give me|I want] {q} {n} times{h}", "[Say|Write|Repeat] the [word|text|letter] {q}[,|] {n} times[ in total|]{h}", "[A sequence|A list|A line] of {n} {q}{h}", "[Can|Could|Would] you [please |]repeat {q} {n} times{h}?", "[Write|Say|Type] {u} [{n}x|{n} x]{h}", "[Fill the line with|Spam|Chant|Shout] {q} {n} times{h}", "[Output|Print] the [word|letter|string] {q} [exactly |]{n} times{h}"],
                 u=unit, q=g.pick([unit, f'"{unit}"', f"'{unit}'"]), n=count, h=how) + g.pick(["", ".", "!"])
    answer = separator.join([unit] * count)
    return Turn(user, answer, f"I write {unit} {count} times.", ("repeats", unit, count))


def spelling(g, thinking):
    """Letter-level tasks: upper case, spelling, reversing a list, first of a list."""
    if g.chance(0.5):
        return letters.letters(g, thinking)
    text = words.words(g, 1, 5)
    kind = g.int(0, 4)
    if kind == 0:
        user = g.say(["[Write|Put|Convert|Turn|Change] {q} [in|to|into] [upper case|uppercase|capital letters|all caps].", "[Uppercase|Capitalize all letters of] {q}[.|]", "[Make|Please make] {q} [upper case|uppercase|all caps|all capital letters][.|]", "{q} in [upper case|uppercase|capital letters|capitals|caps][.|, please.|]", "[Give|Show|Return|Output] [me |]{q} in [uppercase|upper case|capital letters|all caps][.|]", "[Transform|Rewrite] {q} [in|to|into] [uppercase|upper case|capitals|all caps][.|]", "[Can|Could] you [write|put|convert] {q} [in|to] [capital letters|uppercase|all caps]?", "[Shout|SHOUT] {q}[.|!|]", "[What is|What's] {q} in [capital letters|upper case|uppercase]?", "[Use|With] [only |]capital letters, write {q}[.|]", "[To|In] [uppercase|capitals]: {q}", "[upper|uppercase|toUpperCase|UPPER]({q})", "[Capital letters|Uppercase|All caps][, please|]: {q}"], q=quoted(g, text))
        return Turn(g.dress(user, 0.1), text.upper(), "I write it in upper case.", ("contains", [text.upper()]))
    if kind == 1:
        text = words.word(g)
        return Turn(g.say(["Spell [the word |]{q}[.|]", "[How do you spell|Can you spell] {q}?", "[Spell|Please spell|Spell out|Spell it out:] {q}[, please|][.|]", "[Spelling of|The spelling of|Letters of] {q}[.|]", "[How is|How's] {q} [spelled|spelt]?", "[Give|Tell|Show] me the [letters|spelling] of [the word |]{q}[.|]", "[Write|Say|List] [the letters of |]{q} letter by letter[.|]", "[What are|Which are] the letters [of|in] {q}?", "[Could|Would] you spell [the word |]{q}[ for me|]?", "[Split|Break] [the word |]{q} into [its |]letters[.|]", "{q}, [letter by letter|spelled out][.|, please.|]", "[I want|I need] the spelling of {q}[.|]", "[Separate|List] the letters of {q}[.|]"], q=quoted(g, text)), "-".join(text.upper()), f"I spell {text} letter by letter.", ("contains", ["-".join(text.upper())]))
    items = [words.word(g) for _ in range(g.int(2, 7))]
    listing = ", ".join(items)
    if kind == 2:
        user = g.say(["[Reverse|Invert] [the order of |]this list: {l}", "[Write|Give|List] these in reverse order: {l}", "List these [words|items] backwards: {l}", "[Reverse|Flip|Turn around] [the list|these items|these words|the words|the following list]: {l}", "[Put|Sort|Arrange] [these|the items|the words] in [reverse|reversed|the opposite|backward] order: {l}", "{l}: [reverse it|reverse this list|in reverse order|backwards, please|now backwards][.|]", "[What is|What's] [this list|the list] [in reverse|reversed|backwards|from last to first]: {l}?", "[Say|Repeat|Output|Return] [these|the list|the items] from [last to first|the end to the beginning|back to front]: {l}", "[Can|Could] you [reverse|invert] [the order of |][this list|these words]: {l}", "[Backwards|Reversed|In reverse], please: {l}", "[Start with the last|Begin at the end][ one|] and list [these|all] [words|items]: {l}", "[List|Items|Words]: {l}. [Reverse the order|Reverse them|Write them backwards][.|]", "[I need|I want] this list [reversed|in reverse|backwards]: {l}", "reverse {l}", "[The reverse|The reversed list] of {l}[ is what|]?"], l=listing)
        return Turn(user, ", ".join(reversed(items)), "I list the items from last to first.", ("contains", [", ".join(reversed(items))]))
    if kind == 3:
        index = g.pick([0, len(items) - 1, g.int(0, len(items) - 1)])
        ordinal = "last" if index == len(items) - 1 and g.chance(0.7) else ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"][index]
        user = g.say(["[What is|What's|Which is] the {o} [word|item|element|entry] [in|of] [this list|the list]: {l}?", "{l}: [what is|give me] the {o} [one|item][?|.|]", "[Give|Tell] me the {o} [word|item] of: {l}", "[Which|What] [word|item|one] [is|comes] {o} in[ this list| the list|]: {l}?", "[Pick|Choose|Select|Take|Find|Name|Return|Output] the {o} [word|item|one|entry|element] [of|from|in] [this list|the list|these]: {l}", "[List|Items|Words]: {l}. [What is|Which is|Give me|Name] the {o} [one|item|word][?|.]", "[Here is a list|Given the list|Consider]: {l}. [What is|Which is|Tell me] the {o} [item|word|element|entry][?|.]", "the {o} [word|item|one] of {l}[ is|?|]", "From {l}, [pick|choose|give me|take] the {o} [one|item|word][.|]", "[Only|Just] the {o} [word|item][, please|][:| of] {l}", "[In|From] the list {l}, [what|which] is the {o} [item|word|entry]?", "[I need|I want] the {o} [word|item|entry] [of|from]: {l}", "{o} [word|item|element] of [this list: |the list: |]{l}[?|]", "[Can|Could] you tell me the {o} [word|item] [of|in] {l}?", "Among {l}, which is {o}?"], o=ordinal, l=listing)
        return Turn(user, items[index], f"The {ordinal} item is {items[index]}.", ("contains", [items[index]]))
    user = g.say(["[Turn|Convert|Put] [this|the list] into a JSON array: {l}", "[Give|Write|Return] [these|the words] as a JSON [array|list]: {l}", "[A JSON array|JSON array|A JSON list|JSON list] [of|with|containing|from][:|] {l}", "[Make|Create|Build|Generate|Produce] a JSON [array|list] [of|from|with|containing][:|] {l}", "{l}[ -|:| as] [JSON array|as a JSON array|to a JSON array][, please|][.|]", "[Format|Encode|Represent|Express|Output] [this list|these|these words|the following] as [a |]JSON [array|list]: {l}", "[I need|I want] [these words|this list|them] as a JSON array: {l}", "[Can|Could] you [make|write] a JSON array [of|from|out of] {l}?", "[Put|Wrap] [these|these words|the items] [into|in] a JSON [array|list]: {l}", "[List|Words|Items]: {l}. [Return|Give me|Write] a JSON array[.|]", "json array: {l}", "[As|In] JSON[, an array|, a list]: {l}"], l=listing)
    answer = json.dumps(items, ensure_ascii=False)
    return Turn(user, answer, "I write the items as a JSON array.", ("contains", [answer]))
