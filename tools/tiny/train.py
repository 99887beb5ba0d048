"""Train the tiny model for a given number of minutes; resumable.

Worker processes write packed batches to a folder while this process trains on them. The learning rate follows the clock:
warm-up, a constant part, then a linear decay to almost zero at the end of the given time.
"""

import argparse
import json
import multiprocessing
import pickle
import queue
import shutil
import threading
import time
from pathlib import Path

import torch

import export
from batching import move, prepare
from kernels import GpuKernels
from model import Tiny
from optimiser import Muon, split
from packing import worker


def reader(folder, config, ready, counts):
    """Load batch files in order of age; when none is new, use an earlier one again."""
    kept, turn = [], 0
    while True:
        files = sorted(folder.glob("*.batch"))
        if files:
            for path in files[:4]:
                batch = pickle.loads(path.read_bytes())
                path.unlink()
                counts["fresh"] += 1
                if len(kept) < 400:
                    kept.append(batch)
                else:
                    kept[counts["fresh"] % 400] = batch
                ready.put(prepare(batch, config, True))
        elif len(kept) > 30:
            counts["again"] += 1
            turn += 7
            ready.put(prepare(kept[turn % len(kept)], config, True))
        else:
            time.sleep(0.05)


def rate_at(progress, step):
    """Share of the peak learning rate."""
    return min(1.0, (step + 1) / 150) * min(1.0, max(0.01, (1.0 - progress) / 0.5))


def save_state(path, model, adam, muon, step, elapsed, tokens):
    """Everything needed to go on later."""
    temporary = path.with_suffix(".new")
    torch.save({"model": model.state_dict(), "adam": adam.state_dict(), "muon": muon.state(), "step": step, "elapsed": elapsed, "tokens": tokens}, temporary)
    temporary.rename(path)


def save_weights(out, model, record):
    """The checkpoint and the record of the run so far."""
    export.save(model, out / "model.new")
    (out / "model.new").rename(out / "model.safetensors")
    (out / "run.json").write_text(json.dumps(record, indent=1))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/tiny", help="folder with config.json and tokenizer.json")
    parser.add_argument("--out", required=True, help="folder for model.safetensors, run.json, log and state.pt")
    parser.add_argument("--minutes", type=float, default=18.0)
    parser.add_argument("--length", type=int, default=65536, help="tokens in one step")
    parser.add_argument("--workers", type=int, default=13)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="/dev/shm/tiny-batches")
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (for a trial)")
    parser.add_argument("--plain", action="store_true", help="do not compile")
    arguments = parser.parse_args()
    folder, out = Path(arguments.data), Path(arguments.out)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    out.mkdir(parents=True, exist_ok=True)
    config = json.loads((Path(arguments.model) / "config.json").read_text())
    state_path = out / "state.pt"
    state = torch.load(state_path, weights_only=False, map_location="cpu") if state_path.exists() else None
    step, before, tokens = (state["step"], state["elapsed"], state["tokens"]) if state else (0, 0.0, 0)

    total = arguments.minutes * 60
    (folder / "progress").write_text(str(before / total))
    context = multiprocessing.get_context("spawn")
    for number in range(arguments.workers):
        context.Process(target=worker, daemon=True, args=(number, str(folder), str(Path(arguments.model) / "tokenizer.json"), arguments.length, f"{arguments.seed}-{step}", 120)).start()

    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    model = Tiny(config, GpuKernels(), compiled=not arguments.plain).cuda()
    matrices, others = split(model)
    muon, adam = Muon(matrices), torch.optim.Adam(others, lr=arguments.rate, betas=(0.9, 0.98), eps=1e-10, fused=True)
    if state:
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        muon.load(state["muon"])
    counts, ready = {"fresh": 0, "again": 0}, queue.Queue(maxsize=8)
    threading.Thread(target=reader, args=(folder, config, ready, counts), daemon=True).start()

    history, window = [], []
    first = ready.get()
    start = last_log = last_save = time.time()
    last_step = step
    log = open(out / "log", "a", buffering=1)
    while True:
        elapsed = before + time.time() - start
        progress = elapsed / total
        if progress >= 1.0 or (arguments.steps and step >= arguments.steps):
            break
        batch = move(first, "cuda")
        share = rate_at(progress, step)
        loss, right, answer_loss, balance = model(batch)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(others, 1.0)
        for group in adam.param_groups:
            group["lr"] = arguments.rate * share
        adam.step()
        muon.step(arguments.rate * share)
        model.zero_grad(set_to_none=True)
        step += 1
        tokens += arguments.length
        window.append(torch.stack([loss.detach(), answer_loss, right, balance.detach(), norm]))
        first = ready.get()
        now = time.time()
        if step <= 5 or now - last_log > 10:
            values = torch.stack(window).mean(0).tolist()
            speed = (step - last_step) * arguments.length / (now - last_log)
            line = f"step {step} s {before + now - start:.0f} loss {values[0]:.4f} answer {values[1]:.4f} right {values[2]:.4f} balance {values[3]:.3f} norm {values[4]:.2f} rate {share:.3f} tok/s {speed:.0f} tokens {tokens / 1e6:.1f}M fresh {counts['fresh']} again {counts['again']} queue {ready.qsize()} mem {torch.cuda.max_memory_allocated() / 1e9:.1f}G"
            print(line, file=log)
            history.append([step, round(before + now - start), *[round(value, 4) for value in values]])
            window, last_log, last_step = [], now, step
            (folder / "progress").write_text(str((before + now - start) / total))
            if not all(value == value for value in values):
                raise SystemExit("loss is not a number")
        if now - last_save > 45:
            save_weights(out, model, {"step": step, "seconds": before + now - start, "tokens": tokens, "history": history})
            save_state(state_path, model, adam, muon, step, before + now - start, tokens)
            last_save = now
    save_weights(out, model, {"step": step, "seconds": elapsed, "tokens": tokens, "fresh": counts["fresh"], "again": counts["again"], "history": history, "finished": True})
    save_state(state_path, model, adam, muon, step, elapsed, tokens)
    print("finished", file=log)


if __name__ == "__main__":
    main()
