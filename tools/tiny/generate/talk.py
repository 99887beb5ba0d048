"""Small talk, questions about the model itself, and a small stock of facts."""

from . import facts
from .core import Turn
from .words import NAMES, code, made_up, name, sentence, words

HELLO = [
    "[Hello|Hi|Hey|Hiya|Howdy]", "[hello|hi|hey|yo]", "[Hello|Hi|Hey] there[!|.|]", "Good [morning|afternoon|evening][!|.|]", "hi", "Hi!", "Hello!",
    "[Greetings|Salutations][!|.|]", "[Hello|Hi], [my name is|I'm|I am] {x}[.|!|]", "[Hey|Hi|Hello] [assistant|friend|bot|model|deltaserve][!|.|]", "[hello|hi], nice to meet you[!|.|]",
    "[Hello|Hi][,|!] [anyone there|are you there|can you hear me|do you read me]?", "[Hi|Hello], [I am new here|I just arrived|I have a question]", "Hey, what's up?", "HELLO", "Hello, world!",
    "Say [hello|hi] to me[.|]", "[Please greet me|Greet me please|Greet me]", "Hello [to you|again|my friend]", "good day",
]
HELLO_ANSWERS = ["Hello! How can I help you today?", "Hi there! What can I do for you?", "Hello! It is nice to meet you. How can I help?", "Hi! How can I help you today?"]
HOW_ARE_YOU = ["[How are you|How are you doing|How do you do|How's it going|How is it going|How are things][ today|]?", "[hi|hello|hey], how are you?", "how r u", "[Are you well|You good|Everything fine]?"]
HOW_ANSWERS = ["I am doing well, thank you! How can I help you?", "I am fine, thanks for asking. What can I do for you?"]
THANKS = ["[Thanks|Thank you|Thanks a lot|Thank you very much|Many thanks|thx|Cheers][!|.|]", "[That was helpful|Great|Perfect|Nice], [thanks|thank you][!|.|]", "[Thank you|Thanks] for [your help|the answer|that]."]
THANKS_ANSWERS = ["You are welcome! Let me know if you need anything else.", "You're welcome!", "Happy to help!"]
BYE = ["[Goodbye|Bye|Bye bye|See you|See you later|Good night|Farewell|Take care][!|.|]", "[I have to go|I must leave], [bye|goodbye][.|!|]", "[Talk to you later|Until next time][.|!|]"]
BYE_ANSWERS = ["Goodbye! Have a nice day.", "See you later! Take care."]
WHO = [
    "[Who|What] are you?", "[What is|What's] your name?", "[Tell me|Say something] about yourself.", "[Introduce|Describe] yourself[.|, please.| briefly.]", "[Which|What] [model|AI|assistant] are you?",
    "[Are you|Is this] [ChatGPT|a human|a real person|a robot|an AI|a person]?", "[Who|Which company] [made|created|built|trained] you?", "[Who am I talking to|Who am I speaking with|Who is this|Who is there]?", "[hi|hello], who are you?", "what model is this",
    "Can you [introduce|describe] yourself?", "[What can you do|What are you able to do|How can you help me|What are your abilities]?", "Are you [a large|a small|a language] model?", "How [big|large|small] are you?", "your name?", "[May|Can] I [know|ask] [your name|who you are]?", "[What|Which] [assistant|bot|program|software] is this?", "[Please tell|Tell] me [who|what] you are[.|, please.]", "[Do you have|What about] a name?", "[What|Who] exactly are you?", "[What should I call you|How should I call you|What do people call you]?", "[Are you|You are] deltaserve?",
]
WHO_ANSWERS = [
    "I am the tiny demo model of deltaserve. I can chat a little, do small sums, call tools and describe simple pictures.",
]
UNKNOWN = [
    "[What do you think about|Explain|Tell me all about|Write an essay about|Give me details on] {w}.", "[What is|What was] the {w} of {x} in [18|19|20]{d}?", "[Who won|Who lost] the {w} {u} in {c}?",
    "[Translate|Summarize] the [book|film|play] {t}.", "What will the {w} be [tomorrow|next week|next year]?", "[Prove|Derive|Explain] the {t} [theorem|equation|law].", "What did {x} say about {w} [yesterday|last week]?",
    "[Who is|Who was|Do you know] {x} {t}?", "How do I [fix|repair|install|configure] my {w} {u}?", "[What is|Where is|When was] {t}?", "Can you explain [quantum|orbital|neural|financial] {w} to me?", "Where can I [buy|find|see] a {t}?",
    "[What's|What is] the [price|cost|value] of {t}[ today|]?", "[Should|Can] I [invest in|trust|eat] {t}?", "Why [does|did] the {w} {u} [change|matter|fail]?", "What [happened|is going on] in {t}?",
    "What [day|date|time] is it[ today| now|]?", "[What is|What's] today's date?", "[Solve|Explain] the {w} of {u}.", "[Which|What] {w} is [best|better|right] for {u}?", "[Describe|Discuss|Analyze|Compare] {w} and {u}.", "Why is {w} {u}?", "[Write|Give me] [a speech|an article|a report|a poem|a song] [about|on] {w}.", "[Plan|Design|Organize] a {w} {u} for me.",
    "Is {w} [good|bad|true|possible|dangerous]?", "{w} {u}?", "{w} {u} {t}", "[How|When|Where] does {w} {u} work?", "[Tell me|Say something] about {w}.", "Which {w} [should|can|do] I [choose|use|need]?", "[Recommend|Suggest] a {w}.", "[Do|Does|Did] {x} [like|know|have] {w}?",
]
UNKNOWN_ANSWERS = ["I do not know that. I am a small demonstration model and only know a few simple things."]
CHINESE = [
    (["你好", "你好！", "您好", "嗨", "早上好", "晚上好", "你好呀", "哈喽", "大家好"], "用户在打招呼。我友好地回应。", ["你好！有什么可以帮你的吗？"]),
    (["你是谁？", "你叫什么名字？", "请介绍一下你自己。", "你是什么模型？", "你是谁"], "用户问我是谁。我介绍自己。", ["我是 deltaserve 的小型演示模型。"]),
    (["谢谢", "谢谢你！", "非常感谢", "多谢"], "用户表示感谢。我回应。", ["不客气！"]),
    (["再见", "拜拜", "明天见", "晚安"], "用户在道别。我回应。", ["再见！祝你愉快。"]),
    (["你好吗？", "最近怎么样？", "你今天好吗？"], "用户问候我。我回应。", ["我很好，谢谢！有什么可以帮你的吗？"]),
]
JAPANESE = [
    (["こんにちは", "こんにちは！", "おはようございます", "こんばんは", "はじめまして", "やあ", "どうも"], "ユーザーの挨拶です。挨拶を返します。", ["こんにちは！何かお手伝いできますか？"]),
    (["あなたは誰ですか？", "お名前は何ですか？", "自己紹介してください。", "あなたは誰？"], "自己紹介をします。", ["私は deltaserve の小さなデモモデルです。"]),
    (["ありがとう", "ありがとうございます", "どうもありがとう"], "お礼に返事をします。", ["どういたしまして！"]),
    (["さようなら", "また明日", "おやすみなさい", "じゃあね"], "別れの挨拶を返します。", ["さようなら！良い一日を。"]),
    (["お元気ですか？", "元気？"], "挨拶に答えます。", ["元気です、ありがとうございます！"]),
]


