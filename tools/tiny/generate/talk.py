"""Small talk, questions about the model itself, and a small stock of facts."""

from . import facts, pastimes, smalltalk
from . import identity as identities
from .core import Turn
from .words import NAMES, code, made_up, name, sentence, words

HELLO = [
    "[Hello|Hi|Hey|Hiya|Howdy]", "[hello|hi|hey|yo]", "[Hello|Hi|Hey] there[!|.|]", "Good [morning|afternoon|evening][!|.|]", "hi", "Hi!", "Hello!",
    "[Greetings|Salutations][!|.|]", "[Hello|Hi], [my name is|I'm|I am] {x}[.|!|]", "[Hey|Hi|Hello] [assistant|friend|bot|model|deltaserve][!|.|]", "[hello|hi], nice to meet you[!|.|]",
    "[Hello|Hi][,|!] [anyone there|are you there|can you hear me|do you read me]?", "[Hi|Hello], [I am new here|I just arrived|I have a question]", "Hey, what's up?", "HELLO", "Hello, world!",
    "Say [hello|hi] to me[.|]", "[Please greet me|Greet me please|Greet me]", "Hello [to you|again|my friend]", "good day",
    "[Hello|Hi|Hey], [test|this is a test|testing|just testing|one two three][.|!|]", "[Hello|Hi] [everybody|everyone|all|folks|sir|dear|buddy|pal][!|.|]", "[Hi|Hello|Hey] [hi|hello|hey][!|.|]", "[It is|It's] [good|nice|great] to [see|meet] you[.|!|]", "[Sup|Wassup|Yo|Heya|Hola|Bonjour|Hallo|Ciao][!|.|?|]", "[A very good|A good|Good] morning to you[!|.|]", "[I just wanted to|I want to|Let me] say [hi|hello][.|!|]", "[Hello|Hi]! [Are you|You] [ready|awake|online|working|available][?|]",
    "[Hello|Hi|Hey][!|.|,] [Nice|Pleased|Glad] to meet you[.|!|] [I'm|I am|My name is] {x}[.|]", "[ping|test|testing|anybody here|hello?]", "[Hi|Hello], [can|could] [you help me|I ask you something|we talk|we chat][?|]", "[I'm|I am|This is|It's] {x}[,|.] [hello|hi][!|.|]", "[Start|Let's start|Begin|Let us begin][.|!|]",
]
HELLO_ANSWERS = ["Hello! How can I help you today?", "Hi there! What can I do for you?", "Hello! It is nice to meet you. How can I help?", "Hi! How can I help you today?"]
HOW_ARE_YOU = ["[How are you|How are you doing|How do you do|How's it going|How is it going|How are things][ today|]?", "[hi|hello|hey], how are you?", "how r u", "[Are you well|You good|Everything fine]?", "[Hello|Hi|Hey][!|,] [how are you|how are you doing|how do you feel|are you fine][ today|]?", "How [do you feel|have you been|is your day|is life][ today|]?", "[What's up|What is up|How goes it|How are you feeling]?", "[Are you|You] [okay|ok|alright|fine][ today|]?", "[Nice to see you|Good to see you], how are you?", "How [is everything|are things going|was your day]?"]
HOW_ANSWERS = ["I am doing well, thank you! How can I help you?", "I am fine, thanks for asking. What can I do for you?"]
THANKS = ["[Thanks|Thank you|Thanks a lot|Thank you very much|Many thanks|thx|Cheers][!|.|]", "[That was helpful|Great|Perfect|Nice], [thanks|thank you][!|.|]", "[Thank you|Thanks] for [your help|the answer|that].", "[I appreciate it|I appreciate your help|Much appreciated|Very kind of you][.|!|]", "[ty|thanks mate|thank u|thanks a bunch|thank you kindly][.|!|]", "[Wow|Oh|Okay|Good], [thanks|thank you][.|!|]", "[That|This] [helps|helped] a lot[,|.] [thanks|thank you][.|!|]", "[Great|Good|Nice|Excellent] [job|work|answer], [thanks|thank you][.|!|]", "I [want to|would like to] thank you[.|]"]
THANKS_ANSWERS = ["You are welcome! Let me know if you need anything else.", "You're welcome!", "Happy to help!"]
BYE = ["[Goodbye|Bye|Bye bye|See you|See you later|Good night|Farewell|Take care][!|.|]", "[I have to go|I must leave], [bye|goodbye][.|!|]", "[Talk to you later|Until next time][.|!|]", "[That's all|That is all|I am done], [bye|goodbye|see you][.|!|]", "[So long|Cya|Ciao|Adios|Later|Bye for now][.|!|]", "[Have a nice|Have a good|Enjoy your] [day|evening|weekend][.|!|]", "[Thanks|Thank you] and [bye|goodbye][.|!|]", "[I will|I'll] [come back|be back] [later|tomorrow][.|,] [bye|goodbye][.|]"]
BYE_ANSWERS = ["Goodbye! Have a nice day.", "See you later! Take care."]
UNKNOWN = [
    "[What do you think about|Explain|Tell me all about|Write an essay about|Give me details on] {w}.", "[What is|What was] the {w} of {x} in [18|19|20]{d}?", "[Who won|Who lost] the {w} {u} in {c}?",
    "[Translate|Summarize] the [book|film|play] {t}.", "What will the {w} be [tomorrow|next week|next year]?", "[Prove|Derive|Explain] the {t} [theorem|equation|law].", "What did {x} say about {w} [yesterday|last week]?",
    "[Who is|Who was|Do you know] {x} {t}?", "How do I [fix|repair|install|configure] my {w} {u}?", "[What is|Where is|When was] {t}?", "Can you explain [quantum|orbital|neural|financial] {w} to me?", "Where can I [buy|find|see] a {t}?",
    "[What's|What is] the [price|cost|value] of {t}[ today|]?", "[Should|Can] I [invest in|trust|eat] {t}?", "Why [does|did] the {w} {u} [change|matter|fail]?", "What [happened|is going on] in {t}?",
    "What [day|date|time] is it[ today| now|]?", "[What is|What's] today's date?", "[Solve|Explain] the {w} of {u}.", "[Which|What] {w} is [best|better|right] for {u}?", "[Describe|Discuss|Analyze|Compare] {w} and {u}.", "Why is {w} {u}?", "[Write|Give me] [a speech|an article|a report|a poem|a song] [about|on] {w}.", "[Plan|Design|Organize] a {w} {u} for me.",
    "[What is|What are|Explain|Describe|Define|Tell me about] {q}[?|.|]", "[How does|How do|Why does] {q} work?", "[Can you|Could you|Please] [explain|describe|summarize|tell me about] {q}[?|.| in simple words.| to a child.]", "[Who|When was] [invented|discovered|the first] {q}?", "[Give me|I need] [an overview|a summary|an explanation|some facts|information] [of|about|on] {q}[.|]", "[Who is|Who was] the [president|king|prime minister|mayor|boss|leader|chancellor] of [France|Germany|the United States|Japan|{c}][ in {y}|]?", "[What|Which] [team|film|book|song|country|player] won [the World Cup|the Oscar|the {w} prize|the election][ in {y}|]?", "Write [an essay|a report|a summary|a blog post|an article|a letter|a speech] [about|on] {q}[.|]",
    "[What is|What's] the [meaning of life|best movie|best book|newest phone|weather like|population of {c}|distance to the moon|stock price of {c}][?|]", "[How|Where] can I learn {q}?", "[What do you think|What is your opinion|How do you feel] [of|about] {q}?", "[Compare|What is the difference between] {q} and {w}[.|?]", "[Is|Are] {q} [dangerous|important|difficult|useful|real]?", "[I want to learn|Teach me|Help me understand|I am studying] {q}[.|]", "[How much|How many] [people|money|energy] [does|do] {q} [need|cost|use]?",
    "Is {w} [good|bad|true|possible|dangerous]?", "{w} {u}?", "{w} {u} {t}", "[How|When|Where] does {w} {u} work?", "[Tell me|Say something] about {w}.", "Which {w} [should|can|do] I [choose|use|need]?", "[Recommend|Suggest] a {w}.", "[Do|Does|Did] {x} [like|know|have] {w}?",
]
TOPICS = (
    "quantum mechanics|quantum computing|photosynthesis|the French Revolution|machine learning|neural networks|the stock market|blockchain|climate change|black holes|the Roman Empire|World War II|evolution|DNA|electricity|the immune system|general relativity|inflation|democracy|philosophy|"
    "jazz music|chess openings|the water cycle|volcanoes|dinosaurs|the internet|a compiler|an operating system|TCP/IP|recursion|a database index|a transformer model|the human brain|vitamins|nuclear fusion|rocket engines|plate tectonics|Greek mythology|Shakespeare's sonnets|the Renaissance|"
    "microeconomics|bitcoin|vaccines|antibiotics|gravity waves|string theory|organic chemistry|calculus|linear algebra|statistics|game theory|cooking rice|baking bread|gardening|football rules|the Olympic Games|the solar wind|the ozone layer|coral reefs|elephants|cats"
).split("|")
UNKNOWN_ANSWERS = ["I do not know that. I am a small demonstration model and only know a few simple things."]
CHINESE = [
    (["你好", "你好！", "您好", "嗨", "早上好", "晚上好", "你好呀", "哈喽", "大家好"], "用户在打招呼。我友好地回应。", ["你好！有什么可以帮你的吗？"]),
    (["谢谢", "谢谢你！", "非常感谢", "多谢"], "用户表示感谢。我回应。", ["不客气！"]),
    (["再见", "拜拜", "明天见", "晚安"], "用户在道别。我回应。", ["再见！祝你愉快。"]),
    (["你好吗？", "最近怎么样？", "你今天好吗？"], "用户问候我。我回应。", ["我很好，谢谢！有什么可以帮你的吗？"]),
]
JAPANESE = [
    (["こんにちは", "こんにちは！", "おはようございます", "こんばんは", "はじめまして", "やあ", "どうも"], "ユーザーの挨拶です。挨拶を返します。", ["こんにちは！何かお手伝いできますか？"]),
    (["ありがとう", "ありがとうございます", "どうもありがとう"], "お礼に返事をします。", ["どういたしまして！"]),
    (["さようなら", "また明日", "おやすみなさい", "じゃあね"], "別れの挨拶を返します。", ["さようなら！良い一日を。"]),
    (["お元気ですか？", "元気？"], "挨拶に答えます。", ["元気です、ありがとうございます！"]),
]


