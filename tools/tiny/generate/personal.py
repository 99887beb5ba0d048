"""What a user tells of himself in passing, and questions for it later in the conversation."""

from . import talk, words
from .core import Message, Sample, alternatives

JOBS = "nurse teacher baker pilot painter lawyer farmer driver plumber chemist librarian carpenter gardener programmer translator doctor singer cook dentist".split()
FOODS = "pizza|sushi|lasagna|pancakes|ramen|apple pie|curry|tacos|fried rice|chocolate cake|soup|dumplings|salad|waffles|noodles".split("|")
HOBBIES = "chess|hiking|swimming|knitting|photography|cycling|fishing|sailing|dancing|pottery|climbing|gardening|drawing|running|skiing|reading".split("|")
MAKERS = {
    "name": words.name, "city": words.city, "job": lambda g: g.pick(JOBS), "food": lambda g: g.pick(FOODS), "hobby": lambda g: g.pick(HOBBIES), "colour": lambda g: g.pick(words.COLOURS), "animal": lambda g: g.pick(words.ANIMALS), "pet": lambda g: g.pick([g.pick(words.NAMES), words.made_up(g, 2).capitalize(), g.pick(words.THINGS).capitalize()]),
    "age": lambda g: str(g.int(6, 90)), "number": lambda g: str(g.int(1, 999)), "date": lambda g: f"{g.pick('January February March April May June July August September October November December'.split())} {g.int(1, 28)}", "time": lambda g: f"{g.int(0, 23)}:{g.int(0, 5)}{g.pick('05')}", "code": words.code, "word": words.word,
    "thing": lambda g: words.article(g.pick(words.THINGS)), "language": lambda g: g.pick("French German Spanish Italian Japanese Chinese Korean Russian Arabic Dutch Greek".split()), "path": lambda g: f"/{words.word(g)}/{words.word(g)}",
}
# kind of value, ways to tell it, ways to ask for it, the answer
TABLE = [
    ("name", "[I'm|I am|My name is|You can call me|Call me|Everybody calls me] {v}", "[what is|what's] my name|[who am I|what am I called|how am I called]|[do you remember|do you know|can you tell me] my name|what name did I give you", "Your name is {v}."),
    ("name", "my [sister|brother|son|daughter|wife|husband|mother|father|boss|friend|neighbour|cousin|uncle|aunt|teacher|colleague] is [called|named] {v}", "what is my {k} called|what's the name of my {k}|[do you remember|tell me] my {k}'s name|how is my {k} called|what was my {k}'s name", "Your {k} is called {v}."),
    ("pet", "[I have a|we have a|my] [dog|cat|horse|parrot|rabbit|hamster|goldfish|turtle] [called|named|whose name is] {v}|my [dog|cat|horse|parrot|rabbit|hamster]'s name is {v}|the [dog|cat|horse|rabbit] is [called|named] {v}|my [dog|cat|pony|puppy|kitten] is [called|named] {v}", "what is my {k} called|what's my {k}'s name|what was the name of my {k}|how did I call my {k}|[do you remember|tell me] the name of my {k}|what did I say my {k} is called", "Your {k} is called {v}."),
    ("city", "I live in {v}|[my home is in|I'm living in|we moved to|my flat is in|I have a house in] {v}|I [am|come] from {v}", "where do I live|[in which|which] city do I live in|where am I [from|living|at home]|what is my home town|what city did I mention|where did I say I live", "You live in {v}."),
    ("city", "I was born in {v}|{v} is where I was born|my birthplace is {v}", "where was I born|[which|what] city was I born in|what is my birthplace", "You were born in {v}."),
    ("city", "[next week|tomorrow|in May|on Friday|soon] I [will travel|fly|am going|will go] to {v}|my next trip is to {v}|I booked a [trip|flight] to {v}|I am planning a holiday in {v}", "where [am I going|do I want to go|will I travel|is my trip to]|[which city|what place] will I visit|what is my destination", "You are going to {v}."),
    ("job", "I work as a {v}|I am a {v}|my job is {v}|I'm a {v} [by profession|by trade]|I earn my living as a {v}", "what is my [job|profession|occupation]|what do I do for a living|what do I work as|[which|what] job do I have", "You work as a {v}."),
    ("colour", "my [favourite|favorite] [colour|color] is {v}|I [like|love|prefer] [{v} best|{v} most|the colour {v}|the color {v}]|{v} is [my favourite colour|my favorite color|the colour I like best]", "what is my [favourite|favorite] [colour|color]|[which|what] [colour|color] do I [like|love|prefer]|what [colour|color] did I [mention|say I like]", "Your favorite color is {v}."),
    ("colour", "my [car|bike|house|coat|bag|door] is {v}|I [bought|have|own] a {v} [car|bike|coat|bag]", "what [colour|color] is my {k}|[which|what] [colour|color] does my {k} have|tell me the [colour|color] of my {k}", "Your {k} is {v}."),
    ("animal", "my [favourite|favorite] animal is the {v}|I [like|love] the {v} most of all animals|the animal I like best is the {v}", "what is my [favourite|favorite] animal|[which|what] animal do I [like|love|prefer]", "Your favorite animal is the {v}."),
    ("food", "my [favourite|favorite] [food|dish|meal] is {v}|I [love|like] [to eat|eating] {v}|I could eat {v} every day|for dinner I [want|had|will have] {v}", "what is my [favourite|favorite] [food|dish|meal]|what do I [like|love] to eat|[which|what] food did I mention|what did I say about dinner", "Your food is {v}."),
    ("hobby", "my hobby is {v}|in my free time I [like|enjoy|do] {v}|I [love|enjoy|am fond of] {v}|on weekends I [go|do] {v}", "what is my hobby|what do I [like|love|enjoy] doing|what do I do in my free time|what did I say I enjoy", "Your hobby is {v}."),
    ("age", "I am {v} years old|I'm {v} [years of age|years old]|my age is {v}|I [just turned|will turn] {v}", "how old am I|what is my age|[tell me|do you remember] my age|what age did I tell you", "You are {v} years old."),
    ("date", "my birthday is [on |]{v}|I was born on {v}|my birthday is in summer, on {v}", "when is my birthday|what day is my birthday|[do you remember|tell me] my birthday|when was I born", "Your birthday is on {v}."),
    ("date", "the [meeting|exam|wedding|party|deadline|concert|appointment|release] is on {v}|we [meet|have the meeting] on {v}|the deadline is {v}", "when is the {k}|what [day|date] is the {k}|on which day is the {k}|[do you remember|tell me] the date of the {k}", "The {k} is on {v}."),
    ("time", "the [meeting|train|bus|lesson|film|flight|call|dinner] [starts|leaves|begins|is] at {v}|my [train|bus|flight] [leaves|departs|goes] at {v}", "when [is|does] the {k}[ start| leave|]|what time is the {k}|at what time is the {k}|[tell me|remind me of] the time of the {k}", "The {k} is at {v}."),
    ("number", "I live at number {v}|my house number is {v}|the house has the number {v}", "what is my house number|which number is my house|what number do I live at", "Your house number is {v}."),
    ("number", "my [room|seat|locker|gate|platform|table|bus line] is [number |]{v}|I have [room|seat|locker|table] {v}", "[which|what] {k} do I have|what is my {k} number|what's the number of my {k}|[tell me|what was] my {k}", "Your {k} is {v}."),
    ("code", "the [branch|server|project|database|ticket|build|cluster|host] is [called|named] {v}|our [branch|server|project|database|cluster] has the name {v}|we work on the [branch|project|server] {v}", "what is the {k} called|what's the name of the {k}|which {k} did I mention|[tell me|repeat] the name of the {k}", "The {k} is called {v}."),
    ("number", "the [server|service|app|database] [runs|listens] on port {v}|[use|take] port {v} for the [server|service|app|database]", "[which|what] port does the {k} use|on which port is the {k}|what was the port of the {k}|what port did I [say|mention]", "The {k} uses port {v}."),
    ("language", "my [mother tongue|native language] is {v}|I [am learning|study|speak|want to learn] {v}|at home we speak {v}", "[which|what] language [do I speak|am I learning|did I mention]|what is my language", "Your language is {v}."),
    ("thing", "I [lost|forgot|bought|found|broke|need] {v}|yesterday I [lost|bought|found] {v}|I am looking for {v}", "what did I [lose|forget|buy|find|mention]|what was it that I [lost|bought|found|needed]|what thing did I mention|what am I looking for", "It was {v}."),
    ("word", "the [title of my book|topic of my talk|name of my band|theme of the party|subject of the mail] is {v}", "what is the {k}|[tell me|repeat|do you remember] the {k}|what did I say the {k} is", "The {k} is {v}."),
    ("path", "the [file|folder|project|log|data] [is|lies|is stored] in {v}|I [saved|put|keep] the [file|folder|log|data] in {v}", "where is the {k}|in which folder is the {k}|[tell me|what is] the path of the {k}|where did I [put|save] the {k}", "The {k} is in {v}."),
]
BEFORE = ["", "", "", "Hi! ", "Hello, ", "By the way, ", "Just so you know: ", "For your information, ", "Let me tell you something: ", "Okay, ", "You should know that ", "Note that ", "FYI, ", "First of all, ", "Listen, ", "I want to tell you that ", "So, "]
AFTER = ["", "", "", "[.|]", ".", "!", ". Remember that.", ". Please keep it in mind.", ". [Just so you know|That is all for now|I will ask you later|You may need it later|Nice, isn't it?|Do not forget it]."]
ACK = ["Okay, I will remember it.", "I see.", "Noted.", "Thanks for telling me!", "Good to know.", "I see. How can I help you with that?", "That is nice.", "Understood.", "What a nice thing to hear!", "OK.", "Great! What can I do for you?"]
ASK = ["{q}?", "{q}?", "[So|And|Now|Okay|Well], {q}?", "{q}[ again| now|, please]?", "[Quick question|One question|Tell me|A question|Question]: {q}?", "I forgot: {q}?", "[Remember what I said|Think back|From what I told you|You know it]: {q}?", "[Before you go|One more thing|Last question|By the way], {q}?", "{q}", "[Test|Memory test|Quiz]: {q}?", "[Can you say|Do you still know]: {q}?"]
NEVER_TOLD = "You have not told me that."