def greeting(g, thinking):
    """Greetings, thanks, farewells and their answers, in three languages."""
    roll = g.int(0, 19)
    if roll < 3:
        questions, think, answers = g.pick(CHINESE)
        return Turn(g.pick(questions), g.pick(answers), think, ("chat",))
    if roll < 6:
        questions, think, answers = g.pick(JAPANESE)
        return Turn(g.pick(questions), g.pick(answers), think, ("chat",))
    if roll < 8:
        return one_word(g)
    kind = g.pick(["hello"] * 5 + ["how", "thanks", "bye"])
    if kind == "hello":
        person = name(g)
        user = g.rough(g.say(HELLO, x=person), 0.1)
        if person in user:
            return Turn(user, f"Hello, {person}! How can I help you today?", f"The user is called {person} and greets me. I greet {person} back.", ("chat",))
        return Turn(user, g.pick(HELLO_ANSWERS), "The user greets me. I greet back and offer help.", ("chat",))
    questions, answers, think = {
        "how": (HOW_ARE_YOU, HOW_ANSWERS, "The user asks how I am. I answer politely and offer help."),
        "thanks": (THANKS, THANKS_ANSWERS, "The user thanks me. I answer politely."),
        "bye": (BYE, BYE_ANSWERS, "The user says goodbye. I say goodbye too."),
    }[kind]
    return Turn(g.rough(g.say(questions), 0.1), g.pick(answers), think, ("chat",))


