"""Small tokenizers of every kind that deltaserve must load, as tokenizer.json objects."""

import json
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import trainers

import samples

MARKS_REGEX = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
               r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
NO_MARKS_REGEX = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
                  r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_pad|>"]
PLAIN = ["<tool_call>", "</tool_call>", "<think>", "</think>", "<|file_sep|>", "<|file_sep|>x"]
FLAGGED = [
    AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=False),
    AddedToken("<lr>", lstrip=True, rstrip=True, special=True, normalized=False),
    AddedToken("word", single_word=True, normalized=False), AddedToken("  b", normalized=False),
    AddedToken("été", normalized=True), AddedToken("A\u030a", normalized=True, single_word=True),
    AddedToken("ab", normalized=True, lstrip=True), AddedToken("abab", normalized=True),
    AddedToken("é b", normalized=False), AddedToken("é", normalized=False), AddedToken("的", rstrip=True),
    AddedToken("\u1100\u1161", normalized=True), AddedToken("hello", special=True, normalized=True)]
# White space that takes in its neighbours. Without lstrip beside rstrip the library aborts on some texts.
SPACES = [AddedToken("\n", lstrip=True, rstrip=True, normalized=False), AddedToken("  ", lstrip=True, rstrip=True, normalized=False),
          AddedToken("\u3000", lstrip=True, rstrip=True, normalized=True), AddedToken("<s>", rstrip=True, normalized=False)]


def around(model, regex):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), "isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def trained(regex, vocab_size):
    tokenizer = around(models.BPE(), regex)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(samples.training_lines(random.Random(7), 4000), trainer)
    return tokenizer


def random_merges(rng, letters):
    """Rules that no training would give: in any order, several for one token, some never usable."""
    vocab = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    to_alphabet = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = sorted({c for piece, _ in to_alphabet.pre_tokenize_str(letters) for c in piece})
    merges = []
    while len(merges) < 400:
        left, right = rng.choice(pieces), rng.choice(pieces)
        if len(left + right) > 12 or (left, right) in merges:
            continue
        merges.append((left, right))
        if left + right not in vocab:
            vocab[left + right] = len(vocab)
            pieces.append(left + right)
    if rng.random() < 0.5:
        rng.shuffle(merges)
    return around(models.BPE(vocab=vocab, merges=merges), MARKS_REGEX)


def with_unreachable_words(tokenizer, words):
    """The same with whole words in the vocabulary that no rule makes, and ignore_merges."""
    file = json.loads(tokenizer.to_str())
    vocab = file["model"]["vocab"]
    to_alphabet = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for word in words:
        vocab.setdefault("".join(piece for piece, _ in to_alphabet.pre_tokenize_str(word)), len(vocab))
    file["model"]["ignore_merges"] = True
    file["model"]["merges"] = [" ".join(pair) for pair in file["model"]["merges"]]
    return Tokenizer.from_str(json.dumps(file))


def config_entry(token):
    names = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")
    return {name: getattr(token, name) for name in names}


def build():
    """(name, tokenizer without config tokens, tokens of tokenizer_config.json) for each case."""
    marks, no_marks = trained(MARKS_REGEX, 3000), trained(NO_MARKS_REGEX, 1500)
    ignoring = with_unreachable_words(no_marks, samples.WORDS + ["的的", " zzz", "e\u0301"])
    marks.add_special_tokens(CONTROL)
    marks.add_tokens([AddedToken(text, normalized=False) for text in PLAIN])
    late = [AddedToken("<|audio_start|>", special=True, normalized=False),
            AddedToken("<tts_pad>", special=False, normalized=False)]
    no_marks.add_tokens(FLAGGED)
    spaces = Tokenizer.from_str(marks.to_str())
    spaces.add_tokens(SPACES)
    cases = [("qwen3.5 regex", marks, late), ("qwen3 regex, flagged tokens", no_marks, []),
             ("white space as tokens", spaces, []), ("ignore_merges", ignoring, [])]
    for i, letters in enumerate(["abc '", "的了一 a", "的皅甅", "éèя的a", "的了aé 𠀀"] * 2):
        chaos = random_merges(random.Random(i), letters)
        chaos.add_special_tokens(["<s>"])
        cases.append((f"random merges {i} of {letters!r}", chaos, []))
    return cases
