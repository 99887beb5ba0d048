"""Makes what bench_tokenizer measures: a tokenizer with the family's vocabulary size, and texts.

    python bench/text/make_tokenizer.py OUT_DIRECTORY [--vocabulary 248000] [--megabytes 10]

Writes tokenizer.json, english.txt and chinese.txt. The language is invented but has the shape that
matters for speed: words drawn by Zipf's law from large lexicons, English-like words of two or three
syllables between spaces, Chinese-like clauses of about ten characters between punctuation marks,
and a vocabulary trained on other text of the same kind. Texts are seeded, so runs compare.
"""

import argparse
import itertools
import pathlib
import random

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

REGEX = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
         r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ONSETS = "b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sl sp st str th tr wh".split()
NUCLEI = "a e i o u ai ea ee ie io oo ou".split()
CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "nd", "ng", "nt", "rs", "st", "ck", "ll"]
COMMON_HANZI = 3500  # as many as Chinese school children learn


def zipf_weights(count):
    return list(itertools.accumulate(1.0 / (rank + 2.7) for rank in range(count)))


class Lexicon:
    """Words with Zipf frequencies (Mandelbrot's offset 2.7)."""

    def __init__(self, words):
        self.words = list(dict.fromkeys(words))
        self.cumulative = zipf_weights(len(self.words))

    def draw(self, rng, count):
        return rng.choices(self.words, cum_weights=self.cumulative, k=count)


def english_lexicon(rng, count):
    def word():
        syllables = rng.choices([1, 2, 3, 4], weights=[3, 5, 4, 1])[0]
        return "".join(rng.choice(ONSETS) + rng.choice(NUCLEI) + rng.choice(CODAS)
                       for _ in range(syllables))
    short = sorted((word() for _ in range(count)), key=lambda w: len(w) + rng.gauss(0, 3))
    return Lexicon(short)


def chinese_lexicon(rng, count):
    hanzi = [chr(0x4E00 + i) for i in rng.sample(range(0x5000), COMMON_HANZI)]
    cumulative = zipf_weights(len(hanzi))
    lengths = rng.choices([1, 2, 3, 4], weights=[1, 12, 3, 2], k=count)
    words = hanzi[:200] + ["".join(rng.choices(hanzi, cum_weights=cumulative, k=n)) for n in lengths]
    return Lexicon(words)


def english_paragraph(rng, lexicon):
    words = lexicon.draw(rng, 80)
    for i in range(len(words)):
        roll = rng.random()
        if roll < 0.08:
            words[i] += rng.choice([",", ".", ".", ";", "?", "'s", ":"])
        elif roll < 0.12:
            words[i] = words[i].capitalize()
        elif roll < 0.13:
            words[i] = str(rng.randint(0, 2030))
    return " ".join(words) + ".\n\n"


def chinese_paragraph(rng, lexicon):
    parts = []
    for word in lexicon.draw(rng, 120):
        parts.append(word)
        if rng.random() < 0.18:
            parts.append(rng.choice("，，，。。；：、"))
    return "".join(parts) + "。\n"


def text(rng, paragraph, lexicon, size):
    parts, total = [], 0
    while total < size:
        parts.append(paragraph(rng, lexicon))
        total += len(parts[-1].encode())
    return parts


def train(paragraphs, vocabulary):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(REGEX), "isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, min_frequency=1, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  max_token_length=32)
    tokenizer.train_from_iterator(paragraphs, trainer)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--vocabulary", type=int, default=248000)
    parser.add_argument("--megabytes", type=float, default=10)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    languages = (("english", english_paragraph, english_lexicon(rng, 150000)),
                 ("chinese", chinese_paragraph, chinese_lexicon(rng, 150000)))
    size = args.megabytes * 1e6
    training = []
    for name, paragraph, lexicon in languages:
        training += text(rng, paragraph, lexicon, size)
        (args.out / f"{name}.txt").write_text("".join(text(rng, paragraph, lexicon, size)))
    tokenizer = train(training, args.vocabulary)
    tokenizer.save(str(args.out / "tokenizer.json"))
    print(f"{args.out}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
