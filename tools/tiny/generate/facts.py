"""The facts the model is taught, as question forms over small tables."""

from . import trivia

CAPITALS = dict(pair.split(":") for pair in (
    "France:Paris|Germany:Berlin|Italy:Rome|Spain:Madrid|Portugal:Lisbon|England:London|the United Kingdom:London|Ireland:Dublin|Scotland:Edinburgh|"
    "Norway:Oslo|Sweden:Stockholm|Finland:Helsinki|Denmark:Copenhagen|Iceland:Reykjavik|Poland:Warsaw|Austria:Vienna|Switzerland:Bern|"
    "Belgium:Brussels|the Netherlands:Amsterdam|Greece:Athens|Turkey:Ankara|Russia:Moscow|Ukraine:Kyiv|Hungary:Budapest|Romania:Bucharest|"
    "Bulgaria:Sofia|Croatia:Zagreb|Serbia:Belgrade|Czechia:Prague|Slovakia:Bratislava|Slovenia:Ljubljana|Estonia:Tallinn|Latvia:Riga|Lithuania:Vilnius|"
    "China:Beijing|Japan:Tokyo|South Korea:Seoul|India:New Delhi|Thailand:Bangkok|Vietnam:Hanoi|Indonesia:Jakarta|Malaysia:Kuala Lumpur|Nepal:Kathmandu|"
    "the Philippines:Manila|Pakistan:Islamabad|Bangladesh:Dhaka|Iran:Tehran|Iraq:Baghdad|Saudi Arabia:Riyadh|Egypt:Cairo|Kenya:Nairobi|Nigeria:Abuja|"
    "Ethiopia:Addis Ababa|Morocco:Rabat|Ghana:Accra|South Africa:Pretoria|Canada:Ottawa|the United States:Washington|Mexico:Mexico City|Cuba:Havana|"
    "Brazil:Brasilia|Argentina:Buenos Aires|Chile:Santiago|Peru:Lima|Colombia:Bogota|Venezuela:Caracas|Ecuador:Quito|Bolivia:La Paz|Uruguay:Montevideo|"
    "Australia:Canberra|New Zealand:Wellington|Mongolia:Ulaanbaatar|Jordan:Amman|Lebanon:Beirut|Israel:Jerusalem|Qatar:Doha|Tunisia:Tunis|Algeria:Algiers"
).split("|"))
OPPOSITES = dict(pair.split(":") for pair in (
    "hot:cold|big:small|up:down|left:right|fast:slow|happy:sad|open:closed|day:night|light:dark|new:old|rich:poor|wet:dry|full:empty|high:low|"
    "early:late|hard:soft|strong:weak|long:short|loud:quiet|clean:dirty|good:bad|true:false|black:white|near:far|in:out|start:end|young:old|easy:difficult"
).split("|"))
SOUNDS = dict(pair.split(":") for pair in "dog:woof|cat:meow|cow:moo|duck:quack|sheep:baa|pig:oink|horse:neigh|bee:buzz|owl:hoot|lion:roar|frog:ribbit|snake:hiss|mouse:squeak|crow:caw".split("|"))
SYMBOLS = dict(pair.split(":") for pair in "water:H2O|salt:NaCl|gold:Au|silver:Ag|iron:Fe|oxygen:O|hydrogen:H|carbon:C|helium:He|copper:Cu|sodium:Na|lead:Pb|nitrogen:N|carbon dioxide:CO2".split("|"))
LANGUAGES = dict(pair.split(":") for pair in "France:French|Germany:German|Spain:Spanish|Italy:Italian|Japan:Japanese|China:Chinese|Brazil:Portuguese|Mexico:Spanish|Russia:Russian|Egypt:Arabic|England:English|Portugal:Portuguese|Austria:German|Sweden:Swedish|Norway:Norwegian|Greece:Greek|Poland:Polish|Turkey:Turkish".split("|"))
YOUNG = dict(pair.split(":") for pair in "dog:puppy|cat:kitten|cow:calf|sheep:lamb|horse:foal|hen:chick|duck:duckling|bear:cub|lion:cub|goat:kid|frog:tadpole|deer:fawn|pig:piglet|swan:cygnet".split("|"))
FRENCH = dict(pair.split(":") for pair in "hello:bonjour|thank you:merci|goodbye:au revoir|yes:oui|no:non|cat:chat|dog:chien|water:eau|bread:pain|house:maison|red:rouge|book:livre|sun:soleil|night:nuit|friend:ami".split("|"))
SPANISH = dict(pair.split(":") for pair in "hello:hola|thank you:gracias|goodbye:adiós|yes:sí|no:no|cat:gato|dog:perro|water:agua|bread:pan|house:casa|red:rojo|book:libro|sun:sol|night:noche|friend:amigo".split("|"))
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
COLOURS_OF = dict(pair.split(":") for pair in "the sky:blue|grass:green|snow:white|coal:black|blood:red|a banana:yellow|a lemon:yellow|an orange:orange|a carrot:orange|milk:white|a tomato:red|the sun:yellow|a frog:green|chocolate:brown".split("|"))
SINGLE = [pair.split(":") for pair in (
    "How many days are in a week:There are 7 days in a week.:7|How many months are in a year:There are 12 months in a year.:12|How many hours are in a day:There are 24 hours in a day.:24|"
    "How many minutes are in an hour:There are 60 minutes in an hour.:60|How many seconds are in a minute:There are 60 seconds in a minute.:60|How many legs does a spider have:A spider has 8 legs.:8|"
    "How many legs does a dog have:A dog has 4 legs.:4|How many legs does an insect have:An insect has 6 legs.:6|How many sides does a triangle have:A triangle has 3 sides.:3|"
    "How many sides does a square have:A square has 4 sides.:4|How many sides does a hexagon have:A hexagon has 6 sides.:6|How many continents are there:There are 7 continents.:7|"
    "How many planets are in the solar system:There are 8 planets in the solar system.:8|Which planet is the largest:Jupiter is the largest planet.:Jupiter|Which planet is the smallest:Mercury is the smallest planet.:Mercury|"
    "Which planet is known as the red planet:Mars is known as the red planet.:Mars|Which planet is closest to the sun:Mercury is the planet closest to the sun.:Mercury|What is the largest ocean:The Pacific is the largest ocean.:Pacific|"
    "What is the largest animal:The blue whale is the largest animal.:blue whale|What is the tallest animal:The giraffe is the tallest animal.:giraffe|What is the fastest land animal:The cheetah is the fastest land animal.:cheetah|"
    "What is the highest mountain:Mount Everest is the highest mountain.:Everest|What is the longest river:The Nile is often called the longest river.:Nile|Who wrote Hamlet:William Shakespeare wrote Hamlet.:Shakespeare|"
    "Who wrote Romeo and Juliet:William Shakespeare wrote Romeo and Juliet.:Shakespeare|Who painted the Mona Lisa:Leonardo da Vinci painted the Mona Lisa.:Leonardo|Who discovered gravity:Isaac Newton described gravity.:Newton|"
    "Who developed the theory of relativity:Albert Einstein developed the theory of relativity.:Einstein|Who was the first person on the moon:Neil Armstrong was the first person on the moon.:Armstrong|"
    "At what temperature does water boil:Water boils at 100 degrees Celsius.:100|At what temperature does water freeze:Water freezes at 0 degrees Celsius.:0|What do bees make:Bees make honey.:honey|"
    "What is the first letter of the alphabet:The first letter of the alphabet is A.:A|What is the last letter of the alphabet:The last letter of the alphabet is Z.:Z|How many letters are in the alphabet:There are 26 letters in the English alphabet.:26|"
    "What is the square root of 16:The square root of 16 is 4.:4|What is the square root of 81:The square root of 81 is 9.:9|What shape is the Earth:The Earth is round like a ball.:round|What is the currency of Japan:The currency of Japan is the yen.:yen|"
    "What is the currency of China:The currency of China is the yuan.:yuan|What is the currency of the United States:The currency of the United States is the dollar.:dollar|What is the largest country:Russia is the largest country.:Russia|"
    "What gas do we breathe in:We breathe in oxygen.:oxygen|Where is the Eiffel Tower:The Eiffel Tower is in Paris.:Paris|Where is the Great Wall:The Great Wall is in China.:China|Where is Mount Fuji:Mount Fuji is in Japan.:Japan|"
    "What is the name of our galaxy:Our galaxy is called the Milky Way.:Milky Way|What does a thermometer measure:A thermometer measures temperature.:temperature|How many wheels does a bicycle have:A bicycle has 2 wheels.:2|"
    "How many wheels does a car have:A car has 4 wheels.:4|How many colours are in a rainbow:There are 7 colours in a rainbow.:7|What is the opposite of north:The opposite of north is south.:south"
).split("|")]