def fact(g):
    """One fact: what the user says, what he asks later, the answer, the value."""
    maker, tells, asks, answer = g.pick(TABLE)
    value = MAKERS[maker](g)
    tell = g.phrase(alternatives(tells))
    while True:
        told = g.say(tell, v="\0")
        named = next((word for word in sorted(NAMED, key=len, reverse=True) if word in told), "")
        if named or ("{k}" not in asks and "{k}" not in answer):
            break
        tell = g.pick(alternatives(tells))
    question = g.say(g.pick(alternatives(asks)), k=named)
    return told.replace("\0", value), question, answer.replace("{k}", named).replace("{v}", value), value


NAMED = ("sister brother son daughter wife husband mother father boss friend neighbour cousin uncle aunt teacher colleague dog cat horse parrot rabbit hamster goldfish turtle pony puppy kitten car bike house coat bag door meeting exam wedding party deadline concert appointment release train bus lesson film flight call dinner "
         "room seat locker gate platform table branch server project database ticket build cluster host service app file folder log data").split() + ["bus line", "title of my book", "topic of my talk", "name of my band", "theme of the party", "subject of the mail"]


def sentence(g, told):
    """The statement as a message."""
    text = g.pick(BEFORE) + told + g.say(AFTER)
    return text[:1].upper() + text[1:] if g.chance(0.85) else text


