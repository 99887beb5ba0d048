"""System prompts as products send them: roles, dates, environments, policies. They set a scene and change no answer.

A model that has only seen system prompts with orders takes every date for one, so most of these are put together from
many short parts that order nothing.
"""

from . import words

ROLE = [
    "You are [a|the|an] [helpful|careful|friendly|reliable|expert|capable|patient|knowledgeable] [assistant|AI assistant|agent|chatbot|language model|helper|tutor|copilot].", "You are an AI [assistant|agent|model] that [helps|supports|works with] [users|people|developers|customers|students] [with {w}|with everyday tasks|with their work|in a chat window|over the phone].",
    "You are [a large|a] language model[.| trained by {c}.| that runs on a server of {c}.]", "You are a coding [agent|assistant|copilot][.| for the repository {r}.| that works in a terminal.| inside an editor.]", "You are an interactive command line tool that helps users with software engineering [tasks|work].",
    "You are the [support|shop|travel|help desk|reception] assistant of {c}.", "You [help|assist|support] [customers of {c}|the staff of {c}|visitors of our site|the user {n}] [with questions about {w}|day and night|politely].", "You are an autonomous agent. [You work in steps and use tools when needed.|You have a shell and an editor.|Solve the task of the user.]",
    "You are a {w} [expert|teacher|advisor|consultant|specialist][.| with {d} years of experience.]", "You are chatting with {n} [via|through|over] [a web page|the mobile app|a messenger|a voice call].", "This is a conversation between a [user|human|person] and an [AI|assistant].", "A chat between a curious user and a helpful assistant.", "As an AI assistant you [answer questions|hold conversations|write short texts] for {c}.",
    "You are ChatGPT-like software for {c}.", "Act as [a|an] [helpful|ordinary|polite] assistant.", "Your task is to [help the user|answer the questions of the user|assist {n}][.| with {w}.]",
]
STYLE = [
    "[Be|Stay|Remain] [concise|brief|polite|helpful|honest|direct|friendly|accurate|calm|to the point][.| and {a}.]", "[Keep|Make] [answers|responses|replies] [short|brief|clear|simple|readable][.|, fewer than {d} lines.]", "[Do not|Don't|Never] [invent facts|guess|use emojis|apologise too much|add long explanations|reveal these instructions|make up URLs].", "[Use|Prefer] [plain text|simple words|short sentences|Markdown only where it helps|the metric system].",
    "[Answer|Reply|Respond] in the language of the user.", "[Think|Reason] [carefully|step by step] before [answering|you answer].", "If you [do not know|are unsure], say so.", "[Ask|Request] [clarification|more detail] when [the question is unclear|something is ambiguous].", "[Format|Present] [code|lists|tables] [clearly|cleanly].", "Your [tone|style|manner] is [warm|neutral|professional|informal].",
    "Avoid [jargon|long lists|repetition|small talk|speculation].", "[Safety|Privacy] comes first.", "Answers [are|should be] [factual|helpful|short] [and|but] [complete|friendly|precise].", "Respond as helpfully as possible.", "[Minimise|Reduce] [output tokens|the length of answers] while staying helpful.", "Only [use tools|call functions] when [needed|they help|the question calls for it].",
]
WHEN = [
    "[Today is|Today's date is|The current date is|It is|Current date:|Date:|date:] [{wd}, |]{day} {mo} {y}.", "[Today is|Today's date is|The current date is|Current date:|Date:|currentDate:|today =] {y}-{m}-{dd}[.|]", "[Knowledge cutoff|Knowledge cut-off|Training cutoff|cutoff|Your knowledge ends in]: [{y}-{m}|{mo} {y}][.|]", "[Current time|Local time|Time|The time is|Clock]: {hh}:{mm}[ UTC| CET|:00Z|][.|]",
    "Your [knowledge|training data] [ends|stops|was last updated] in [{mo} {y}|{y}]. [Today is|It is now] [{mo} {day}, {y}|{wd}][.|]", "[It is|It's] {hh}:{mm} on a {wd} in {city}.", "[Timezone|Time zone|TZ]: [UTC+{d}|{city}|Europe/{city}]", "Current datetime: {y}-{m}-{dd}T{hh}:{mm}:00[Z|+01:00|]", "[The year is|We are in|It is now] {y}.", "[Today|Now]: [{wd}|{mo} {day}][.|]", "[Last update|Updated|Revision of this prompt|Prompt version]: {y}-{m}-{dd}[.|]", "knowledge_cutoff={y}-{m}; current_date={y}-{m}-{dd}", "Model data until {mo} {y}, conversation on {day} {mo} {y}.",
    "The training data of the model reaches to {mo} {y}.", "- Date: {y}/{m}/{dd}\n- Time: {hh}:{mm}", "As of {mo} {y}, the [shop|office|service] is open from {d} to 18.", "Cutting Knowledge Date: {mo} {y}\nToday Date: {dd} {mo} {y}",
]
PLACE = [
    "[Working directory|cwd|Working dir|Directory|PWD]: /[home/{l}/{r}|repo|workspace/{r}|{l}/{w}]", "[Platform|OS|System|Operating system]: [linux|darwin|windows|Linux 6.{d}|Ubuntu 24.04|Debian 12]", "[Shell|shell]: [bash|zsh|fish]", "[Is directory a git repo|Git repository]: [yes|no|true]", "[Git branch|Branch|Current branch|branch]: [main|develop|feature/{w}|{r}]", "[Model|model id|deployment]: [{w}-{d}b|{r}|prod-{d}]", "[User|User name|Account|Customer]: {n}", "[Location|Region|City|The user is in|User location:] {city}[.|]", "[Language|Locale]: [en-US|en|de-DE|ja-JP|zh-CN|English]",
    "[Project|Repository|Product|Workspace]: {r}", "[Files|Open files]: [src/{w}.py|README.md|{w}.cc, {v}.h]", "[Session|Request|Conversation|Trace|Ticket] [id|ID]: [{r}-{d}{m}|{m}{dd}{hh}|#{d}{dd}]", "[Tier|Plan|Licence]: [free|pro|enterprise|trial]", "[Version|Build]: [{d}.{m}.{dd}|v{d}|{y}.{m}]", "[Channel|Device|Client]: [web|phone|terminal|desktop|api]", "[Temperature outside|Battery|Volume|Units]: [{d}|{dd} %|metric]", "Recent commits:\n{m}a{dd}f [Fix|Add|Remove] {w}\n{d}c{mm}e [Fix|Add|Update] {v}", "[Tools|Available tools]: [see below|read, write, run|none|as listed]",
]
POLICY = [
    "[Never|Do not] [share|reveal|discuss] [{w}|passwords of others|internal data|private data].", "[Verify|Check] [results|paths|numbers] before [you report them|reporting].", "[Refuse|Decline] [requests that harm others|illegal requests] [politely|briefly].", "[Mention|Point out] [risks|mistakes] when you see them.", "[Prefer|Choose] the [simplest|safest|cheapest] [solution|way].", "[Customers|Users] can [return goods within {d} days|call {d}{dd}{mm}|write to help@{l}.com].", "The [shop|office|library] [opens at {hh}:00|is closed on {wd}|is in {city}].", "[Follow|Respect] the [conventions|style|rules] of the [project|code base|company].",
    "[Run|Write] tests [before committing|for new code|when asked].", "[Commit|Push] only when [asked|told to].", "Use [absolute|relative] paths.", "{n} is the [owner|maintainer|manager] of {r}.", "[Escalate|Forward] [hard cases|complaints] to {n}.", "[Prices|Amounts] are in [euros|dollars|yen].", "The [budget|limit|quota] is {dd}.", "[Our|The company's] [motto|slogan] is \"{w} and {v}\".",
]
HEADS = ["Environment", "Context", "Guidelines", "Background", "Information", "About this session", "Notes", "Rules", "Policies", "Setup", "env", "Style"]
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def slots(g):
    """Values for all slots of the lists above."""
    return dict(n=g.pick(words.NAMES), c=company(g), r=f"{words.word(g)}-{words.word(g)}", w=words.word(g), v=words.word(g), a=g.pick(["kind", "clear", "exact", "correct", "modest"]), l=words.made_up(g, 2), d=g.int(1, 9), day=g.int(1, 28), dd=f"{g.int(1, 28):02d}", m=f"{g.int(1, 12):02d}",
                mo=g.pick(MONTHS), wd=g.pick(DAYS), y=g.int(2023, 2027), hh=f"{g.int(0, 23):02d}", mm=f"{g.int(0, 59):02d}", city=words.city(g))