def title(text):
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def turned(table):
    """The table with its pairs in both directions."""
    return table | {value: key for key, value in table.items() if value not in table}


def neighbour(g):
    """The day or month before or after another: (question, answer, key word), or None for the older wordings."""
    index = g.int(0, 6)
    kind = g.int(0, 2)
    if kind == 0:
        day = DAYS[(index + 1) % 7]
        return g.say(trivia.DAY_AFTER, k=DAYS[index]), f"{day} comes after {DAYS[index]}.", day
    if kind == 1:
        return g.say(trivia.DAY_BEFORE, k=DAYS[index]), f"{DAYS[index - 1]} comes before {DAYS[index]}.", DAYS[index - 1]
    month = g.int(0, 11)
    return g.say(trivia.MONTH_AFTER, k=MONTHS[month]), f"{MONTHS[(month + 1) % 12]} comes after {MONTHS[month]}.", MONTHS[(month + 1) % 12]


ANSWERS = {"opposite": "The opposite of {k} is {v}.", "sound": "A {k} says {v}.", "symbol": "The chemical symbol of {k} is {v}.", "language": "In {k} people speak {v}.", "young": "A baby {k} is called a {v}.", "french": "'{k}' in French is '{v}'.", "spanish": "'{k}' in Spanish is '{v}'.", "colour": "{k} is {v}."}
TABLES = {"opposite": turned(OPPOSITES), "sound": SOUNDS, "symbol": SYMBOLS, "language": LANGUAGES, "young": YOUNG, "french": FRENCH, "spanish": SPANISH, "colour": COLOURS_OF}