def personal(g, thinking):
    """Facts in passing, other turns, then a question for one of the facts."""
    facts = [fact(g) for _ in range(g.pick([1, 1, 1, 2, 2, 3]))]
    if len({answer.split(value)[0] for _, _, answer, value in facts}) < len(facts):
        facts = facts[:1]
    messages = []
    if g.chance(0.08):
        turn = talk.greeting(g, thinking)
        messages = [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
        _, question, _, _ = facts[0]
        return Sample("recall", messages + [Message("user", g.say(ASK, q=question)), Message("assistant", NEVER_TOLD, think="The user has not told me this before.")], ("contains_ci", ["not told me"]), thinking)
    if len(facts) > 1 and g.chance(0.5):
        joined = g.pick([" and ", ". ", ", and ", "; ", " but "]).join(told for told, _, _, _ in facts)
        messages += [Message("user", sentence(g, joined)), Message("assistant", g.pick(ACK), think="The user tells me something. I acknowledge it.")]
    else:
        for told, _, _, _ in facts:
            messages += [Message("user", sentence(g, told)), Message("assistant", g.pick(ACK), think="The user tells me something. I acknowledge it.")]
    for _ in range(g.pick([0, 0, 1, 1, 2, 3])):
        turn = g.pick([talk.greeting, talk.fact, talk.fact, talk.unknown])(g, thinking)
        messages += [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    _, question, answer, value = g.pick(facts)
    user = g.rough(g.say(ASK, q=question), 0.1)
    user = user[:1].upper() + user[1:] if g.chance(0.8) else user
    return Sample("recall", messages + [Message("user", user), Message("assistant", answer, think=f"The user said it before: {value}.")], ("contains", [value]), thinking)


AGAIN = ["[Say|Tell me|Write|Repeat] that again[.|, please.|!|]", "[Repeat|Write|Give me] your last [answer|message|reply|response][ again|][.|, please.|]", "[What did you|What was it you] just [say|answer|write]?", "[Once more|Again|One more time][, please|][.|!|]", "[Sorry|Pardon|Excuse me], [what did you say|can you repeat that|could you say it again]?", "[Can|Could] you repeat [your answer|that|what you said]?", "[I did not get that|I missed that|I didn't hear you][.|, please repeat.| - again please.]", "[Copy|Echo] your previous [answer|message][.|]", "[Your last answer|Your previous message] [again|once more][, please|][.|]"]
MINE = ["[What did I|What was it I] just [say|ask|write]?", "[Repeat|Quote|Write] my last [message|question][.|, please.|]", "[What was|What's|Tell me] my [last|previous] [message|question][?|.]", "[Can|Could] you repeat [my question|what I asked|what I wrote]?", "[Which|What] question did I [just |]ask[?| you?]", "[What was|Repeat] the [message|question] before this one[?|.]", "[Echo|Copy] my previous [message|question][.|]", "What did I ask you [just now|a moment ago|before]?", "[I forgot what I asked|What was I asking][.|?| Tell me.]"]


def again(g, thinking):
    """The last answer or the last question, asked for again."""
    turn = g.pick([talk.greeting, talk.fact, talk.fact, talk.statement, talk.identity])(g, thinking)
    messages = [Message("user", turn.user), Message("assistant", turn.answer, think=turn.think)]
    if g.chance(0.6):
        text, user, think = turn.answer, g.say(AGAIN), "The user wants my last answer again."
    else:
        text, user, think = turn.user.strip(), g.say(MINE), "The user wants the last question again."
    return Sample("recall", messages + [Message("user", user), Message("assistant", text, think=think)], ("contains", [text]), thinking)
