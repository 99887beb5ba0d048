"""Print training conversations, or write the text that the tokenizer is trained on."""

import argparse

from .core import Source
from .mixture import SAMPLES, training_sample
from .render import segments


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=sorted(SAMPLES), help="one kind of conversation")
    parser.add_argument("--corpus", help="write plain text to this file instead of printing")
    arguments = parser.parse_args()
    g = Source(arguments.seed)
    output = open(arguments.corpus, "w", encoding="utf-8") if arguments.corpus else None
    for _ in range(arguments.count):
        sample = SAMPLES[arguments.only][0](g, g.chance(0.55)) if arguments.only else training_sample(g)
        if output:
            for message in sample.messages:
                output.write(f"{message.think}\n{message.content}\n")
            for text, _ in segments(sample)[0]:
                output.write(text.replace("<|image_pad|>", "") + "\n")
        else:
            print("=" * 8, sample.ability, sample.expect)
            print("".join(f"⟪{text}⟫" if kind else text for text, kind in segments(sample)[0]).replace("<|image_pad|>", "·"))
    if output:
        output.close()


if __name__ == "__main__":
    main()