def ask(g):
    """Return (question, answer sentence, key word)."""
    if g.chance(0.4):
        return ask_plainly(g)
    kind = g.pick(["capital"] * 3 + ["single"] * 6 + ["neighbour", "neighbour"] + list(TABLES) + ["opposite"])
    if kind == "capital":
        key = g.pick(list(CAPITALS))
        return g.say(trivia.CAPITAL, k=key), f"The capital of {key} is {CAPITALS[key]}.", CAPITALS[key]
    if kind == "single":
        return trivia.single(g)
    if kind == "neighbour":
        return neighbour(g)
    table = TABLES[kind]
    key = g.pick(list(table))
    return g.say(trivia.TABLES[kind], k=key), title(g.say(ANSWERS[kind], k=key, v=table[key])), table[key]


def ask_plainly(g):
    """A question in the plainest wordings."""
    kind = g.pick(["capital"] * 5 + ["single"] * 4 + ["opposite", "sound", "symbol", "language", "young", "french", "spanish", "day", "month", "colour", "country"])
    if kind == "capital":
        key = g.pick(list(CAPITALS))
        question = g.say(["What is the capital of {k}?", "[What's|whats] the capital [city|] of {k}?", "[Name|Tell me] the capital of {k}.", "Which city is the capital of {k}?", "{k}: [capital|capital city]?",
                          "[Do you know|Can you tell me] the capital of {k}?", "The capital of {k} is [what|which city]?", "What city is {k}'s capital?", "what is the capital city of {k}", "[Which|What] is {k}'s capital[ city|]?", "[Can|Could] you name the capital of {k}?", "[I need|I want to know|Give me|Say] the capital [city |]of {k}[.|]", "[Capital|The capital|Capital city] of {k}[?|]", "[Which|What] [city|town] [governs|is the seat of government of|is the capital in] {k}?", "[In|For] {k}, what is the capital[ city|]?", "[The|Its] capital of {k}, [please|what is it][?|.]"], k=key)
        return question, f"The capital of {key} is {CAPITALS[key]}.", CAPITALS[key]
    if kind == "country":
        key = g.pick([country for country in CAPITALS if country != "England"])
        return g.say("[{c} is the capital of which country|Which country has {c} as its capital|{c} is the capital of what]?", c=CAPITALS[key]), f"{CAPITALS[key]} is the capital of {key}.", key.removeprefix("the ")
    if kind == "single":
        question, answer, key = g.pick(SINGLE)
        return g.say(["{q}?", "{q}?", "[Tell me|Please tell me|Quick question]: {q}?", "{q}? [Answer briefly.|Just tell me.|]"], q=question), answer, key
    if kind == "day":
        index = g.int(0, 6)
        if g.chance(0.5):
            return f"{g.pick(['What', 'Which'])} day comes after {DAYS[index]}?", f"{DAYS[(index + 1) % 7]} comes after {DAYS[index]}.", DAYS[(index + 1) % 7]
        return f"{g.pick(['What', 'Which'])} day comes before {DAYS[index]}?", f"{DAYS[index - 1]} comes before {DAYS[index]}.", DAYS[index - 1]
    if kind == "month":
        index = g.int(0, 11)
        if g.chance(0.5):
            return f"{g.pick(['What', 'Which'])} month comes after {MONTHS[index]}?", f"{MONTHS[(index + 1) % 12]} comes after {MONTHS[index]}.", MONTHS[(index + 1) % 12]
        return f"{g.pick(['What', 'Which'])} month comes before {MONTHS[index]}?", f"{MONTHS[index - 1]} comes before {MONTHS[index]}.", MONTHS[index - 1]
    table, question, answer = {
        "opposite": (OPPOSITES, "[What is|What's|Tell me] the opposite of {k}?", "The opposite of {k} is {v}."),
        "sound": (SOUNDS, "[What sound does a {k} make|What does a {k} say|How does a {k} sound]?", "A {k} says {v}."),
        "symbol": (SYMBOLS, "What is the [chemical symbol|chemical formula|formula|symbol] [of|for] {k}?", "The chemical symbol of {k} is {v}."),
        "language": (LANGUAGES, "[What|Which] language [do people speak|is spoken] in {k}?", "In {k} people speak {v}."),
        "young": (YOUNG, "[What is a baby {k} called|What do you call a young {k}|What is the name of a baby {k}]?", "A baby {k} is called a {v}."),
        "french": (FRENCH, "[How do you say '{k}' in French|Translate '{k}' into French|What is the French word for '{k}']?", "'{k}' in French is '{v}'."),
        "spanish": (SPANISH, "[How do you say '{k}' in Spanish|Translate '{k}' into Spanish|What is the Spanish word for '{k}']?", "'{k}' in Spanish is '{v}'."),
        "colour": (COLOURS_OF, "What [colour|color] is {k}?", "{k} is {v}."),
    }[kind]
    key = g.pick(list(table))
    return g.say(question, k=key), title(g.say(answer, k=key, v=table[key])), table[key]
