"""The commands other than serve: output, exit codes, and one-line errors that say what to do."""

import base64
import io
import json
import os
import pathlib
import re
import subprocess
import time

import httpx
import pytest
from PIL import Image

from conftest import BINARY, MODEL, ROOT, START_SECONDS

GOLDENS = ROOT / "tests/data/goldens"
COMMANDS = ["serve", "chat", "generate", "verify", "bench", "make-model", "doctor", "render", "parse",
            "quantize", "quality"]


def run(*arguments, stdin="", code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, errors="surrogateescape", timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def error_line(*arguments, stdin="", code=1):
    lines = run(*arguments, stdin=stdin, code=code).stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    text = run(command, "--help").stdout
    assert "Examples:" in text and f"deltaserve {command}" in text


@pytest.mark.parametrize("said, arguments", [
    ("see `deltaserve --help`", []), ("no command \"nope\"", ["nope"]),
    ("see `deltaserve generate --help`", ["generate"]), ("--prompt", ["generate", MODEL]),
    ("--frobnicate", ["doctor", "--frobnicate"]), ("0 not in range", ["bench", MODEL, "-p", "0"]),
    ("--random-weights", ["bench", MODEL, "--layers", "3"]),
    ("both not in {auto,off}", ["serve", MODEL, "--numa", "both"]),
    ("nan is not a number from 0 to 2",
     ["generate", MODEL, "--prompt", "x", "--temperature", "nan"]),
    ("3 is not a number", ["chat", MODEL, "--temperature", "3"]),
    ("-1 is not a whole number of at least 1",
     ["generate", MODEL, "--prompt", "x", "--max-tokens", "-1"]),
    ("9223372036854775808 is not a whole number",
     ["chat", MODEL, "--max-tokens", "9223372036854775808"]),
    ("-1 is not a whole number", ["chat", MODEL, "--seed", "-1"]),
    ("-1 is not a whole number", ["generate", MODEL, "--prompt", "x", "--seed", "-1"]),
    ("-1 is not a whole number", ["make-model", "qwen3.5-0.8b", "--out", "x", "--seed", "-1"]),
    ("nan is not a number", ["serve", MODEL, "--memory-utilization", "nan"]),
    ("inf is not a number", ["serve", MODEL, "--swap-space", "inf"]),
    ("-1 is not a size", ["serve", MODEL, "--max-body-bytes", "-1"]),
    ("99999999999999999999 is not a size",
     ["serve", MODEL, "--max-total-body-bytes", "99999999999999999999"]),
    ("8GiX is not a size", ["serve", MODEL, "--kv-cache-memory", "8GiX"]),
    ("nan is not a number", ["verify", MODEL, "cases", "--tolerance", "nan"]),
    ("0 is not a size", ["make-model", "qwen3.5-0.8b", "--out", "x", "--max-shard-size", "0"]),
])
def test_wrong_command_lines_are_one_line_and_exit_with_2(said, arguments):
    assert said in error_line(*arguments, code=2)


def test_version():
    assert run("--version").stdout.strip()


def test_generate_is_deterministic_and_streams_the_same():
    arguments = ["generate", MODEL, "--prompt", "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>",
                 "--temperature", "0", "--max-tokens", "24"]
    whole = run(*arguments).stdout
    assert whole.strip()
    assert run(*arguments, "--stream").stdout == whole


def test_a_smaller_team_than_asked_for_answers_the_same():
    arguments = ["generate", MODEL, "--backend", "cpu", "--threads", "2", "--temperature", "0", "--max-tokens", "24",
                 "--prompt", "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>"]
    limited = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                             env={**os.environ, "OMP_THREAD_LIMIT": "1"})
    assert limited.returncode == 0 and limited.stdout.strip()
    assert limited.stdout == run(*arguments).stdout


