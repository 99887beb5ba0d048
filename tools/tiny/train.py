"""Train the tiny model for a given number of minutes on all GPUs of a machine; resumable.

Every GPU has a process of its own with worker processes that write packed batches to a folder. Gradients are averaged
over the GPUs in one flat buffer. The learning rate follows the clock of the first process: warm-up, a constant part,
then a linear decay to almost zero at the end of the given time. Towards the end some steps train on one long row.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import queue
import shutil
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist

import export
from batching import move, prepare
from kernels import CpuKernels, GpuKernels
from model import Tiny
from optimiser import Muon, split
from packing import worker

PACE = 20  # steps between two looks at the clock


def reader(folder, config, ready, counts, kind, pinned):
    """Load batch files in order of age; when none is new, use an earlier one again."""
    kept, turn = [], 0
    while True:
        files = sorted(folder.glob(f"*.{kind}"))
        if files:
            for path in files[:4]:
                batch = pickle.loads(path.read_bytes())
                path.unlink()
                counts["fresh"] += 1
                if len(kept) < 400:
                    kept.append(batch)
                else:
                    kept[counts["fresh"] % 400] = batch
                ready.put(prepare(batch, config, pinned))
        elif len(kept) > 30 or (kind == "long" and kept):
            counts["again"] += 1
            turn += 7
            ready.put(prepare(kept[turn % len(kept)], config, pinned))
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


def average(parameters, world):
    """Mean of the gradients of all processes, in place; parameters without a gradient count as zero."""
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in parameters])
    if world > 1:
        dist.all_reduce(flat)
        flat /= world
    at = 0
    for parameter in parameters:
        parameter.grad = flat[at:at + parameter.numel()].view_as(parameter)
        at += parameter.numel()


class Clock:
    """Progress of the run as the first process sees it, told to the others every PACE steps."""

    def __init__(self, out, minutes, before, rank, world):
        self.out, self.minutes, self.before, self.rank = out, minutes, before, rank
        self.group = dist.new_group(backend="gloo") if world > 1 else None
        self.start, self.progress = time.time(), 0.0

    def elapsed(self):
        """Seconds of training, earlier runs included."""
        return self.before + time.time() - self.start

    def look(self):
        """Agree on the progress; a number written to OUT/minutes changes the length of the run."""
        if self.rank == 0:
            changed = self.out / "minutes"
            minutes = float(changed.read_text()) if changed.exists() else self.minutes
            self.progress = self.elapsed() / (60 * minutes)
        if self.group:
            told = torch.tensor([self.progress], dtype=torch.float64)
            dist.broadcast(told, 0, group=self.group)
            self.progress = told.item()
        return self.progress


def start_workers(arguments, folder, seed):
    """Processes that write ordinary batches, and one for long rows."""
    context = multiprocessing.get_context("spawn")
    tokenizer = str(Path(arguments.model) / "tokenizer.json")
    for number in range(arguments.workers):
        context.Process(target=worker, daemon=True, args=(number, str(folder), tokenizer, arguments.length, f"{seed}-{number}", 120)).start()
    if arguments.long_length:
        context.Process(target=worker, daemon=True, args=(0, str(folder), tokenizer, arguments.long_length, f"{seed}-long", 6, "long")).start()


def train(rank, world, arguments):
    """One process of the run."""
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(rank)
    torch.set_num_threads(2)
    if world > 1:
        dist.init_process_group("nccl" if gpu else "gloo", init_method=f"tcp://127.0.0.1:{arguments.port}", rank=rank, world_size=world)
    folder, out = Path(arguments.data) / str(rank), Path(arguments.out)
    folder.mkdir(parents=True)
    config = json.loads((Path(arguments.model) / "config.json").read_text())
    state_path = out / "state.pt"
    state = torch.load(state_path, weights_only=False, map_location="cpu") if state_path.exists() else None
    step, before, tokens = (state["step"], state["elapsed"], state["tokens"]) if state else (0, 0.0, 0)
    (folder / "progress").write_text(str(max(arguments.ripe, before / arguments.minutes / 60)))
    start_workers(arguments, folder, f"{arguments.seed}-{rank}-{step}")

    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if gpu else "cpu"
    model = Tiny(config, GpuKernels() if gpu else CpuKernels(), compiled=gpu and not arguments.plain).to(device)
    if arguments.start:
        export.load(model, arguments.start)
    matrices, others = split(model)
    parameters = matrices + others
    muon, adam = Muon(matrices), torch.optim.Adam(others, lr=arguments.rate, betas=(0.9, 0.98), eps=1e-10, fused=gpu)
    if state:
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        muon.load(state["muon"])
    counts, long_counts, ready, long_ready = {"fresh": 0, "again": 0}, {"fresh": 0, "again": 0}, queue.Queue(maxsize=8), queue.Queue(maxsize=2)
    threading.Thread(target=reader, args=(folder, config, ready, counts, "batch", gpu), daemon=True).start()
    if arguments.long_length:
        threading.Thread(target=reader, args=(folder, config, long_ready, long_counts, "long", gpu), daemon=True).start()

    history, window = [], []
    following = ready.get()
    clock = Clock(out, arguments.minutes, before, rank, world)
    last_log = last_save = time.time()
    last_tokens = tokens
    log = open(out / "log", "a", buffering=1) if rank == 0 else None
    while True:
        if step % PACE == 0 or clock.progress == 0.0:
            progress = clock.look()
            (folder / "progress").write_text(str(max(arguments.ripe, progress)))
            if world > 1 and step % (25 * PACE) == 0:
                for parameter in parameters:
                    dist.broadcast(parameter.data, 0)
        if progress >= 1.0 or (arguments.steps and step >= arguments.steps):
            break
        stretched = arguments.long_length and progress > arguments.long_from and step % arguments.long_every == arguments.long_every - 1
        model.use_compiled(not stretched)
        batch = move(long_ready.get() if stretched else following, device)
        share = rate_at(progress, step)
        loss, right, answer_loss, balance = model(batch)
        loss.backward()
        average(parameters, world)
        norm = torch.nn.utils.clip_grad_norm_(others, 1.0)
        for group in adam.param_groups:
            group["lr"] = arguments.rate * share
        adam.step()
        muon.step(arguments.rate * share)
        model.zero_grad(set_to_none=True)
        step += 1
        tokens += world * (arguments.long_length if stretched else arguments.length)
        if not stretched:
            window.append(torch.stack([loss.detach(), answer_loss, right, balance.detach(), norm]))
            following = ready.get()
        now = time.time()
        if window and (step <= 5 or now - last_log > 10):
            values = torch.stack(window).mean(0).tolist()
            if log:
                speed = (tokens - last_tokens) / (now - last_log)
                memory = torch.cuda.max_memory_allocated() / 1e9 if gpu else 0.0
                print(f"step {step} s {clock.elapsed():.0f} loss {values[0]:.4f} answer {values[1]:.4f} right {values[2]:.4f} balance {values[3]:.3f} norm {values[4]:.2f} rate {share:.3f} tok/s {speed:.0f} "
                      f"tokens {tokens / 1e6:.1f}M fresh {counts['fresh']} again {counts['again']} long {long_counts['fresh']}+{long_counts['again']} queue {ready.qsize()} mem {memory:.1f}G", file=log)
            history.append([step, round(clock.elapsed()), *[round(value, 4) for value in values]])
            window, last_log, last_tokens = [], now, tokens
            if not all(value == value for value in values):
                raise SystemExit("loss is not a number")
        if rank == 0 and now - last_save > 60:
            save_weights(out, model, {"step": step, "seconds": clock.elapsed(), "tokens": tokens, "gpus": world, "history": history})
            save_state(state_path, model, adam, muon, step, clock.elapsed(), tokens)
            last_save = now
    if rank == 0:
        save_weights(out, model, {"step": step, "seconds": clock.elapsed(), "tokens": tokens, "gpus": world, "fresh": counts["fresh"], "again": counts["again"], "history": history, "finished": True})
        print("finished", file=log)
        save_state(state_path, model, adam, muon, step, clock.elapsed(), tokens)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/tiny", help="folder with config.json and tokenizer.json")
    parser.add_argument("--out", required=True, help="folder for model.safetensors, run.json, log and state.pt")
    parser.add_argument("--start", help="model.safetensors to begin with instead of random weights")
    parser.add_argument("--minutes", type=float, default=18.0)
    parser.add_argument("--length", type=int, default=65536, help="tokens in one step of one GPU")
    parser.add_argument("--long-length", type=int, default=131072, help="tokens in a long row, 0 for none")
    parser.add_argument("--long-every", type=int, default=40, help="steps from one long row to the next")
    parser.add_argument("--long-from", type=float, default=0.55, help="share of the run after which long rows come in")
    parser.add_argument("--ripe", type=float, default=0.0, help="share of the run that the lengths of documents assume at least; above 0 for trained weights")
    parser.add_argument("--gpus", type=int, default=max(1, torch.cuda.device_count()), help="processes")
    parser.add_argument("--workers", type=int, default=0, help="batch writers of each GPU; 0: by the number of cores")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="/dev/shm/tiny-batches")
    parser.add_argument("--port", type=int, default=29511)
    parser.add_argument("--steps", type=int, default=0, help="stop after this many steps (for a trial)")
    parser.add_argument("--plain", action="store_true", help="do not compile")
    arguments = parser.parse_args()
    arguments.workers = arguments.workers or max(1, (os.cpu_count() or 4) // arguments.gpus - 2)
    os.environ |= {"OMP_NUM_THREADS": "1", "NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1", "GLOO_SOCKET_IFNAME": "lo", "TORCHINDUCTOR_COMPILE_THREADS": "8", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    shutil.rmtree(arguments.data, ignore_errors=True)
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=train, args=(rank, arguments.gpus, arguments)) for rank in range(arguments.gpus)]
    for process in ranks:
        process.start()
    while any(process.is_alive() for process in ranks):
        if any(process.exitcode for process in ranks):
            for process in ranks:
                process.terminate()
            sys.exit("a process of the run failed")
        time.sleep(0.5)
    sys.exit(any(process.exitcode for process in ranks))


if __name__ == "__main__":
    main()
