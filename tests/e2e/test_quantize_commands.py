"""The `quantize` and `quality` commands: what they write and print, what a copy serves, refusals."""

import json
import shutil
import subprocess

import pytest

from conftest import BINARY, MODEL, ROOT

TEXT = ROOT / "README.md"
PROMPT = "<|im_start|>user\nWhat is 2+3?<|im_end|>\n<|im_start|>assistant\n"


def run(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def error_line(*arguments):
    lines = run(*arguments, code=1).stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ")
    return lines[0]


def generated(*arguments):
    return run("generate", *arguments, "--prompt", PROMPT, "--temperature", "0", "--max-tokens",
               "32").stdout


@pytest.fixture(scope="module", name="copies")
def written_copies(tmp_path_factory):
    """models/tiny as `deltaserve quantize` writes it, {type: directory}."""
    folder = tmp_path_factory.mktemp("quantised")
    copies = {}
    for kind in ("int8", "int4"):
        copies[kind] = folder / kind
        printed = run("quantize", MODEL, "--to", kind, "--out", copies[kind]).stdout
        assert str(copies[kind]) in printed and f"tensors in {kind}" in printed
    return copies


@pytest.mark.parametrize("kind, bits", [("int8", 8), ("int4", 4)])
def test_a_copy_states_what_it_is_and_is_complete(copies, kind, bits):
    block = json.loads((copies[kind] / "config.json").read_text())["quantization_config"]
    assert block["quant_method"] == "deltaserve"
    assert (block["bits"], block["head_bits"]) == (bits, 8)
    names = {path.name for path in copies[kind].iterdir()}
    assert {"tokenizer.json", "chat_template.jinja", "generation_config.json"} <= names
    assert not any("partial" in name for name in names)


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_a_copy_answers_as_the_model_quantised_at_load(copies, kind):
    answer = generated(copies[kind])
    assert answer.strip()
    assert generated(MODEL, "--quantization", kind) == answer


def test_the_same_copy_whatever_the_threads(copies, tmp_path):
    run("quantize", MODEL, "--to", "int4", "--out", tmp_path / "one", "--threads", "1")
    for path in sorted(copies["int4"].glob("*.safetensors")):
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()


def test_a_kept_head_is_as_it_was(tmp_path):
    run("quantize", MODEL, "--to", "int8", "--keep-head", "--out", tmp_path / "kept")
    config = json.loads((tmp_path / "kept/config.json").read_text())
    assert config["quantization_config"]["head_bits"] == 0
    report = json.loads(run("quality", MODEL, "--text", TEXT, "--against",
                            f"int8,{tmp_path / 'kept'}", "--json").stdout)
    int8, kept = report["rows"]
    assert 0 < kept["mean_kl"] != int8["mean_kl"] and kept["weight_bytes"] > int8["weight_bytes"]


def test_quantize_refuses_and_writes_nothing(copies, tmp_path):
    assert "exists" in error_line("quantize", MODEL, "--to", "int8", "--out", copies["int8"])
    out = tmp_path / "twice"
    assert "quantised to int8 already" in error_line("quantize", copies["int8"], "--to", "int4",
                                                     "--out", out)
    assert "no such directory" in error_line("quantize", "/nonexistent", "--to", "int8", "--out",
                                             out)
    run("quantize", MODEL, "--to", "int2", "--out", out, code=2)
    run("quantize", MODEL, "--to", "int8", code=2)
    assert not list(tmp_path.iterdir())


def test_a_cut_copy_is_refused_by_name(copies, tmp_path):
    shutil.copytree(copies["int8"], tmp_path / "cut")
    [first, *_] = sorted((tmp_path / "cut").glob("*.safetensors"))
    first.write_bytes(first.read_bytes()[:-1000])
    assert first.name in error_line("generate", tmp_path / "cut", "--prompt", "x")


def test_a_copy_is_not_quantised_again_at_load(copies):
    assert "quantised" in error_line("generate", copies["int8"], "--prompt", "x", "--quantization",
                                     "int4")


def test_quality_compares_quantised_models_and_copies(copies):
    report = json.loads(run("quality", MODEL, "--text", TEXT, "--against",
                            f"int8,int4,{copies['int4']},{MODEL}", "--json").stdout)
    int8, int4, copy, itself = report["rows"]
    assert [row["compared"] for row in report["rows"]] == ["int8", "int4", str(copies["int4"]),
                                                           str(MODEL)]
    assert 0 < int8["mean_kl"] < 0.02 < int4["mean_kl"] < 1
    assert int4["weight_bytes"] < int8["weight_bytes"] < report["base_weight_bytes"]
    assert int8["top1_agreement"] > int4["top1_agreement"] > 0.7
    for field in ("mean_kl", "max_kl", "nll", "weight_bytes"):
        assert copy[field] == int4[field]
    assert itself["mean_kl"] == 0 and itself["top1_agreement"] == 1
    assert itself["nll"] == itself["base_nll"]


def test_quality_prints_a_row_for_each():
    lines = run("quality", MODEL, "--text", TEXT, "--against", "int8", "--window",
                "128").stdout.splitlines()
    assert "positions; base model:" in lines[0] and lines[1].split()[0] == "compared"
    assert [line.split()[0] for line in lines[2:]] == ["int8"]


def test_quality_refuses_what_cannot_be_compared(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    assert error_line("quality", MODEL, "--text", empty, "--against", "int8")
    other = ROOT / "tests/data/goldens/qwen3_5-dense"
    assert "vocabularies" in error_line("quality", MODEL, "--text", TEXT, "--against", other)
    assert "no such directory" in error_line("quality", MODEL, "--text", TEXT, "--against", "int5")
    run("quality", MODEL, "--text", tmp_path / "missing.txt", code=2)
