"""The commands other than serve: output, exit codes, and one-line errors that say what to do."""

import json
import subprocess

import pytest

from conftest import BINARY, MODEL, ROOT

GOLDENS = ROOT / "tests/data/goldens"
COMMANDS = ["serve", "chat", "generate", "verify", "bench", "make-model", "doctor", "render", "parse",
            "quantize", "quality"]


def run(*arguments, stdin="", code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=300)
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


def test_wrong_command_lines_exit_with_2():
    for arguments in [[], ["nope"], ["generate"], ["generate", MODEL], ["bench", MODEL, "-p", "0"]]:
        run(*arguments, code=2)


def test_version():
    assert run("--version").stdout.strip()


def test_generate_is_deterministic_and_streams_the_same():
    arguments = ["generate", MODEL, "--prompt", "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>",
                 "--temperature", "0", "--max-tokens", "24"]
    whole = run(*arguments).stdout
    assert whole.strip()
    assert run(*arguments, "--stream").stdout == whole


def test_generate_refuses_what_it_cannot_do():
    assert "no such directory" in error_line("generate", "/nonexistent", "--prompt", "x")
    assert "--prompt" in error_line("generate", MODEL, "--prompt", "")
    assert "cuda" in error_line("generate", MODEL, "--prompt", "x", "--backend", "cuda")
    assert "avx9" in error_line("generate", MODEL, "--prompt", "x", "--cpu-isa", "avx9")


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
