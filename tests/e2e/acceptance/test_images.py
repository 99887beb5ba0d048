"""Images in requests: what the model sees, every form in which clients send them, and what is
refused, streamed or not, without harm."""

import base64
import io
import struct
import time
import zlib

import pytest
from PIL import Image

from acceptance.target import error_of, user

check = pytest.mark.check
extension = pytest.mark.extension
fault = pytest.mark.fault
model = pytest.mark.model

COLOURS = {"red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
ASK = {"type": "text", "text": "What colour is this?"}
OFF = {"chat_template_kwargs": {"enable_thinking": False}, "temperature": 0}


def encoded(picture, form="PNG", **options):
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def square(colour, side=64):
    return Image.new("RGB", (side, side), COLOURS[colour])


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image(data, **fields):
    return {"type": "image_url", "image_url": {"url": data_url(data), **fields}}


def header_png(width, height):
    """A PNG that ends after its header, with the size that it claims."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


RED = image(encoded(square("red")))


def refused(target, content, param, **fields):
    """A 400 that names the part, within a second, after which the server answers."""
    for stream in (False, True):
        began = time.monotonic()
        error = error_of(target.ask(user(content), stream=stream, max_tokens=20, **fields), 400)
        assert time.monotonic() - began < 1
        assert error["param"].startswith(param) and "image" in error["message"].lower(), error
    assert target.chat("hi", max_tokens=2).token_count() > 0


@check("d05")
@model
def test_d05_image(target):
    without = target.chat(user([ASK]), max_tokens=300, temperature=0)
    answer = target.chat(user([ASK, RED]), max_tokens=300, temperature=0)
    assert "red" in answer.text().lower()
    assert answer.usage["prompt_tokens"] > without.usage["prompt_tokens"] + 3


@check("t13")
@model
def test_t13_large_image(target):
    picture = Image.new("RGB", (4096, 4096))
    for index, colour in enumerate(COLOURS.values()):
        picture.paste(colour, (index % 2 * 2048, index // 2 * 2048, index % 2 * 2048 + 2048,
                               index // 2 * 2048 + 2048))
    began = time.monotonic()
    content = [image(encoded(picture)), {"type": "text", "text": "What colours are in the four quadrants?"}]
    answer = target.chat(user(content), max_tokens=4096, **OFF)
    assert time.monotonic() - began < 300
    assert all(colour in answer.text().lower() for colour in COLOURS), answer.text()


@extension("E38")
@model
@pytest.mark.parametrize("form, options", [
    ("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("WEBP", {}), ("WEBP", {"lossless": True}),
    ("GIF", {})])
def test_e38_formats(target, form, options):
    """The first bytes say what a file is, whatever its declared type."""
    data = encoded(square("blue"), form, **options)
    tokens = target.chat(user([ASK, image(encoded(square("blue")))]), max_tokens=1).usage["prompt_tokens"]
    for kind in ("image/" + form.lower(), "image/png", "application/octet-stream"):
        part = {"type": "image_url", "image_url": {"url": data_url(data, kind)}}
        answer = target.chat(user([ASK, part]), max_tokens=60, **OFF)
        assert "blue" in answer.text().lower(), (kind, answer.text())
        assert abs(answer.usage["prompt_tokens"] - tokens) <= 4  # of the closed thought


@extension("E38")
def test_e38_forms_of_parts(target):
    data = encoded(square("red"))
    forms = [image(data), image(data, detail="low"), image(data, detail="high"),
             {"type": "image_url", "image_url": data_url(data)},
             {"type": "image_url", "image_url": {"url": data_url(data, "image/png;charset=utf-8")}}]
    counts = [target.chat(user([ASK, form]), max_tokens=1).usage["prompt_tokens"] for form in forms]
    before = [target.chat(user([form, ASK]), max_tokens=1).usage["prompt_tokens"] for form in forms]
    assert len(set(counts + before)) == 1
    alone = target.chat(user([ASK]), max_tokens=1).usage["prompt_tokens"]
    two = target.chat(user([forms[0], ASK, forms[0]]), max_tokens=1).usage["prompt_tokens"]
    assert two - alone == 2 * (counts[0] - alone)


@extension("E38")
def test_e38_two_images_and_the_cache(target):
    """Prompts of equal tokens and different pictures do not share what was computed."""
    texts = {}
    for _ in range(2):
        for colour in COLOURS:
            answer = target.chat(user([image(encoded(square(colour, 96))), ASK]), max_tokens=40, **OFF)
            assert texts.setdefault(colour, answer.text()) == answer.text()
    assert len(set(texts.values())) == len(COLOURS)


def test_images_are_counted(target):
    messages = user([RED, ASK])
    answer = target.chat(messages, max_tokens=1)
    assert len(target.tokenize(messages=messages)) == answer.usage["prompt_tokens"]


@extension("E39")
@fault("F70")
@pytest.mark.parametrize("data", [
    encoded(Image.effect_noise((64, 64), 50).convert("RGB"))[:-128], b"hello", b"", b"<svg/>",
    header_png(0, 0), header_png(30000, 10), header_png(60000, 60000), b"\xff\xd8\xff\xe0junk",
    b"RIFF\x10\0\0\0WEBPVP8 junk", b"GIF89a\xff\xff\xff\xff"])
def test_e39_bad_images(target, data):
    refused(target, [ASK, image(data)], "messages[0].content[1]")


@extension("E39")
@fault("F70")
@pytest.mark.parametrize("url", ["data:image/png;base64,####", "data:image/png,abc", "data:", "x", ""])
def test_e39_bad_urls(target, url):
    refused(target, [ASK, {"type": "image_url", "image_url": {"url": url}}], "messages[0].content[1]")


@extension("E39")
def test_e39_one_pixel_is_enlarged(target):
    assert target.chat(user([ASK, image(encoded(square("red", 1)))]), max_tokens=4).token_count() > 0


@fault("F53")
@model
def test_f53_image_in_a_tool_result(target):
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = [{"type": "text", "text": "The screen:"}, RED]
    messages = user("Look at the screen. What colour is it?") + [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result}]
    prompt = target.rendered(messages)
    assert "<tool_response>\nThe screen:<|vision_start|><|image_pad|>" in prompt
    assert target.chat(messages, max_tokens=40, **OFF).token_count() > 0


@fault("F72")
def test_f72_large_data_url(target):
    """5 MB of a data URL are taken; a body beyond the limit is 413."""
    noise = Image.effect_noise((1600, 1100), 80)
    data = encoded(Image.merge("RGB", [noise, noise.rotate(180), noise.transpose(0)]))
    assert len(data_url(data)) > 5_000_000
    assert target.chat(user([image(data), ASK]), max_tokens=2).token_count() > 0


@fault("F72")
@pytest.mark.local
def test_f72_body_over_the_limit(target):
    error_of(target.ask(user([image(b"x" * 52_000_000)])), 413)
    assert target.chat("hi", max_tokens=2).token_count() > 0