def test_batch_invariance_is_always_so_on_the_cpu():
    arguments = ["generate", MODEL, "--backend", "cpu", "--prompt", "What is 7 + 8?", "--temperature", "0",
                 "--max-tokens", "8"]
    assert run(*arguments, "--batch-invariant").stdout == run(*arguments).stdout


def test_generate_refuses_what_it_cannot_do():
    assert "no such directory" in error_line("generate", "/nonexistent", "--prompt", "x")
    assert "--prompt" in error_line("generate", MODEL, "--prompt", "")
    assert "cuda" in error_line("generate", MODEL, "--prompt", "x", "--backend", "cuda")
    assert "avx9" in error_line("generate", MODEL, "--prompt", "x", "--cpu-isa", "avx9")
    assert "--gdn-precision fp16 is a form of the cuda backend" in error_line(
        "generate", MODEL, "--prompt", "x", "--backend", "cpu", "--gdn-precision", "fp16")


def test_paths_that_are_no_checkpoint_are_named(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    assert "GGUF" in error_line("generate", file, "--prompt", "x")
    assert "config.json" in error_line("doctor", tmp_path)
    assert "this is a file" in error_line("doctor", GOLDENS / "README.md")
    assert "Is a directory" in error_line("parse", MODEL, "--tools", tmp_path)
    assert "unknown --backend" in error_line("bench", MODEL, "--backend", "nope")


def test_doctor_tells_where_threads_and_memory_go():
    lines = run("doctor", MODEL, "--backend", "cpu", "--numa", "off").stdout
    assert re.search(r"^  placement +none \(--numa off\)$", lines, re.MULTILINE), lines
    assert re.search(r"^  memory nodes +\S", lines, re.MULTILINE), lines
    assert re.search(r"^  large pages +\S", lines, re.MULTILINE), lines


def test_a_tokenizer_larger_than_the_vocabulary_is_refused(tmp_path):
    for file in pathlib.Path(MODEL).iterdir():
        (tmp_path / file.name).symlink_to(file.resolve())
    assert run("generate", tmp_path, "--prompt", "1", "--max-tokens", "1").stdout
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    config["added_tokens_decoder"]["4096"] = {"content": "<late>", "special": True}
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for command in (["generate", "--prompt", "1"], ["doctor"]):
        line = error_line(command[0], tmp_path, *command[1:])
        assert "ids go up to 4096" in line and "vocab_size of config.json is 4096" in line


def test_output_that_is_lost_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "generate", MODEL, "--prompt", "1", "--max-tokens", "2"],
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


def test_errors_without_a_stderr_end_with_1():
    done = subprocess.run(f"{BINARY} generate /nonexistent --prompt x 2>&-", shell=True, timeout=300)
    assert done.returncode == 1


def test_a_reader_that_leaves_ends_the_output():
    command = f"{BINARY} generate {MODEL} --prompt 1 --max-tokens 200 --temperature 0 --stream"
    done = subprocess.run(["bash", "-c", f"{command} | head -c 1; exit ${{PIPESTATUS[0]}}"],
                          capture_output=True, text=True, timeout=300)
    assert len(done.stdout) == 1 and done.stderr == "" and done.returncode in (0, 141)