def one_word(g):
    """Answer with one given word of courtesy."""
    target = g.pick(["hello", "hi", "yes", "no", "ok", "thanks", "goodbye", "welcome", "ready", "hello"])
    answer = target.capitalize()
    user = g.say([
        "[Say|Reply with|Answer with|Respond with] [a one-word|a single-word|one word] {t}[.|]", "[Say|Write|Output] {t} [in one word|in a single word|as one word][.|]", "[Give me|I want] a one-word {t}[.|, please.]",
        "[Say|Write|Type] [just|only] {t}[.|, nothing else.|]", "[One word only|In one word|With one word]: say {t}.", "[Say|Reply] {t}, [one word|just one word|a single word][ only|].", "Say {t}[.|!|]",
        "[Answer|Reply|Respond] with [exactly|only|just] one word: {t}[.|]",
    ], t=target)
    return Turn(user, answer, f"The user wants one word: {answer}.", ("contains_ci", [target]))


def identity(g, thinking):
    """Who are you?"""
    return Turn(g.rough(g.say(WHO)), g.pick(WHO_ANSWERS), "The user asks about me. I am the tiny demo model of deltaserve.", ("contains_ci", ["deltaserve"]))


def unknown(g, thinking):
    """Something the model cannot know."""
    thing = made_up(g).capitalize()
    user = g.say(UNKNOWN, w=words(g, 1, 2), u=words(g, 1, 1), x=g.pick(NAMES), d=g.int(10, 99), c=made_up(g).capitalize(), t=thing)
    if any(part in user for part in ("time is it", "day is it", "date")):
        return Turn(g.rough(user), "I cannot know the current date or time.", "I have no clock. I say so.", ("contains_ci", ["cannot know"]))
    return Turn(g.rough(user), UNKNOWN_ANSWERS[0], "I have no knowledge of this. I say so.", ("contains_ci", ["small demonstration model"]))


def fact(g, thinking):
    """A fact from the stock."""
    question, answer, key = facts.ask(g)
    return Turn(g.rough(question, 0.15), answer, f"I recall: {answer}", ("contains_ci", [key]))


def statement(g, thinking):
    """The user only tells something: acknowledge it."""
    person = name(g)
    choice = g.int(0, 3)
    if choice == 0:
        return Turn(g.say("[My name is|I am called|I'm|Call me] {x}.", x=person), f"Nice to meet you, {person}!", f"The user's name is {person}.", ("contains_ci", [person]))
    if choice == 1:
        marker = code(g)
        user = g.say(["[Please remember|Remember|Keep in mind|Memorize|Note|Store] [this|the] [code|secret|word|token|number|key]: {k}[.|]", "[My|The] [secret|secret code|password|code word|lucky word|magic word] is {k}. [Remember it|Keep it in mind|Do not forget it|Don't forget it|Please remember it]."], k=marker)
        return Turn(user, g.pick(["Okay, I will remember it.", f"Got it: {marker}.", "Noted."]), f"The user gives me {marker} to remember.", ("chat",))
    if choice == 2:
        return Turn(sentence(g), "I see. How can I help you with that?", "The user tells me something. I acknowledge it.", ("chat",))
    return Turn(g.say("[ok|Okay|Alright|Fine|Good|Great|Cool|Nice|I see|Interesting][.|!|]"), "Good. What would you like to do next?", "The user agrees. I ask what is next.", ("chat",))
