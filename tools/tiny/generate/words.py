"""Vocabulary: hand-written lists, and words, names, codes and sentences made up from syllables."""

import string
from pathlib import Path

ENGLISH = (Path(__file__).parent.parent / "data" / "words.txt").read_text(encoding="utf-8").split()

NAMES = (
    "Alice Bob Carol David Emma Frank Grace Henry Irene Jack Karen Leo Maria Nina Oscar Paula Quentin Rosa Sam Tina Uma Victor Wendy "
    "Xavier Yara Zoe Tom Anna Peter Lucy Mark Sara John Mary Lily Ben Mia Noah Olivia Liam Sofia Ethan Chloe Daniel Ella Max Ruby "
    "Hiro Yuki Kenji Aiko Wei Ling Chen Mei Ravi Priya Arjun Omar Fatima Ali Layla Ivan Olga Dmitri Lars Ingrid Pierre Claire Marco "
    "Giulia Carlos Elena Diego Lucia Hans Greta Jose Ana Kofi Ama Nia Jamal Tariq Hugo Felix Oliver Amelia James Sophie Lena Theo "
    "Ivy Jonas Clara Simon Julia Eric Diana Kevin Laura Adam Eva Martin Nora Paul Vera Bruno Iris Carla Dean Faye Gina Ida Joel"
).split()
CITIES = (
    "Paris|London|Rome|Berlin|Madrid|Tokyo|Beijing|Shanghai|Oslo|Vienna|Lisbon|Dublin|Athens|Cairo|Delhi|Mumbai|Seoul|Sydney|Toronto|"
    "New York|Boston|Chicago|Seattle|San Francisco|Los Angeles|Austin|Denver|Mexico City|Lima|Bogota|Santiago|Buenos Aires|Rio de Janeiro|"
    "Nairobi|Lagos|Cape Town|Istanbul|Moscow|Warsaw|Prague|Budapest|Stockholm|Helsinki|Copenhagen|Amsterdam|Brussels|Zurich|Geneva|Milan|"
    "Naples|Barcelona|Porto|Munich|Hamburg|Lyon|Marseille|Osaka|Kyoto|Bangkok|Hanoi|Jakarta|Manila|Singapore|Dubai|Doha|Tehran|Baghdad|"
    "Karachi|Dhaka|Kathmandu|Melbourne|Auckland|Honolulu|Vancouver|Montreal|Quebec|Havana|Panama City|Reykjavik|Edinburgh|Glasgow|Leeds|"
    "Bristol|Cambridge|Oxford|Nice|Turin|Venice|Florence|Seville|Valencia|Krakow|Riga|Tallinn|Vilnius|Kyiv|Sofia|Zagreb|Hong Kong|Taipei"
).split("|")
CHINESE_CITIES = "北京|上海|广州|深圳|杭州|成都|西安|南京|武汉|重庆|天津|苏州|香港|台北|东京|巴黎|伦敦|纽约|罗马|柏林|首尔|新加坡".split("|")
JAPANESE_CITIES = "東京|大阪|京都|札幌|名古屋|福岡|横浜|神戸|パリ|ロンドン|ローマ|ニューヨーク|北京|ソウル|ベルリン".split("|")
COUNTRIES = "France|Spain|Italy|Japan|China|India|Brazil|Canada|Mexico|Egypt|Kenya|Norway|Sweden|Germany|Poland|Greece|Turkey|Peru|Chile|Cuba".split("|")
THINGS = (
    "apple orange pear banana plum lemon mango grape melon fig kiwi cookie cake muffin egg pencil pen book notebook "
    "marble coin stamp card sticker balloon toy ball button shell stone flower rose tulip ticket cup plate spoon bottle bag "
    "basket candle brick tile key ring hat sock shirt glove scarf chair table lamp photo letter map magnet badge bead nut carrot "
    "onion pepper donut pizza bun sweet ribbon crayon eraser ruler puzzle kite drum bell rope nail screw bolt"
).split()
ANIMALS = "cat dog fox rabbit bear mouse owl hen duck goat horse cow sheep pig frog turtle bird fish lion tiger wolf deer bee ant crow swan goose whale seal otter hedgehog squirrel penguin monkey elephant giraffe zebra snail".split()
PLACES = "forest|village|castle|garden|river|mountain|valley|beach|island|meadow|harbor|market|library|school|farm|cave|desert|lake|tower|bridge|city|town|field|hill|workshop|bakery|lighthouse|station|museum|park".split("|")
ADJECTIVES = "small big old young brave kind clever quiet happy sad lonely curious tiny huge gentle lazy busy bright dark golden silver green blue red soft warm cold new strange magic wise shy proud hungry tired patient careful noisy swift calm".split()
COLOURS = "red green blue yellow orange purple pink brown black white gray cyan magenta".split()
VERBS = "get find list create update delete search fetch send read write open close start stop add remove set check count convert calculate translate play book cancel schedule show move copy rename upload download run build deploy query lookup measure track order reserve assign invite export import sync merge archive restore resize rotate mix brew paint plant water feed ping scan lock unlock".split()
NOUNS = "weather file user order event task note message email contact photo song playlist ticket flight hotel room invoice payment product item price stock report record document folder image video account profile team project issue comment branch commit server node cluster job queue sensor device lamp door alarm timer reminder meeting route map location address package shipment recipe plant pump valve engine battery signal channel topic model table row column index cache token session score game match player lesson course exam book article review rating".split()
ADVERBS = "quickly slowly quietly gladly often never always today soon again together early late carefully".split()
UNITS = "celsius fahrenheit kelvin km miles meters feet kg pounds grams liters gallons hours minutes seconds days usd eur gbp jpy low medium high small large fast slow asc desc open closed all none daily weekly monthly metric imperial json csv xml text markdown".split()