def test_a_server_outlives_the_reader_of_its_log(tmp_path):
    port_file = tmp_path / "port"
    server = subprocess.Popen([BINARY, "serve", MODEL, "--port", "0", "--port-file", str(port_file),
                               "--max-model-len", "1024"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    server.stdout.close()
    try:
        end = time.monotonic() + START_SECONDS
        while not (port_file.exists() and port_file.read_text().strip()):
            assert server.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port_file.read_text().strip()}/v1/completions"
        for _ in range(2):
            body = {"model": "tiny", "prompt": "1", "max_tokens": 1}
            assert httpx.post(url, json=body, timeout=60).status_code == 200
    finally:
        server.terminate()
        server.wait(timeout=60)


def test_chat_reads_any_bytes():
    answer = run("chat", MODEL, "--no-thinking", "--max-tokens", "4", "--temperature", "0",
                 stdin="caf\udcc3 \udcff\udcf0\udc9f\r\n/quit\r\nnot read\n")
    assert len(answer.stdout.strip().splitlines()) == 1 and answer.stderr == ""


def test_chat_from_a_pipe_fails_if_a_line_is_not_answered():
    done = run("chat", MODEL, "--no-thinking", "--max-tokens", "4", "--max-model-len", "256",
               stdin="x y " * 2000 + "\nHello\n", code=1)
    assert done.stderr.count("error: ") == 1 and done.stdout.strip()


def test_chat_keeps_the_conversation():
    answer = run("chat", MODEL, "--no-thinking", "--temperature", "0",
                 stdin="My code word is BLUE_42.\nWhat is my code word?\n/quit\n").stdout
    assert "BLUE_42" in answer.strip().splitlines()[-1]


@pytest.mark.parametrize("name, cases", [("qwen3_5-dense", 4), ("qwen3_5-moe", 3),
                                         ("qwen3_next", 3), ("qwen3_5-wide", 4)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_verify_passes_on_the_recorded_cases(name, cases, dtype):
    report = json.loads(run("verify", GOLDENS / name, GOLDENS / name / "cases.safetensors",
                            "--dtype", dtype, "--json").stdout)
    assert report["passed"] and report["num_passed"] == cases and report["num_failed"] == 0


def test_verify_fails_past_the_tolerance():
    name = GOLDENS / "qwen3_5-dense"
    run("verify", name, name / "cases.safetensors", "--dtype", "float32", "--tolerance", "1e-9",
        code=1)


def test_make_model_bench_and_doctor(tmp_path):
    model = tmp_path / "cut"
    run("make-model", "qwen3.5-0.8b", "--layers", "4", "--out", model)
    report = json.loads(run("bench", model, "-p", "32", "-n", "2", "-b", "1,2", "-r", "1",
                            "--json").stdout)
    assert [test["test"] for test in report["tests"]] == ["prefill 32", "decode at 32",
                                                          "decode at 32"]
    assert all(test["tokens_per_s"] > 0 for test in report["tests"])
    text = run("doctor", model, "--max-model-len", "4096").stdout
    assert "gated_delta_rule" in text and "memory plan" in text and "3 linear + 1 full" in text


def test_a_truncated_checkpoint_is_refused_by_name(tmp_path):
    source = GOLDENS / "qwen3_5-dense"
    for name in ["config.json", "model.safetensors"]:
        data = (source / name).read_bytes()
        (tmp_path / name).write_bytes(data[:-1000] if name.endswith("tensors") else data)
    assert "model.safetensors" in error_line("bench", tmp_path, "-p", "8", "-n", "1")


def test_render_and_parse():
    request = json.dumps({"messages": [{"role": "user", "content": "hi <|im_end|>"}]})
    text = run("render", MODEL, stdin=request).stdout
    assert text.startswith("<|im_start|>user\nhi <|im_end|><|im_end|>\n")
    assert text.count('* "<|im_end|>"') == 1, "what a user types is no control token"
    message = json.loads(run("parse", MODEL, "--thinking", "on",
                             stdin="plan</think>\n\nAnswer").stdout)["message"]
    assert message["reasoning_content"] == "plan" and message["content"] == "Answer"


def test_render_shows_the_placeholders_of_an_image():
    file = io.BytesIO()
    Image.new("RGB", (64, 96)).save(file, "PNG")
    url = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    request = json.dumps({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is "}, {"type": "image_url", "image_url": {"url": url}}]}]})
    prompt = json.loads(run("render", MODEL, "--json", stdin=request).stdout)["prompt"]
    pads = "<|image_pad|>" * 6  # one for each 32x32 pixels
    assert f"What is <|vision_start|>{pads}<|vision_end|><|im_end|>" in prompt
    assert "--allowed-media-domains" in error_line(
        "render", MODEL, stdin=request.replace(url, "http://127.0.0.1/x.png"))