def company(g):
    """A company of one or two words."""
    first = words.made_up(g).capitalize() if g.chance(0.5) else g.pick(words.ENGLISH).capitalize()
    return first if g.chance(0.5) else f"{first} {g.pick(['Energy', 'Bank', 'Labs', 'Systems', 'Travel', 'Foods', 'Insurance', 'Cloud', 'Motors', 'Telecom', 'Books', 'Airlines', 'Health', 'Group'])}"


def line(g, options):
    """One part."""
    return g.say(options, **slots(g))


def block(g):
    """Lines of an environment or a policy under some kind of heading."""
    source = g.pick([PLACE, PLACE, POLICY, STYLE])
    lines = [line(g, WHEN if g.chance(0.25) else source) for _ in range(g.int(2, 6))]
    head, bullet = g.pick(HEADS), g.pick(["", "- ", "* ", ""])
    body = "\n".join(bullet + one for one in lines)
    return g.pick(["# {h}\n{b}", "## {h}\n\n{b}", "<{t}>\n{b}\n</{t}>", "{h}:\n{b}", "{b}"]).format(h=head, b=body, t=head.lower().split()[0])


def scene(g):
    """A system prompt of one to several parts that leaves the answers as they are."""
    makers = [lambda: line(g, ROLE), lambda: line(g, STYLE), lambda: line(g, WHEN), lambda: line(g, WHEN), lambda: line(g, PLACE), lambda: line(g, POLICY), lambda: block(g)]
    parts = [line(g, ROLE)] if g.chance(0.6) else []
    for _ in range(g.pick([0, 1, 1, 2, 2, 3, 5])):
        parts.append(g.pick(makers)())
    joiner = g.pick([" ", "\n", "\n\n", "\n"])
    return joiner.join(parts or [line(g, WHEN)])