CHINESE = "你好世界今天天气很好我们一起去学习中国北京上海朋友早上晚安谢谢再见请问时间问题工作生活快乐新年音乐电影苹果香蕉水果红色蓝色绿色黄色大小多少老师学生学校医院公园火车飞机汽车自行车山河湖海花草树木春夏秋冬东西南北风雨雪云太阳月亮星星猫狗鸟鱼马牛羊书笔纸桌椅门窗茶咖啡米饭面条饺子爱家人父母孩子哥哥姐姐语言文字数学历史科学技术电脑手机网络服务器模型测试系统数据"
HIRAGANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげござじずぜぞだでどばびぶべぼぱぴぷぺぽ"
KATAKANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンガギグゲゴザジズゼゾダデドバビブベボパピプペポ"
CHINESE_PHRASES = "你好|你好，世界|早上好|晚上好|谢谢你|今天天气很好|我喜欢吃苹果|我们一起学习吧|新年快乐|祝你生日快乐|春眠不觉晓|床前明月光|欢迎来到北京|这是一个测试|人工智能|中文测试|你好，世界！|明天见|一路平安|请多关照|学而时习之|我爱你|再见|深度学习模型|服务器正在运行".split("|")
JAPANESE_PHRASES = "こんにちは|こんにちは世界|おはようございます|こんばんは|ありがとうございます|さようなら|はじめまして|東京は晴れです|日本語のテスト|おやすみなさい|よろしくお願いします|いただきます|ごちそうさま|すみません|お元気ですか|桜が咲きました|テストです|私は学生です|また明日|お誕生日おめでとう".split("|")
EMOJI = (
    "😀 😂 🙂 😊 😍 🤔 👍 🎉 🚀 🔥 ❤️ ✨ 🌍 🌈 🐱 🐶 🍎 🍕 ☕ 🎂 ⭐ 🌟 ✅ ❌ 💡 📦 🎵 👋 🙏 🇯🇵 🇫🇷 🇺🇸 🇩🇪 🇨🇳 🇧🇷 🇬🇧 👨‍👩‍👧 👩‍💻 👨‍🚀 🏳️‍🌈 👍🏽 🥳 🎈 🐼 🦊 🦄 🌸 🍣 🍜 🗼 "
    "🚗 ✈️ ⚽ 🏀 🎸 🎹 📚 ✏️ 🔑 🔒 ⏰ ☀️ 🌙 ⛄ 🌊 🍀 🍓 🍇 🥑 🧀 🍔 🍩 🦋 🐢 🐙 🐝 🦉 🐍 🐳 💎 🎁 🏆 🧩 🎨 📷 💻 📱 🔋 🧪 🔭 🛰️ 🤖 👻 💀 👽 🎃 🥇 🆗 ♻️ ⚠️ ➡️ ⬆️ 🔴 🟢 🔵 🟡"
).split()

ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fl gr kl pl pr sh sk sl sn st th tr zh".split()
VOWELS = "a e i o u a e i o u ai ea ia oo ou".split()
CODAS = ["", "", "", "n", "r", "l", "s", "t", "m", "x", "k", "nd", "rt"]


def made_up(g, syllables=None):
    """A pronounceable word that is in no dictionary."""
    count = syllables or g.int(2, 3)
    return "".join(g.pick(ONSETS) + g.pick(VOWELS) + (g.pick(CODAS) if i == count - 1 or g.chance(0.3) else "") for i in range(count))


def name(g):
    """A person's name, sometimes made up, sometimes with a family name."""
    first = g.pick(NAMES) if g.chance(0.75) else made_up(g, 2).capitalize()
    return first if g.chance(0.9) else f"{first} {made_up(g, 2).capitalize()}"


def city(g):
    """A city, sometimes made up."""
    return g.pick(CITIES) if g.chance(0.75) else made_up(g).capitalize()


