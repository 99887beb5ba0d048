#!/usr/bin/env python3
"""Preprocessing of videos in CPU time of one core: deltaserve (bench_videos) beside ffmpeg's decoding of all frames.

ffmpeg's test picture with moving parts at 30 frames a second, as H.264 and VP9, with the sizes of released checkpoints
(4,096 to 25,165,824 pixels in all frames). ffmpeg decodes on one thread and throws the frames away: what the frames that
are taken cost at least, unless others can be left out.
"""
import argparse
import pathlib
import resource
import subprocess
import tempfile

CLIPS = [("640x360", 10), ("1280x720", 10), ("1920x1080", 10)]
CODERS = {"h264.mp4": ["-c:v", "libx264", "-preset", "medium", "-crf", "30"],
          "vp9.webm": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M"]}
AREAS = (4096, 25165824)


def ffmpeg(*arguments):
    """The CPU milliseconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/release/bin/bench_videos")
    tool = parser.parse_args().tool
    with tempfile.TemporaryDirectory() as folder:
        for size, seconds in CLIPS:
            for name, coder in CODERS.items():
                path = pathlib.Path(folder) / f"{size}-{name}"
                ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30:duration={seconds}", *coder, "-pix_fmt",
                       "yuv420p", path)
                line = subprocess.run([tool, *map(str, AREAS), path], capture_output=True, text=True, check=True).stdout
                floor = ffmpeg("-threads", 1, "-i", path, "-f", "null", "-")
                print(f"{pathlib.Path(line.strip()).name}; ffmpeg {floor:.0f} ms for all frames", flush=True)


if __name__ == "__main__":
    main()
