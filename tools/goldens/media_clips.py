#!/usr/bin/env python3
"""Writes the clips of tests/data/media/, which tests/unit/media/video_decoder_test.cc knows by what their frames show.

Needs ffmpeg with its usual encoders. Frame i of 20 has a left half of grey 20 + 10 i, and a right half that is red above
blue. `rotated` is stored lying on its side, `trimmed` begins at its fifth frame by an edit list, `changing` has 4:4:4 pixels from
frame 10 on, `sound` has no picture.
"""
import argparse
import pathlib
import subprocess

WIDTH, HEIGHT, FRAMES, RATE = 96, 64, 20, 10
COMMON = ["-an", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]
X264 = ["-c:v", "libx264", "-preset", "veryslow", "-crf", "20", "-pix_fmt", "yuv420p"]
CLIPS = {
    "h264.mp4": X264 + ["-bf", "3"],
    "hevc.mkv": ["-c:v", "libx265", "-x265-params", "log-level=none:info=0", "-crf", "20", "-pix_fmt", "yuv420p"],
    "vp8.webm": ["-c:v", "libvpx", "-b:v", "200k", "-auto-alt-ref", "1", "-lag-in-frames", "10"],
    "vp9.webm": ["-c:v", "libvpx-vp9", "-crf", "20", "-b:v", "0", "-auto-alt-ref", "1", "-lag-in-frames", "15",
                 "-pix_fmt", "yuv420p"],
    "av1.webm": ["-c:v", "libaom-av1", "-crf", "20", "-b:v", "0", "-cpu-used", "6"],
    "mpeg4.mp4": ["-c:v", "mpeg4"],
}


def frame(index):
    grey = bytes([20 + 10 * index] * 3) * (WIDTH // 2)
    rows = [grey + bytes(colour) * (WIDTH // 2) for colour in ((200, 30, 30), (30, 30, 200))]
    return rows[0] * (HEIGHT // 2) + rows[1] * (HEIGHT // 2)


def ffmpeg(*arguments, stdin=b""):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], input=stdin, check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/data/media"))
    out = parser.parse_args().out
    pixels = b"".join(frame(index) for index in range(FRAMES))
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(RATE), "-i", "-"]
    for name, options in CLIPS.items():
        ffmpeg(*raw, *options, *COMMON, str(out / name), stdin=pixels)
    lying = out / "lying.mp4"
    ffmpeg(*raw, *X264, "-vf", "transpose=clock", *COMMON, str(lying), stdin=pixels)
    ffmpeg("-i", str(lying), "-c", "copy", "-metadata:s:v:0", "rotate=90", *COMMON, str(out / "rotated.mp4"))
    lying.unlink()
    halves = b""
    for part, form in enumerate(("yuv420p", "yuv444p")):
        stream = out / "half.h264"
        ffmpeg(*raw, *X264[:-1], form, "-bf", "0", "-vf", f"select=eq(floor(n/10)\\,{part})", *COMMON, str(stream), stdin=pixels)
        halves += stream.read_bytes()
    stream.write_bytes(halves)
    ffmpeg("-r", str(RATE), "-f", "h264", "-i", str(stream), "-c", "copy", "-bsf:v",
           f"setts=ts=N*{1000 // RATE}", *COMMON, str(out / "changing.mkv"))
    stream.unlink()
    ffmpeg("-ss", "0.35", "-i", str(out / "h264.mp4"), "-c", "copy", *COMMON, str(out / "trimmed.mp4"))
    ffmpeg("-f", "lavfi", "-i", "sine=duration=0.2", "-c:a", "aac", "-b:a", "16k", "-fflags", "+bitexact",
           str(out / "sound.mp4"))


if __name__ == "__main__":
    main()