def word(g):
    """An English or made-up word."""
    return g.pick(ENGLISH) if g.chance(0.7) else made_up(g)


def random_text(g, low, high, alphabet=string.ascii_letters + string.digits):
    """A random string over an alphabet."""
    return "".join(g.pick(alphabet) for _ in range(g.int(low, high)))


def code(g):
    """A marker such as BLUE_42, XQ_NO_SYSTEM_93 or a random identifier."""
    roll = g.int(0, 9)
    if roll < 3:
        parts = [(g.pick(ENGLISH) if g.chance(0.6) else made_up(g, 2)).upper() for _ in range(g.int(1, 3))]
        return "_".join(parts + ([str(g.int(0, 999))] if g.chance(0.7) else []))
    if roll < 5:
        parts = [random_text(g, 2, 4, string.ascii_uppercase)] + [word(g).upper() for _ in range(g.int(1, 3))]
        return "_".join(parts + ([str(g.int(0, 99))] if g.chance(0.7) else []))
    if roll < 6:
        return random_text(g, 5, 14)
    if roll < 7:
        return f"{word(g)}-{g.int(1, 9999)}" if g.chance(0.5) else f"{word(g)}-{word(g)}-{random_text(g, 2, 5)}"
    if roll < 8:
        return g.pick(COLOURS + ANIMALS).upper() + g.pick(["_", "-", ""]) + str(g.int(1, 999))
    if roll < 9:
        return str(g.int(1000, 99999999))
    return random_text(g, 4, 8, "0123456789abcdef") + g.pick(["", "-" + random_text(g, 4, 4, "0123456789abcdef")])


def words(g, low, high):
    """Several words separated by spaces."""
    return " ".join(word(g) for _ in range(g.int(low, high)))


def article(noun):
    """`a` or `an` and the noun."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def sentence(g):
    """A plain English sentence about nothing in particular."""
    return g.say([
        "The {a} {n} [saw|met|found|liked|followed] the {b} {m} near the {p}.",
        "{x} [went|walked|drove|rode] to the {p} with {y} and [bought|found|lost|carried] {k} {t}s.",
        "In {c} the [weather|market|street|harbor] was {a} and the {m}s were {b}.",
        "{x} [said|thought|wrote] that the {t} was [too|very|not] {a}.",
        "[Every|Each] [morning|evening|day|week] the {m} {v} [looks at|waits for|dreams of] the {b} {t}.",
        "There [are|were] {k} {t}s [in|on|under] the {a} {n}.",
        "The {w} of the {u} [depends on|belongs to|is part of|changes] the {z}.",
        "{x} and {y} [often|never|sometimes] [talk|write|argue] about the {w} {u} in {c}.",
        "After the {w}, {x} [closed|opened|moved|repaired] the {a} {t} {v}.",
        "{x} [is|was|will be] the {w} of the {p}.", "The {p} [has|had|needs] {k} {t}s and {a} {m}s.", "[Yesterday|Today|Last week], {x} [saw|heard|read about] the {w} in {c}.", "A {b} {t} [fell|stood|lay] [near|under|behind] the {a} {n}.", "{x}, {y} and the {m} [are|were] [never|always] {a}.", "[Nobody|Somebody|Everyone] in {c} [knows|likes|sold] the {w} {t}.", "My {u} [is|looks|sounds] [more|less] {w} than {z}.",
    ], a=g.pick(ADJECTIVES), b=g.pick(ADJECTIVES), n=g.pick(NOUNS), m=g.pick(ANIMALS), p=g.pick(PLACES), x=g.pick(NAMES), y=g.pick(NAMES),
        k=g.int(2, 99), t=g.pick(THINGS), c=g.pick(CITIES), v=g.pick(ADVERBS), w=g.pick(ENGLISH), u=g.pick(ENGLISH), z=word(g))


def chinese(g):
    """A Chinese phrase, known or a run of random characters."""
    if g.chance(0.4):
        return g.pick(CHINESE_PHRASES)
    if g.chance(0.2):
        return "".join(chr(g.int(0x4E00, 0x9FA5)) for _ in range(g.int(1, 6)))
    return "".join(g.pick(CHINESE) for _ in range(g.int(2, 10))) + (g.pick("。！？") if g.chance(0.2) else "")


def japanese(g):
    """A Japanese phrase, known or a run of random kana."""
    if g.chance(0.45):
        return g.pick(JAPANESE_PHRASES)
    alphabet = HIRAGANA if g.chance(0.6) else KATAKANA
    return "".join(g.pick(alphabet) for _ in range(g.int(2, 9))) + (g.pick("。！？") if g.chance(0.2) else "")


def emoji(g, low=1, high=4):
    """A run of emoji."""
    return g.pick(["", " "]).join(g.pick(EMOJI) for _ in range(g.int(low, high)))
