"""Videos over HTTP: files and lists of frames, their place in usage and in the prefix cache, and refusals.

A build without libav (DELTASERVE_HAS_VIDEO=0) takes frames and refuses files.
"""

import base64
import io
import os
import subprocess
import time

import pytest
from conftest import BINARY, MODEL, ROOT, Api, Server, error_of
from PIL import Image

CLIPS = ROOT / "tests/data/media"
HAS_VIDEO = os.environ.get("DELTASERVE_HAS_VIDEO", "1") == "1"
LONG = {"type": "text", "text": "A kettle began to sing next door. " * 45 + "What is shown?"}
TOKENS_A_PATCH = 6  # 96 x 64 pixels in squares of 32


def clip(name):
    data = base64.b64encode((CLIPS / name).read_bytes()).decode()
    return {"type": "video_url", "video_url": {"url": "data:video/mp4;base64," + data}}


def frame(colour, size=(96, 64)):
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def frames(*colours, **fields):
    return {"type": "video", "video": [frame(colour) for colour in colours], **fields}


def body(*parts, **fields):
    return {"model": "tiny", "messages": [{"role": "user", "content": list(parts)}], "temperature": 0,
            "max_tokens": 8, **fields}


def usage_of(api, *parts):
    response = api.post("/v1/chat/completions", body(*parts))
    assert response.status_code == 200, response.text
    usage = response.json()["usage"]
    counted = api.post("/tokenize", body(*parts)).json()["count"]
    assert usage["prompt_tokens"] == counted
    return usage


def expect_refusal(api, part, reason):
    began = time.monotonic()
    error = error_of(api.post("/v1/chat/completions", body(part)), 400)
    assert time.monotonic() - began < 1
    assert error["param"] == "messages[0].content[0]" and reason in error["message"], error


def check_cache(api, video, other):
    """A prompt that comes again is found; one that differs in the video alone is not. What is seen anew in
    another prompt is not encoded again."""
    text = {"type": "text", "text": "Look again. " + LONG["text"]}
    first = usage_of(api, video, text)
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    again = usage_of(api, video, text)
    assert again["prompt_tokens_details"]["cached_tokens"] == (first["prompt_tokens"] - 1) // 64 * 64
    before = [api.metric("deltaserve:encoded_media_total"), api.metric("vllm:mm_cache_hits_total")]
    usage_of(api, {"type": "text", "text": "Elsewhere. " * 40}, video, text)
    after = [api.metric("deltaserve:encoded_media_total"), api.metric("vllm:mm_cache_hits_total")]
    assert after == [before[0], before[1] + 1]
    different = usage_of(api, other, text)
    assert different["prompt_tokens"] == first["prompt_tokens"]
    assert different["prompt_tokens_details"]["cached_tokens"] == 0


def test_frames_are_a_video(api):
    alone = usage_of(api, LONG)["prompt_tokens"]
    one = usage_of(api, frames("red", "blue"), LONG)["prompt_tokens"]
    two = usage_of(api, frames("red", "red", "blue"), LONG)["prompt_tokens"]
    assert one > alone + TOKENS_A_PATCH and two >= one + TOKENS_A_PATCH
    check_cache(api, frames("green", "blue", fps=1), frames("green", "navy", fps=1))


def test_a_video_beside_an_image_and_in_a_tool_result(api):
    image = {"type": "image_url", "image_url": {"url": frame("green")}}
    usage_of(api, image, frames("red", "blue"), LONG, image)
    messages = [{"role": "user", "content": "film it"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "film", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": [frames("red", "blue")]}]
    response = api.post("/v1/chat/completions", {"model": "tiny", "messages": messages, "max_tokens": 4})
    assert response.status_code == 200, response.text


def test_refusals(api, listener):
    expect_refusal(api, frames("red"), "2 at least")
    expect_refusal(api, {"type": "video", "video": [frame("red"), frame("red", (8, 8))]}, "different sizes")
    expect_refusal(api, {"type": "video_url", "video_url": {"url": "file:///etc/passwd"}}, "file:")
    address = {"url": listener.url("/a.mp4")}
    expect_refusal(api, {"type": "video_url", "video_url": address}, "--allowed-media-domains")
    assert listener.connections() == 0
    five = [frames("red", "blue")] * 5
    assert "5 videos: at most 4" in error_of(api.post("/v1/chat/completions", body(*five)), 400)["message"]


@pytest.mark.parametrize("path, content", [
    ("/v1/responses", {"input": [{"role": "user", "content": [frames("red", "blue")]}]}),
    ("/v1/messages", {"max_tokens": 4, "messages": [{"role": "user", "content": [frames("red", "blue")]}]})])
def test_the_other_protocols_have_no_videos(api, path, content):
    response = api.post(path, {"model": "tiny", **content})
    assert response.status_code == 400 and "'video'" in response.text, response.text


def test_flags_about_videos(tmp_path, api):
    server = Server(tmp_path, "--limit-mm-per-prompt", "video=1,image=2", "--video-wrapper", "drop")
    try:
        own = Api(server.url)
        video = frames("red", "blue")
        assert usage_of(api, LONG, video)["prompt_tokens"] - usage_of(own, LONG, video)["prompt_tokens"] == 2
        error = error_of(own.post("/v1/chat/completions", body(video, video)), 400)
        assert "2 videos: at most 1" in error["message"]
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("limit", ["video", "video=", "video=-1", "image=1,", "audio=1", "{}", '{"video": 1.5}',
                                   '{"video": 5000}', "[]"])
def test_limits_that_make_no_sense(limit):
    done = subprocess.run([BINARY, "serve", MODEL, "--port", "0", "--limit-mm-per-prompt", limit],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--limit-mm-per-prompt must be" in done.stderr, done.stderr


def test_doctor_says_what_is_built_in():
    report = subprocess.run([BINARY, "doctor"], capture_output=True, text=True, check=True).stdout
    line = next(line for line in report.splitlines() if "video files" in line)
    assert line.split(maxsplit=2)[2] == ("libav" if HAS_VIDEO else "not built in")


if HAS_VIDEO:
    @pytest.mark.parametrize("name", ["h264.mp4", "rotated.mp4", "hevc.mkv", "vp8.webm", "vp9.webm", "av1.webm"])
    def test_files(api, name):
        """Two seconds become four frames, so two patches, in every format."""
        expected = usage_of(api, frames("red", "red", "blue", "blue", fps=2), LONG)["prompt_tokens"]
        assert usage_of(api, clip(name), LONG)["prompt_tokens"] == expected

    def test_files_and_the_cache(api):
        check_cache(api, clip("h264.mp4"), clip("vp8.webm"))

    def test_a_file_in_a_stream(api):
        response = api.post("/v1/chat/completions", body(clip("h264.mp4"), LONG, stream=True))
        assert response.status_code == 200 and "[DONE]" in response.text

    def test_hostile_files(api):
        whole = (CLIPS / "h264.mp4").read_bytes()
        for data, reason in [(whole[:len(whole) // 2], "cut"), (b"#EXTM3U\nhttp://127.0.0.1/a.ts\n", "format"),
                             ((CLIPS / "sound.mp4").read_bytes(), "no pictures"),
                             ((CLIPS / "mpeg4.mp4").read_bytes(), "'mpeg4'")]:
            url = "data:video/mp4;base64," + base64.b64encode(data).decode()
            expect_refusal(api, {"type": "video_url", "video_url": url}, reason)
        assert usage_of(api, LONG)["completion_tokens"] > 0
else:
    def test_files_are_refused(api):
        expect_refusal(api, clip("h264.mp4"), "built without video")
