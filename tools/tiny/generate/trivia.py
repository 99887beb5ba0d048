"""More ways to ask for the facts of facts.py, and a few dozen facts more. Every row is (questions, answer, key word)."""

WEEK = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ROWS = [row.split(" :: ") for row in """\
[How many days [are in|are there in|does] a week[ have|]|What number of days has a week|A week has how many days|The number of days in a week|[Count|Tell me] the days [in|of] a week] :: A week has 7 days. :: 7
[How many months [are in|are there in|does] a year[ have|]|A year has how many months|The number of months in a year|How many months make a year] :: A year has 12 months. :: 12
[How many days [are in|are there in|does] a year[ have|]|A year has how many days|The number of days in a year|How long is a year in days] :: A year has 365 days. :: 365
[How many hours [are in|are there in|does] a day[ have|]|A day has how many hours|The number of hours in a day|How many hours make a day] :: A day has 24 hours. :: 24
[How many minutes [are in|are there in|does] an hour[ have|]|An hour has how many minutes|The number of minutes in an hour|How many minutes make one hour] :: An hour has 60 minutes. :: 60
[How many seconds [are in|are there in|does] a minute[ have|]|A minute has how many seconds|How many seconds make a minute] :: A minute has 60 seconds. :: 60
[How many legs [has a spider|does a spider have|do spiders have]|A spider has how many legs|The number of legs of a spider] :: A spider has 8 legs. :: 8
[How many legs [has an insect|does an insect have|do insects have|does an ant have]|An insect has how many legs] :: An insect has 6 legs. :: 6
[How many legs [has a cat|does a cat have|do cats have|does a horse have|do cows have]|A dog has how many legs] :: It has 4 legs. :: 4
[Which planet [do people call|is called|is known as|has the name] the red planet|What is the red planet|What planet is red|The red planet is called what|Name the red planet] :: Mars is the red planet. :: Mars
[[Which|What] is the [largest|biggest] planet[ of the solar system| in our solar system|]|Name the [largest|biggest] planet|Which planet is the biggest] :: Jupiter is the largest planet. :: Jupiter
[[Which|What] is the [smallest|tiniest] planet|Name the smallest planet|Which planet is tiniest] :: Mercury is the smallest planet. :: Mercury
[[Which|What] planet is [nearest|closest|next] to the sun|What is the [first|nearest] planet from the sun|Name the planet closest to the sun] :: Mercury is closest to the sun. :: Mercury
[[Which|What] planet do we live on|On which planet do we live|What is our planet called|The name of our planet] :: We live on Earth. :: Earth
[[Who|Which writer] [wrote|is the author of|was the author of|created] [Hamlet|Macbeth|Romeo and Juliet|Othello]|[Hamlet|Macbeth|Romeo and Juliet] was written by whom|The author of [Hamlet|Romeo and Juliet|Macbeth]|Who is the writer of [Hamlet|Macbeth]] :: William Shakespeare wrote it. :: Shakespeare
[[Who|Which artist] [painted|made|is the painter of] the Mona Lisa|The Mona Lisa was painted by whom|The painter of the Mona Lisa] :: Leonardo da Vinci painted the Mona Lisa. :: Leonardo
[Who [came up with|found|invented|developed|made|is known for] [the theory of |]relativity|The theory of relativity is by whom|Whose theory is relativity] :: Albert Einstein developed the theory of relativity. :: Einstein
[Who [walked first|set foot first|stood first] on the moon|Who was the first [man|human|astronaut] on the moon|The first person on the moon] :: Neil Armstrong was the first person on the moon. :: Armstrong
[At [what|which] temperature does water boil|When does water boil|[What is|Tell me] the boiling point of water|Water boils at how many degrees|How hot is boiling water] :: Water boils at 100 degrees Celsius. :: 100
[At [what|which] temperature does water freeze|When does water freeze|[What is|Tell me] the freezing point of water|Water freezes at how many degrees] :: Water freezes at 0 degrees Celsius. :: 0
[[What|Which food] do bees [make|produce]|Bees make what|What comes from bees|What do we get from bees] :: Bees make honey. :: honey
[What do cows [give|produce|give us]|What do we get from cows|What comes from a cow] :: Cows give milk. :: milk
[[What|Which] is the [biggest|largest] ocean|Name the [biggest|largest] ocean|Which ocean is the [biggest|largest]|The largest ocean on Earth] :: The Pacific is the largest ocean. :: Pacific
[[What|Which] is the [biggest|largest] animal|Name the [biggest|largest] animal[ on Earth|]|Which animal is the [biggest|largest]|The largest animal of all] :: The blue whale is the largest animal. :: blue whale
[[What|Which] is the tallest animal|Name the tallest animal|Which animal is the tallest|Which animal has the longest neck] :: The giraffe is the tallest animal. :: giraffe
[[What|Which] is the fastest [land |]animal|Name the fastest animal on land|Which animal runs fastest] :: The cheetah is the fastest land animal. :: cheetah
[[What|Which] is the [highest|tallest] mountain|Name the [highest|tallest] mountain[ on Earth| of the world|]|Which mountain is the highest] :: Mount Everest is the highest mountain. :: Everest
[[What|Which] is the longest river|Name the longest river[ on Earth| of the world|]|Which river is the longest] :: The Nile is often called the longest river. :: Nile
[How many letters [has|are in|are there in] the [English |]alphabet|The alphabet has how many letters|How many letters does the alphabet have] :: The English alphabet has 26 letters. :: 26
[How many [colours|colors] [has|are in] [a|the] rainbow|A rainbow has how many [colours|colors]|How many [colours|colors] does a rainbow have] :: A rainbow has 7 colours. :: 7
[How many sides [has|are on|does] a triangle[ have|]|A triangle has how many [sides|corners]] :: A triangle has 3 sides. :: 3
[How many sides [has|are on|does] a square[ have|]|A square has how many [sides|corners]] :: A square has 4 sides. :: 4
[How many continents [exist|does Earth have|are on Earth]|The number of continents] :: There are 7 continents. :: 7
[How many planets [are there|orbit the sun|does the solar system have|go around the sun]|The number of planets[ of the sun|]] :: There are 8 planets in the solar system. :: 8
[How many wheels [has|does] a [car|truck][ have|]|A car has how many wheels] :: A car has 4 wheels. :: 4
[How many wheels [has|does] a [bike|bicycle][ have|]|A bike has how many wheels] :: A bicycle has 2 wheels. :: 2
[How many fingers [has|are on|does] [a|one] hand[ have|]|A hand has how many fingers|How many fingers do I have on one hand] :: A hand has 5 fingers. :: 5
[How many eyes [has a human|do humans have|does a person have|do you find on a face]] :: A human has 2 eyes. :: 2
[[Where|In which city] [is|stands|can I see|do I find] the Eiffel Tower|The Eiffel Tower is in which city|Which city has the Eiffel Tower] :: The Eiffel Tower is in Paris. :: Paris
[[Where|In which country] [is|can I see|do I find] the Great Wall|Which country has the Great Wall|The Great Wall is where] :: The Great Wall is in China. :: China
[[Where|In which city] [is|stands|can I see] Big Ben|Which city has Big Ben] :: Big Ben is in London. :: London
[[Where|In which city] [is|stands|can I see] the Colosseum|Which city has the Colosseum] :: The Colosseum is in Rome. :: Rome
[[Where|In which city] [is|stands] the Statue of Liberty|Which city has the Statue of Liberty] :: The Statue of Liberty is in New York. :: New York
[[What|Which] is the currency of Japan|[What|Which] money [do they use|is used] in Japan|How do people pay in Japan] :: The currency of Japan is the yen. :: yen
[[What|Which] is the currency of China|[What|Which] money [do they use|is used] in China] :: The currency of China is the yuan. :: yuan
[[What|Which] is the currency of the [USA|United States|US]|[What|Which] money [do they use|is used] in [America|the USA]] :: The currency of the United States is the dollar. :: dollar
[[What|Which] is the [largest|biggest] country|Name the [largest|biggest] country[ on Earth|]|Which country is the largest] :: Russia is the largest country. :: Russia
[[What|Which gas] do [we|people|humans] breathe[ in|]|We breathe what|Which gas do we need to live] :: We breathe in oxygen. :: oxygen
[[What|Which] is [our galaxy called|the name of our galaxy]|In which galaxy [do we live|is the sun]|Name our galaxy] :: Our galaxy is called the Milky Way. :: Milky Way
[What do you measure with a thermometer|A thermometer measures what|What is a thermometer for] :: A thermometer measures temperature. :: temperature
[[What|Which] shape is the Earth|Is the Earth [flat or round|round]|What does the Earth look like from space] :: The Earth is round like a ball. :: round
[[What|Which] is the first month[ of the year|]|Name the first month|With which month does the year start] :: January is the first month. :: January
[[What|Which] is the last month[ of the year|]|Name the last month|With which month does the year end] :: December is the last month. :: December
[[What|Which] season [comes after|follows] winter|After winter comes what] :: Spring comes after winter. :: Spring
[[What|Which] season [comes after|follows] summer|After summer comes what] :: Autumn comes after summer. :: Autumn
[[Name|List|What are|Which are] the [four |]seasons] :: The seasons are spring, summer, autumn and winter. :: winter
[[Name|List|What are|Which are] the [primary |basic |]colours red, yellow and what|Which are the three primary [colours|colors]] :: The primary colours are red, yellow and blue. :: blue
[What [colour|color] do you get [from|by mixing|when you mix] blue and yellow|Blue and yellow make [what|which colour]|Mix blue and yellow] :: Blue and yellow make green. :: green
[What [colour|color] do you get [from|by mixing|when you mix] red and [blue|white and blue]|Red and blue make [what|which colour]] :: Red and blue make purple. :: purple
[What [colour|color] do you get [from|by mixing|when you mix] red and yellow|Red and yellow make [what|which colour]] :: Red and yellow make orange. :: orange
[Is [ice|snow] [hot or cold|cold|warm]|What is ice made of|Ice is frozen what] :: Ice is frozen water and it is cold. :: cold
[Is fire [hot or cold|hot|cold]|Is the sun [hot or cold|hot]] :: Yes, it is hot. :: hot
[Can [birds|eagles|bees] fly|Do [birds|eagles] fly] :: Yes, they can fly. :: Yes
[Can [fish|pigs|dogs|cows] fly|Do [dogs|cats|cows] fly] :: No, they cannot fly. :: No
[[What|Which] animal [barks|says woof]|What goes woof] :: A dog barks. :: dog
[[What|Which] animal [meows|says meow|purrs]|What goes meow] :: A cat meows. :: cat
[[What|Which] animal [moos|says moo]|What goes moo] :: A cow moos. :: cow
[[List|Name|What are] the days of the week|Days of the week] :: The days are Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday. :: Sunday""".split("\n")]
CAPITAL = ["{k}'s capital[?|, please.| is what?|]", "[What|Which] is the capital [city |]in {k}?", "[Which city|What] do [they|people] call the capital of {k}?", "[My quiz asks|I need it for school|Geography]: [the |]capital of {k}[?|.]", "[The|A] [government|parliament] of {k} sits in which [city|capital]?", "[If I fly|Flying] to the capital of {k}, where do I land?", "capital {k}[?|]", "[Remind me|Please name]: [what is |]the capital of {k}[?|.]", "[Where|In which city] is the capital of {k}?", "[Can you tell me what|Do you know what|I forgot what] the capital of {k} is[?|.]", "[Main|Capital] city of {k}[?|]", "[Tell me|Say] what city is the capital of {k}[.|]"]
TABLES = {
    "opposite": ["[What is|What's|Tell me|Give me|Name] the opposite of {k}[?|.]", "[opposite|Opposite] of {k}[?|]", "[What|Which] word [means the opposite of|is the opposite of|is opposite to] {k}?", "{k} - opposite[?|]", "[What is|Say] the [contrary|reverse|antonym] of {k}[?|.]", "[The|An] antonym of {k}[?|, please.]", "{k} is the opposite of [what|which word]?", "[Not {k} but|The other side of {k} is] [what|...]?", "[If something is not|What is the word for not] {k}[, what is it|]?", "[Antonym|Opposite]: {k}"],
    "sound": ["[What|Which] sound [does|makes] [a|the] {k}[ make|]?", "What [does|do] [a {k}|the {k}] say?", "What do {k}s say?", "[How|What] [does|do] [a {k}|{k}s] [sound|go]?", "[The|A] {k} says [what|...]?", "[Sound|Noise] of a {k}[?|]", "[Make|Tell me] the [sound|noise] of a {k}[.|]", "[Which|What] noise [do {k}s make|does a {k} make]?", "[What|How] goes the {k}?", "[Imitate|Act like] a {k}[.|!|]"],
    "symbol": ["[What is|What's|Tell me|Give me] the [chemical |][symbol|formula] [of|for] {k}[?|.]", "[Chemical|The chemical] [symbol|formula] [of|for] {k}[?|]", "[How|With which symbol] do [chemists|you] write {k}?", "{k} in chemistry is [written how|what]?", "[Symbol|Formula]: {k}", "[Which|What] [letters|symbol] [stand for|means] {k}?", "[What is|Write] {k} as a [formula|chemical symbol][?|.]", "formula {k}"],
    "language": ["[What|Which] language [do people speak|is spoken|do they speak|is official] in {k}?", "In {k}[,|] [people speak what|what do they speak|which language is spoken]?", "[The |]language of {k}[?|]", "[What|How] do people [speak|talk] in {k}?", "[Which|What] language do I need in {k}?", "[Name|Tell me] the language of {k}[.|]", "They speak [what|which language] in {k}?", "[Official|Main] language of {k}[?|]"],
    "young": ["[What is|What's] a [baby|young|little] {k} called?", "[What|How] do you call a [baby|young|little] {k}?", "[The name of|Name] a [baby|young] {k}[?|.]", "A [young|baby|little] {k} is [called|named|a] what?", "[The|A] child of a {k} is called[ what|]?", "[Which|What] is the word for a [young|baby] {k}?", "baby {k}?", "[Young|Baby] of a {k}[?|]"],
    "colour": ["[What|Which] [colour|color] [is|has] {k}?", "[The |][colour|color] of {k}[?|]", "[Tell me|Name] the [colour|color] of {k}[.|]", "{k} [is|has] [what|which] [colour|color]?", "[What|Which] [colour|color] does {k} have?", "[In|With] [what|which] [colour|color] would you paint {k}?", "[How is|Which shade is] {k} [coloured|colored|]?", "[What is|What's] the [colour|color] of {k}?"],
    "french": ["[How do you say|How do I say|What is|What's] [{k}|'{k}'] in French?", "[Translate|Put|Turn] [{k}|'{k}'] [to|into] French[.|]", "[The |]French [word |]for [{k}|'{k}'][?|, please.]", "[{k}|'{k}'] in French[?|, please.|]", "[Say|Write] [{k}|'{k}'] in French[.|]", "French: {k}", "[Which|What] is the French word for [{k}|'{k}']?", "[How do|What do] the French say [for|to] [{k}|'{k}']?"],
    "spanish": ["[How do you say|How do I say|What is|What's] [{k}|'{k}'] in Spanish?", "[Translate|Put|Turn] [{k}|'{k}'] [to|into] Spanish[.|]", "[The |]Spanish [word |]for [{k}|'{k}'][?|, please.]", "[{k}|'{k}'] in Spanish[?|, please.|]", "[Say|Write] [{k}|'{k}'] in Spanish[.|]", "Spanish: {k}", "[Which|What] is the Spanish word for [{k}|'{k}']?", "[How do|What do] the Spanish say [for|to] [{k}|'{k}']?"],
}
DAY_AFTER = ["[What|Which] day [comes|is] [right |]after {k}?", "[What|Which] day follows {k}?", "[The |]day after {k}[?|, please.| is what?]", "If today is {k}, [what is tomorrow|what day is tomorrow]?", "[Today is|It is] {k}. [What day is tomorrow|And tomorrow]?", "After {k} comes [what|which day]?", "[Next day|Tomorrow] after {k}[?|]", "[Tell me|Name] the day after {k}[.|]"]
DAY_BEFORE = ["[What|Which] day [comes|is] [right |]before {k}?", "[What|Which] day precedes {k}?", "[The |]day before {k}[?|, please.| is what?]", "If today is {k}, [what was yesterday|what day was yesterday]?", "[Today is|It is] {k}. [What day was yesterday|And yesterday]?", "Before {k} comes [what|which day]?", "[Tell me|Name] the day before {k}[.|]", "Yesterday, if it is {k} today?"]
MONTH_AFTER = ["[What|Which] month [comes|is] [right |]after {k}?", "[What|Which] month follows {k}?", "[The |]month after {k}[?|, please.| is what?]", "After {k} comes [what|which month]?", "[Next month|The next month] after {k}[?|]", "[Tell me|Name] the month after {k}[.|]", "It is {k}. [What is next month|Which month is next]?", "{k}, and then which month?"]
QUESTION = ["{q}?", "{q}?", "{q}?", "[Tell me|Please tell me|Quick question|Do you know|I wonder|Quiz|Question]: {q}?", "{q}? [Answer briefly.|Just tell me.|One word is enough.|I forgot.]", "{q}", "[So|And|Hey], {q}?", "[For a quiz|For my homework|My son asks]: {q}?"]


def lowered(text):
    """The question in the middle of a sentence."""
    return text[:1].lower() + text[1:] if text.split()[0] in ("What", "Which", "How", "Who", "Where", "The", "At", "In", "Is", "Can", "When", "Name", "On", "With") else text


def single(g):
    """One of the rows: (question, answer, key)."""
    questions, answer, key = g.pick(ROWS)
    question, form = g.say(questions), g.phrase(QUESTION)
    return g.say(form, q=question if form.startswith("{q}") else lowered(question)), answer, key
