"""Turns runs of tokens into text: each token becomes a word that is one token of the model's
vocabulary, so that lengths come out as the trace has them, to a few per cent."""

import json
import pathlib
import re

import numpy

# Common words; those that a vocabulary has as one token are used.
CANDIDATES = """
a about above across add after again against all almost along already also although always am
among an and another answer any anything are area around as ask at away back bad base be because
become been before began begin behind being believe below best better between big black blue
body book both bring brought build but by call came can car care carry case catch cause center
certain change check child children city clear close code cold color come common company
complete could country course cover create cut data day days deal death decide deep did die
different do does door done down draw drive dry during each early earth east easy eat effect
else end enough even ever every example eye face fact fall family far fast father feel feet few
field figure fill final find fine fire first fish five follow food foot for force form found
four free friend from front full further game gave get girl give go gold good got great green
ground group grow had half hand hands happen happy hard has have he head hear heard heart help
her here high him himself his hold home hot hour hours house how however human hundred idea if
important in interest into is it its itself job join just keep kind king knew know known land
language large last late later law lead learn least leave left less let letter level life light
like line list little live local long look lost love low made main make man many map mark market
matter may me mean men might mile mind minute miss money month more morning most mother mountain
move much music must my name national near need never new next night no north not note nothing
now number of off office often old on once one only open or order other our out over own page
paper part party past pattern pay people perhaps person picture piece place plan plant play
point power present problem produce public put question quick quite rain ran reach read ready
real reason red remember rest result right river road rock room round rule run said same saw say
school science sea second see seem seen self sense serve set several shape she ship short should
show side simple since sing sit six size sleep slow small snow so social some something song
soon sound south space special stand star start state stay step still stood stop store story
street strong study such sun sure system table take talk tell ten test than that the their them
then there these they thing think this those though thought thousand three through time to today
together told too took top town tree true try turn two under unit until up upon us use value
very voice vowel wait walk want war warm was watch water way we week well went were west what
wheel when where which while white who whole why will wind with without woman women wonder wood
word work world would write year yes yet you young your
""".split()
FEWEST = 64


def of_vocabulary(directory):
    """Up to 500 words that tokenizer.json of a checkpoint has behind a space: vocabularies of random
    checkpoints know few of English."""
    tokenizer = json.loads((pathlib.Path(directory) / "tokenizer.json").read_text(encoding="utf-8"))
    words = (re.fullmatch("\u0120([a-z]{2,})", token) for token in tokenizer["model"]["vocab"])
    return [word[1] for word in words if word][:500]


def choose(count_tokens, candidates=CANDIDATES):
    """The candidates that are one token behind a space; `count_tokens` counts those of a text."""
    base = count_tokens("a")
    chosen = [word for word in candidates if count_tokens("a " + word) == base + 1]
    if len(chosen) < FEWEST:
        raise SystemExit(f"only {len(chosen)} common words are one token of this vocabulary, "
                         f"{FEWEST} are needed")
    return chosen


def _mix(x):
    """SplitMix64's finaliser over an array of uint64."""
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


class Writer:
    def __init__(self, words):
        self._words = numpy.array(words, dtype=object)

    def text(self, runs):
        return " ".join(self._run(run) for run in runs)

    def _run(self, run):
        index = numpy.arange(run.count, dtype=numpy.uint64)
        seed = numpy.uint64((run.seed * 0x9E3779B97F4A7C15) % 2**64)
        drawn = _mix(seed + index * numpy.uint64(0xD1B54A32D192ED03))
        drawn %= numpy.uint64(len(self._words))
        return " ".join(self._words[drawn.astype(numpy.int64)])
