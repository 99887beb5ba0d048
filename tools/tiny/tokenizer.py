"""Train the byte-level BPE of the tiny model and write tokenizer.json and tokenizer_config.json.

The base vocabulary has exactly BASE_VOCAB entries; the 33 added tokens of the model family follow it in their usual
order, so every special id is BASE_VOCAB plus a fixed offset whatever text the merges were learnt from.
"""

import argparse
import json
import os
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

BASE_VOCAB = 4000
SPLIT_REGEX = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ADDED_TOKENS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>",
    "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
    "<think>", "</think>", "<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>",
    "<tts_text_bos_single>", "<|audio_pad|>",
]
NOT_SPECIAL = {
    "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<|fim_prefix|>",
    "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
}
# Characters that deserve a token of their own although the generated corpus is mostly English.
CJK_CHARACTERS = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现"
    "当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重"
    "并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几"
    "口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书"
    "请复述重字谢早晚吗呢吧啊您叫名欢迎等于加减乘除算答案只输红绿蓝黄黑白色橙紫圆方角图片颜什么零六七八九百千万再见帮助确切密码记住天气猫狗花树"
    "今朝昼夜私何語日本东京北京上海数え言葉繰返挨拶答足引掛割円形三四角赤青緑黄黒白色画像名前元気"
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげござじずぜぞだぢづでどばびぶべぼぱぴぷぺぽっゃゅょ"
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲンガギグゲゴザジズゼゾダデドバビブベボパピプペポッャュョー"
    "，。！？、：；「」（）"
)
EMOJI = "😀😂🙂😊😍🤔👍🎉🚀🔥❤️✨🌍🌈🐱🐶🍎🍕☕🎂⭐🌟✅❌💡📦🎵👋🙏🇯🇵🇫🇷🇺🇸👨‍👩‍👧"


def boosted_characters(repeats):
    """Yield each boosted character by itself, so that it can only be merged from its own bytes."""
    for _ in range(repeats):
        yield from CJK_CHARACTERS
        yield from EMOJI


def corpus_lines(path, limit):
    """Yield the text of a file in pieces of about 64 KiB, up to `limit` characters."""
    read = 0
    with open(path, encoding="utf-8", errors="ignore") as handle:
        while read < limit:
            piece = handle.read(65536)
            if not piece:
                return
            read += len(piece)
            yield piece


def train(paths, limit, repeats):
    """Return a Tokenizer whose merges were learnt from the given text files."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT_REGEX), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=BASE_VOCAB, min_frequency=2, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), special_tokens=[],
    )

    def everything():
        for path in paths:
            yield from corpus_lines(path, limit)
        yield from boosted_characters(repeats)

    tokenizer.train_from_iterator(everything(), trainer)
    if tokenizer.get_vocab_size() != BASE_VOCAB:
        raise SystemExit(f"corpus too small: only {tokenizer.get_vocab_size()} entries")
    for content in ADDED_TOKENS:
        tokenizer.add_tokens([AddedToken(content, special=content not in NOT_SPECIAL, normalized=False)])
    return tokenizer


def config(tokenizer):
    """Return the contents of tokenizer_config.json."""
    decoder = {
        str(tokenizer.token_to_id(content)): {
            "content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": content not in NOT_SPECIAL,
        }
        for content in ADDED_TOKENS
    }
    return {
        "add_bos_token": False, "add_prefix_space": False, "added_tokens_decoder": decoder,
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>",
                                      "<|image_pad|>", "<|video_pad|>"],
        "audio_bos_token": "<|audio_start|>", "audio_eos_token": "<|audio_end|>", "audio_token": "<|audio_pad|>",
        "bos_token": None, "clean_up_tokenization_spaces": False, "eos_token": "<|im_end|>", "errors": "replace",
        "image_token": "<|image_pad|>", "model_max_length": 262144, "pad_token": "<|endoftext|>",
        "pretokenize_regex": SPLIT_REGEX, "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None, "video_token": "<|video_pad|>", "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
    }


def main():
    """Command line: text files in, tokenizer files out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", help="UTF-8 text files, for instance from generate.sample")
    parser.add_argument("--out", default="models/tiny")
    parser.add_argument("--limit", type=int, default=20_000_000, help="characters read from each file")
    parser.add_argument("--repeats", type=int, default=300, help="how often the boosted characters are repeated")
    arguments = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    tokenizer = train(arguments.text, arguments.limit, arguments.repeats)
    folder = Path(arguments.out)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    text = json.dumps(config(tokenizer), indent=2, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