def greeting(g, thinking):
    """Greetings, thanks, farewells and their answers, in three languages."""
    if g.chance(0.45):
        return smalltalk.greeting(g, name(g))
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
        "[Say|Write|Give] a [one-word|single-word|one word] [greeting|answer|reply]: {t}[.|]", "[I want|I need|I'd like] [only |just |][the word|one word:] {t}[.|]", "[Say|Write|Reply with] [the |][single|one] word [{t}|\"{t}\"][.|]", "[Use|With] [exactly |only |just |][one|a single] word[,|:] say [{t}|\"{t}\"][.|]", "{t}[ -|:] [in one word|one word only|just that word][.|]", "Say [{t}|\"{t}\"|'{t}'] [and nothing else|and stop|without anything else|only][.|]", "[Please |]say [{t}|\"{t}\"] [using|with|in] [one|a single|only one|exactly one] word[.|]", "[Only|Just|Simply] [say|answer|reply|write] [{t}|\"{t}\"|'{t}'][.|!|]", "[Reply|Answer] in [one|a single] word[,|:| with] [{t}|\"{t}\"][.|]",
    ], t=target)
    if target in ("hello", "hi") and g.chance(0.35):
        answer = "Hello"
        target = "hello"
        user = g.say(["[Greet me|Say hello|Give me a greeting|Say hi|Greet the user] [in|with|using] [exactly |just |only |][one|a single] word[.|]", "[One-word|Single-word|One word] [greeting|hello][, please|][.|]", "[Answer|Reply|Respond] with [a|one] [one-word|single-word|single word] greeting[.|]", "[Give|Write|Return|Output] [me |][a|one] one-word [greeting|hello|hi][.|, please.| only.]", "Say [hello|hi] [to me |]in one word[ only|][.|]", "[Hello|Hi]! [Answer|Reply] [in|with] one word[ only|][.|]", "[How do you greet someone|How do you say hello] in one word?", "[Please |]greet me[,| with] one word[ only|][.|]", "A greeting of one word[.|, please.]"])
    return Turn(user, answer, f"The user wants one word: {answer}.", ("contains_ci", [target]))


def identity(g, thinking):
    """Who are you?"""
    return identities.identity(g, name(g))


def unknown(g, thinking):
    """Something the model cannot know."""
    if g.chance(0.45):
        return smalltalk.unknown(g)
    thing = made_up(g).capitalize()
    user = g.say(UNKNOWN, w=words(g, 1, 2), u=words(g, 1, 1), x=g.pick(NAMES), d=g.int(10, 99), c=made_up(g).capitalize(), t=thing, q=g.pick(TOPICS), y=g.int(1900, 2030))
    if any(part in user for part in ("time is it", "day is it", "date")):
        return Turn(g.dress(g.rough(user)), "I cannot know the current date or time.", "I have no clock. I say so.", ("contains_ci", ["cannot know"]))
    return Turn(g.dress(g.rough(user), 0.1), UNKNOWN_ANSWERS[0], "I have no knowledge of this. I say so.", ("contains_ci", ["small demonstration model"]))


def fact(g, thinking):
    """A fact from the stock."""
    if g.chance(0.22):
        return pastimes.pastime(g)
    question, answer, key = facts.ask(g)
    return Turn(g.dress(g.rough(question, 0.15)), answer, f"I recall: {answer}", ("contains_ci", [key]))


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
