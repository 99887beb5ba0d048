"""Many requests at once answer as each does alone."""

import concurrent.futures
import random

from conftest import joined

WORDS = "the a small river house light runs over under green stone and then stops".split()


def make_request(index):
    generator = random.Random(index)
    words = [generator.choice(WORDS) for _ in range(generator.choice([1, 5, 40, 300]))]
    return {"content": " ".join(words), "max_tokens": generator.choice([1, 7, 20, 60]),
            "temperature": generator.choice([0, 1]), "seed": index,
            "ignore_eos": index % 3 == 0}


def test_64_streams_equal_their_solo_text(api):
    requests = [make_request(index) for index in range(64)]
    alone = [api.text(**request) for request in requests]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        together = list(pool.map(lambda request: joined(api.stream_chat(**request)), requests))
    assert together == alone


def test_choices_of_concurrent_requests_do_not_mix(api):
    def run(index):
        body = api.chat(f"Number {index}", n=3, seed=index, temperature=1, max_tokens=15).json()
        return [choice["message"]["content"] for choice in body["choices"]]
    alone = [run(index) for index in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == alone
