"""Images are not built yet. These tests assert that each such request gets the documented refusal,
a 400 that names the field, streamed or not, and that the server lives on. Their kinds count as not
passed. When they are built, their tests move to the other files and assert the check itself."""

import base64
import struct
import zlib

import pytest

from acceptance.target import error_of, user

pytestmark = pytest.mark.refused
check = pytest.mark.check
extension = pytest.mark.extension
fault = pytest.mark.fault


def png(width, height, colour=(255, 0, 0)):
    """A picture of one colour."""
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + \
            struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + \
        part(b"IDAT", zlib.compress(rows, 9)) + part(b"IEND", b"")


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image(url, **fields):
    return {"type": "image_url", "image_url": {"url": url, **fields}}


TEXT = {"type": "text", "text": "What colour is this?"}
RED = image(data_url(png(64, 64)))


def refused(target, messages, param, **fields):
    for stream in (False, True):
        error = error_of(target.ask(messages, stream=stream, max_tokens=20, **fields), 400)
        assert error["param"] and error["param"].startswith(param), error
    assert target.chat("hi", max_tokens=2).token_count() > 0
    return error


@check("d05")
def test_d05_image(target):
    error = refused(target, user([TEXT, RED]), "messages[0].content[1]")
    assert "image" in error["message"].lower()


@check("t13")
def test_t13_large_image(target):
    large = image(data_url(png(2048, 2048)))
    refused(target, user([large, TEXT]), "messages[0].content[0]")


@extension("E38")
@pytest.mark.parametrize("part", [
    RED, image(data_url(png(64, 64), "image/jpeg")), image(data_url(png(64, 64), "image/webp")),
    image(data_url(png(64, 64), "image/png;charset=utf-8")),
    image(data_url(png(8, 8)), detail="low"),
    {"type": "image_url", "image_url": data_url(png(64, 64))}])
def test_e38_forms_of_images(target, part):
    refused(target, user([TEXT, part]), "messages[0].content[1]")
    refused(target, user([part, TEXT, part]), "messages[0].content[0]")


@extension("E39")
@fault("F70")
@pytest.mark.parametrize("data", [png(64, 64)[:-128], b"hello", b"", b"<svg/>", png(1, 1),
                                  png(30000, 10)])
def test_e39_bad_images(target, data):
    error = refused(target, user([TEXT, image(data_url(data))]), "messages[0].content[1]")
    assert "image" in error["message"].lower()


@fault("F53")
def test_f53_image_in_a_tool_result(target):
    messages = user("hi") + [{"role": "tool", "tool_call_id": "c", "content": [TEXT, RED]}]
    refused(target, messages, "messages[1].content[1]")


@fault("F72")
def test_f72_large_data_url(target):
    refused(target, user([TEXT, image(data_url(b"x" * 3_700_000))]), "messages[0].content[1]")
