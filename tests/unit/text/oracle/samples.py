"""Random text that is hard for tokenizers, and text to train small vocabularies on."""

import random

WORDS = ("the of and to in server token stream hello world don't I'LL we've You're it's THEY'D i'm "
         "Straße naïve café résumé Ångström señor été coöperate 你好 世界 服务器 模型 中文 分词 测试 数据 的 了 "
         "こんにちは カタカナ 日本語 東京 한국어 안녕하세요 서울 Привет мир слово Ελληνικά λόγος עברית שלום "
         "العربية مُحَمَّد हिन्दी नमस्ते ภาษาไทย สวัสดี Tiếng Việt தமிழ் ქართული 1234 2026 3.14 0x7F "
         "int main() { return 0; } == != <= -> :: // /* */ \"quoted\" [list] {json: true} $x #tag @user").split(" ")

CONTRACTIONS = ["'s", "'S", "'\u017f", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'Ve", "'m", "'M", "'ll",
                "'LL", "'lL", "'d", "'D", "'\u212a", "'k", "''s", "'ſt", "'l", "'r", "'v", "’s", "'", "'\ufb06"]

SPACES = [" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", " \n", "\n ", "\u00a0", "\u3000", "\u2003", "\u2028",
          "\u2029", "\u0085", "\u000b", "\u000c", "\u001c", "\u200b", "\u1680", "\u180e", "\ufeff", " " * 20, "\n" * 7]

MARKS = ["\u0301", "\u0300", "\u0316", "\u0323", "\u0345", "\u0334", "\u05b0", "\u3099", "\u094d", "\u093c", "\u0e38",
         "\u0e49", "\u064b", "\u0651", "\u20dd", "\u0489", "\ufe0f", "\u1ab0", "\u0338", "\u07fd", "\u1dfa", "\U00011930",
         "\u0f71", "\u0f72", "\u1037", "\u0bd7", "\u0dcf", "\u0dca"]

NFC_CHANGING = ["e\u0301", "A\u030a", "\u212b", "\u2126", "\u1100\u1161", "\u1100\u1161\u11a8", "\uac00\u11a8", "\u0958",
                "\u0344", "\u1e9b\u0323", "\u0061\u0323\u0302", "\uf900", "\U0002f800", "\u30ab\u3099", "q\u0307\u0323",
                "\u0041\u0328\u0301", "\u0b47\u0b56", "\u0dd9\u0dcf\u0dca", "\U0001d15e", "\u01d6\u0323", "\u0390",
                "\U00011131\U00011127", "\U00011935\U00011930", "\u1112\u1175\u11c2", "\u1100\u1100\u1161", "\u11a8\u1161",
                "\uac00\u11a7", "\u1100\u1161\u11a7", "\uac01\u11a8", "\u1113\u1161", "\u1100\u1176"]

EMOJI = ["😀", "👨‍👩‍👧‍👦", "🇩🇪", "🇺🇸🇨🇳", "👍🏽", "❤️", "☺", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "1️⃣", "①", "½", "Ⅷ", "٣", "१२", "²"]

BLOCKS = [(0x20, 0x7E), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xFFF),
          (0x1000, 0x11FF), (0x1E00, 0x20CF), (0x2100, 0x27BF), (0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xAD00),
          (0xE000, 0xE010), (0xF900, 0xFFFF), (0x10000, 0x11FFF), (0x1D100, 0x1D7FF), (0x1F300, 0x1FAFF),
          (0x20000, 0x20100), (0x2F800, 0x2FA1F), (0xE0000, 0xE01EF), (0x0, 0xFFFF), (0x0, 0x10FFFF)]


def code_point(rng):
    while True:
        c = rng.randint(*rng.choice(BLOCKS))
        if not 0xD800 <= c <= 0xDFFF:
            return chr(c)


def text(rng, literals):
    """A string of up to 40 parts of every kind; `literals` are mixed in."""
    kinds = [WORDS, CONTRACTIONS, SPACES, MARKS, NFC_CHANGING, EMOJI]
    if literals:
        kinds = kinds + [literals] * 2
    focus = rng.choice([None] * 3 + kinds)
    parts = []
    for _ in range(rng.randint(0, 40)):
        roll = rng.random()
        if focus and roll < 0.4:
            parts.append(rng.choice(focus))
        elif roll < 0.6:
            parts.append(rng.choice(rng.choice(kinds)))
        elif roll < 0.8:
            parts.append(code_point(rng))
        else:
            parts.append(rng.choice("abcABC19 .,'-_\n") * rng.randint(1, 3))
    return "".join(parts)


def broken_bytes(rng, literals):
    """UTF-8 with bytes changed, cut out or put in."""
    data = bytearray(text(rng, literals).encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(data))
        roll = rng.random()
        if roll < 0.4:
            data.insert(at, rng.choice([0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xE4, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF, 0xA0]))
        elif roll < 0.8 and at < len(data):
            del data[at]
        elif at < len(data):
            data[at] = rng.randint(0, 255)
    return bytes(data)


def training_lines(rng, count):
    """Lines in which some words are frequent, so that training finds merges of all lengths."""
    for _ in range(count):
        words = [WORDS[min(int(rng.expovariate(0.03)), len(WORDS) - 1)] for _ in range(12)]
        words += [text(rng, [])[:8]]
        rng.shuffle(words)
        yield rng.choice(["", " "]).join(words) + rng.choice(["", "\n", ".\n\n"])


if __name__ == "__main__":
    print(text(random.Random(1), ["<x>"]))
