"""Everyday functions with the way people ask for them, as a table."""

from functools import lru_cache

from . import requests, words
from .core import alternatives


def clock_time(g):
    """A time of day."""
    return g.pick([f"{g.int(0, 23):02d}:{g.int(0, 5)}0", f"{g.int(1, 12)} {g.pick(['am', 'pm'])}", f"{g.int(1, 12)}{g.pick(['am', 'pm'])}", "noon"])


def day(g):
    """A date as people write it."""
    return g.pick([f"2026-{g.int(1, 12):02d}-{g.int(1, 28):02d}", g.pick(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]), "tomorrow", "today", f"{g.pick(['March', 'May', 'July', 'October'])} {g.int(1, 28)}"])


def title(g):
    """A title of one to three words."""
    return words.words(g, 1, 3).title() if g.chance(0.5) else words.words(g, 1, 3)


MAKERS = {
    "int": lambda g: g.int(1, g.pick([10, 60, 500])), "small": lambda g: g.int(1, 12), "number": lambda g: g.pick([g.int(1, 999), g.int(0, 99) + 0.5]),
    "time": clock_time, "date": day, "title": title, "text": lambda g: g.pick([words.words(g, 2, 6), words.sentence(g)]), "word": words.word, "person": words.name, "city": words.city,
    "language": lambda g: g.pick("French German Spanish Italian Japanese Chinese Korean Russian Arabic Portuguese Dutch Polish".split()),
    "symbol": lambda g: g.pick("AAPL GOOG MSFT TSLA AMZN NVDA META IBM ORCL INTC".split()) if g.chance(0.6) else words.random_text(g, 3, 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "room": lambda g: g.pick(["kitchen", "bedroom", "living room", "bathroom", "garage", "office", "hall"]) if g.chance(0.8) else words.word(g), "onoff": lambda g: g.pick(["on", "off"]), "code": words.code, "colour": lambda g: g.pick(words.COLOURS), "thing": lambda g: g.pick(words.THINGS),
    "email": lambda g: f"{g.pick(words.NAMES).lower()}@{words.made_up(g)}.com", "topic": lambda g: words.words(g, 1, 3),
}
TYPES = {"int": "integer", "small": "integer", "number": "number"}
ENUMS = {"onoff": ["on", "off"]}
# names | description | parameters as name/other name:maker | requests
TABLE = [
    ("set_timer setTimer start_timer timer.set", "Start a timer", "minutes/duration_minutes:int", "[Set|Start] a timer for {0} minutes[.|]|[Set|Start|Create] a {0} minute timer[.|]|[Wake me|Ring|Alert me] in {0} minutes[.|]|timer {0} min|Remind me in {0} minutes."),
    ("set_alarm create_alarm alarm.create", "Set an alarm", "time/at:time", "[Set|Create] an alarm for {0}[.|]|Wake me [up |]at {0}[.|]|alarm at {0}[ please|]"),
    ("create_reminder add_reminder remind", "Create a reminder", "text/message:topic time/when:time", "Remind me [about|of] {0} at {1}[.|]|[Set|Create|Add] a reminder for {0} at {1}[.|]|At {1}, remind me [of|about] {0}."),
    ("create_event add_event calendar.add schedule_meeting", "Add an event to the calendar", "title/name:topic date/day:date time/start:time", "[Schedule|Create|Add|Put] {0} on {1} at {2}[.|]|[Create|Add] an event called {0} on {1} at {2}[.|]|Put {0} in my calendar for {1}, {2}."),
    ("book_table reserve_table restaurant_booking", "Book a table in a restaurant", "restaurant/place:title people/guests:small time/hour:time", "[Book|Reserve] a table [at|in] {0} for {1} [people|guests|persons] at {2}[.|]|[I need|I'd like] a table for {1} at {0}, {2}[.|]|Table for {1} at {0} at {2}, please."),
    ("play_song play_music playTrack music.play", "Play a song", "song/title:title artist/by:person", "Play {0} by {1}[.|]|[I want to hear|Put on|Start] {0} by {1}[.|]|[Can you|Please] play the song {0} by {1}[?|.]"),
    ("translate translate_text translateText", "Translate text", "text/content:topic target_language/language/to:language", "[Translate|Please translate] \"{0}\" [to|into] {1}[.|]|[How do you say|What is] \"{0}\" in {1}?|Put \"{0}\" into {1}."),
    ("get_stock_price stock_price getQuote quote", "Get the price of a stock", "symbol/ticker:symbol", "[What is|What's] the [stock price|price|quote] of {0}?|[Get|Check|Show me] the [stock price|share price] [of|for] {0}[.|]|[How is|How's] {0} [stock |]doing[ today|]?|{0} stock price"),
    ("set_light toggle_light switchLight light.set", "Switch a light", "room/location:room state/mode:onoff", "[Turn|Switch] {1} the [light|lights|lamp] in the {0}[.|]|[Turn|Switch] the {0} [light|lights] {1}[.|]|{0} lights {1}"),
    ("add add_numbers sum calculator_add", "Add two numbers", "a/x:int b/y:int", "[Add|Sum|Use the tool to add] {0} and {1}[.|]|[What is|Calculate|Compute] {0} [plus|+] {1}[ with the tool|]?|[Sum|Total] of {0} and {1}[?|]"),
    ("multiply multiply_numbers product", "Multiply two numbers", "a/first:int b/second:int", "[Multiply|Use the tool to multiply] {0} [by|and|with] {1}[.|]|[Calculate|Compute] {0} [times|*|x] {1} with the tool[.|]"),
    ("find_flights search_flights flights.search book_flight", "Find flights", "origin/from:city destination/to:city date/day:date", "[Find|Search|Show me|Book] [flights|a flight] from {0} to {1} on {2}[.|]|I want to fly from {0} to {1} [on |]{2}[.|]|Flights {0} to {1}, {2}"),
    ("book_hotel find_hotel reserve_room", "Book a hotel room", "city/location:city nights/number_of_nights:small", "[Book|Reserve|Find] [a hotel|a room|a hotel room] in {0} for {1} nights[.|]|I need a hotel in {0}, {1} nights[.|]"),
    ("get_news latest_news news.search", "Get the news", "topic/subject:topic", "[What is|What's] the [latest |]news [about|on] {0}?|[Show|Give|Get] me [the |]news [about|on] {0}[.|]|news {0}"),
    ("define_word dictionary lookup_word", "Look up a word in the dictionary", "word/term:word", "[Define|Look up|What does the dictionary say about] [the word |]{0}[.|]|[What is the definition of|Use the dictionary for] {0}[?|]"),
    ("roll_dice dice.roll rollDice", "Roll a dice", "sides/faces:small", "[Roll|Throw] a {0}-sided [dice|die][.|]|[Roll|Throw] a [dice|die] with {0} sides[.|]"),
    ("random_number get_random randomInt", "Get a random number", "min/low:small max/high:int", "[Give me|Pick|Generate|Get] a random number [between|from] {0} [and|to] {1}[.|]|random number {0} to {1}"),
    ("get_user find_user lookup_customer getCustomer", "Look up a user", "user_id/id/name:code", "[Look up|Find|Get|Show me] [user|customer] {0}[.|]|[Who is|What do we know about] [user|customer] {0}?"),
    ("track_package track_order order_status", "Track a package", "tracking_number/order_id/number:code", "[Where is|Track] [my |the |][package|order|parcel] {0}[?|.]|[What is|What's] the status of [order|package] {0}?"),
    ("set_temperature thermostat.set setThermostat", "Set the thermostat", "room/zone:room temperature/degrees:small", "[Set|Change|Turn] the [temperature|thermostat|heating] in the {0} to {1}[ degrees|][.|]|Make the {0} {1} degrees[.|]"),
    ("create_note save_note add_note notes.create", "Save a note", "title/name:topic content/text:text", "[Create|Save|Write|Make] a note [called|titled] {0} [with the text|saying|that says]: {1}|[Note|Save] under {0}: {1}"),
    ("get_distance distance route", "Get the distance between two places", "from/start/origin:city to/end/destination:city", "[How far is it|What is the distance|What's the distance] from {0} to {1}?|[Distance|Route] [from|between] {0} [to|and] {1}[?|]|How far is {1} from {0}?"),
    ("buy_item add_to_cart order_item", "Put an item in the cart", "item/product:thing quantity/count:small", "[Buy|Order|Add] {1} {0}s[ to my cart|][.|]|[I want|I need] {1} {0}s[ in my cart|][.|]|Put {1} {0}s in the cart."),
    ("call_contact phone.call dial", "Call somebody", "contact/name:person", "[Call|Phone|Ring|Dial] {0}[.|]|[Please|Can you] call {0}[.|?]"),
    ("set_color paint_wall change_color", "Change a colour", "object/target:thing color/colour:colour", "[Make|Paint|Colour] the {0} {1}[.|]|[Change|Set] the [color|colour] of the {0} to {1}[.|]"),
]


ALL_MAKERS, ALL_TYPES, ALL_ENUMS = MAKERS | requests.MAKERS, TYPES | requests.TYPES, ENUMS | requests.ENUMS


def described(g, key, noun):
    """A description of a parameter in one of several manners."""
    spaced = key.replace("_", " ")
    return g.pick([f"The {spaced}", f"{spaced.capitalize()}", f"The {spaced} to use", f"{spaced} of the {noun}", f"Name or value of the {spaced}", f"{spaced.capitalize()} (required)"])


def signature(g, parameters, noun):
    """Parameters of a row: ([(key, maker)], properties, required); sometimes with optional ones that nobody mentions."""
    specs, properties = [], {}
    alone = " " not in parameters and g.chance(0.25)
    for parameter in parameters.split():
        keys, maker = parameter.rsplit(":", 1)
        key = g.pick(OTHER_KEYS) if alone else g.pick(keys.split("/"))
        specs.append((key, maker))
        properties[key] = {"type": ALL_TYPES.get(maker, "string")}
        if ALL_TYPES.get(maker) == "array":
            properties[key]["items"] = {"type": "string"}
        if maker in ALL_ENUMS and g.chance(0.6):
            properties[key]["enum"] = ALL_ENUMS[maker]
        if g.chance(0.4):
            properties[key]["description"] = described(g, key, noun)
    required = [key for key, _ in specs]
    if g.chance(0.25):
        for _ in range(g.int(1, 2)):
            key = g.pick(OPTIONAL)
            if key not in properties:
                properties[key] = {"type": g.pick(["string", "integer", "boolean", "string"])} | ({"description": f"Optional {key.replace('_', ' ')}"} if g.chance(0.4) else {})
    return specs, properties, required


ROW = {name: description for names, description, _, _ in TABLE + requests.TABLE for name in names.split()}
OTHER_KEYS = "value input query target item data text name id key argument object ref what param subject entry term arg1 x content location resource selector identifier address title element field".split()
OPTIONAL = "label limit offset timeout verbose encoding note unit language format recursive dry_run force comment color tags page sort account channel max_results include_hidden notify repeat region".split()


def varied(g, name):
    """The name of a function, sometimes in another style or with an owner."""
    roll = g.int(0, 19)
    if roll < 12 or "." in name:
        return name
    parts = name.split("_")
    if roll < 14 and len(parts) > 1:
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    owner = g.pick(words.NOUNS) if g.chance(0.7) else words.made_up(g, 1)
    return g.pick([f"{owner}_{name}", f"{owner}_{name}", f"mcp__{owner}__{name}", name.replace("_", "-"), f"{name}_tool", f"{owner}.{name}", "_".join(parts[::-1]), f"do_{name}"])


def natural(g, wrap_tool):
    """A function of the tables: return (tool, ask)."""
    names, description, parameters, templates = g.pick(TABLE) if g.chance(0.35) else g.pick(requests.TABLE)
    name = varied(g, g.pick(names.split()))
    specs, properties, required = signature(g, parameters, g.pick(words.NOUNS))
    tool = wrap_tool(g, name, g.pick([description, description, description + ".", ""]), properties, required)

    def ask(many):
        calls, texts = [], []
        template = g.phrase(requests_of(templates))
        for index in range(min(many, 3)):
            made = [ALL_MAKERS[maker](g) for _, maker in specs]
            values = [one[0] if isinstance(one, tuple) else one for one in made]
            said = [one[1] if isinstance(one, tuple) else one for one in made]
            if any(values == list(arguments.values()) for _, arguments in calls):
                continue
            texts.append(g.say(template if index == 0 else g.pick([template, g.phrase(requests_of(templates))]), **{f"slot{i}": value for i, value in enumerate(said)}))
            calls.append((name, {key: value for (key, _), value in zip(specs, values)}))
        text = texts[0]
        for other in texts[1:]:
            text = text.rstrip(".?") + g.pick([" and ", ". ", ", then ", ". Also ", ", and also ", "; ", ". Then ", " and then ", "\n", ". After that: "]) + other
        return g.pick(["", "", "", "", "Please ", "Hey, ", "Hi! ", "Could you help? ", "I need this: ", "Now: "]) + text, calls
    return tool, ask


@lru_cache(maxsize=None)
def requests_of(text):
    """The request templates of a row with their slots named."""
    parts = alternatives(text)
    for index in range(4):
        parts = [part.replace("{%d}" % index, "{slot%d}" % index) for part in parts]
    return parts
