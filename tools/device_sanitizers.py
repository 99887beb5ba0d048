#!/usr/bin/env python3
"""Runs every case of the conformance suite under tools of compute-sanitizer, a process a case.

A sanitizer makes kernels ten to a thousand times slower, so cases run side by side: JOBS processes, dealt over
the GPUs in DEVICES ("0,1"). A case is clean when it passes and its tool reports nothing; it is cut after
CASE_LIMIT seconds, or TIME_LIMIT of the whole run, and then it is named and not clean. Reports that differ in
addresses and threads only are shown once, and those that docs/kernels.md explains are counted as such. Cases
that are not clean leave their output in LOGS, with seconds.json.
Usage: device_sanitizers.py PROGRAM TOOL..., FILTER chooses cases.
"""
import collections
import concurrent.futures
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

# Cases of large grids begin first, so that none is left alone at the end.
LONG = re.compile(r"BatchesThatFill|BatchInvariant|Invariant(Block|Experts)|Sample|Drawn|MoeBlock|Recorded|"
                  r"GateUpSiluOfManyRows|AttentionOp|MatrixOps|VisionWgmma|MixedBatches")
# These measure a device's free memory, so nothing else may run there: last, one at a time on each.
ALONE = re.compile(r"ScratchPlan|StepGraphs.StayWithinTheirMemory")
# Reports that docs/kernels.md explains (Sanitizers): tool, case, and the whole report.
ELECTED = (r"Error: Race reported between ((and )?(Read|Write) access at "
           r"(load_values|clear_rows|load_factors|carry_chunk|bulk_load)\+.*\n?)+")
# Warps that meet at a barrier of their own while others of the block wait for all of it.
AMONG_THEMSELVES = (r"Error: Race reported between ((and )?((Read|Write) access at merge_warps|Read access at add_chains|"
                    r"Write access at keep_chain)\+.*\n?)+")
# cuBLASLt's own kernels.
LIBRARY = r"Error: Race reported between ((and )?(Read|Write) access at nvjet_\w+\+.*\n?)+"
EXPLAINED = [(tool, re.compile(case), re.compile(report)) for tool, case, report in [
    ("racecheck", r"GatedDeltaRule", ELECTED),
    ("racecheck", r"RopeAttention|MoeOne|MoeBlock", AMONG_THEMSELVES),
    ("racecheck", r"MatrixOps\.FewRowsOfLargeMatrices/bfloat16$", LIBRARY),
    ("initcheck", r"(GateUpSilu|FewRowsOfLargeMatrices|MoeBlock\w*\.\w+)/bfloat16(_\d+)?$",
     r"Uninitialized __global__ memory read of size 16 bytes\nat load\+(.*\n)*Device Frame: silu_pairs\+.*"),
    ("memcheck", r"AStepThatCannotBeRecordedFailsAlone", r"Program hit cudaErrorStreamCapture[\s\S]*"),
    ("memcheck", r"LimitsThatDoNotFitAreRefused", r"Program hit cudaErrorMemoryAllocation[\s\S]*")]]
# initcheck's own records of memory count as taken by the program.
EXPLAINED_FAILURE = re.compile(r"<double>\(taken\)[\s\S]*is \d+, which exceeds kGranule[\s\S]*ERROR SUMMARY: 0 errors")
PRINTED = 2000  # reports at most; all of them are looked at
OPTIONS = ["--print-limit", str(PRINTED), "--error-exitcode", "9", "--target-processes", "application-only",
           "--launch-timeout", "60", "--kill", "--require-cuda-init", "no", "--show-backtrace", "device",
           "--demangle", "simple"]
TOOL_OPTIONS = {"racecheck": ["--racecheck-num-workers", "2"]}
# A sanitizer talks to its program through the first free port of a few, which nobody else may take: a
# thousand for each device, so that runs on different devices can be side by side.
FIRST_PORT = 49152
DEVICE_PORTS = 1000
PORTS = 10
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")
NO_REPORTS = ("COMPUTE-SANITIZER", "Target application returned an error")
SHOWN_LINES = 14


class Outcome(NamedTuple):
    tool: str
    case: str
    state: str  # clean, explained, reports, failed, cut, not begun
    seconds: float
    output: str


def list_cases(program: str) -> list[str]:
    """The names of the cases, those that take long first."""
    command = [program, "--gtest_list_tests", f"--gtest_filter={os.environ.get('FILTER', '*')}"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cases, suite = [], ""
    for line in listing.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            cases.append(suite + name)
        elif name.endswith("."):
            suite = name
    return sorted(cases, key=lambda case: LONG.search(case) is None)


def explains(tool: str, case: str, report: str) -> bool:
    return any(tool == known and cases.search(case) and pattern.fullmatch(report)
               for known, cases, pattern in EXPLAINED)


def state_of(tool: str, case: str, output: str, status: int | None) -> str:
    """`status` is None for a process that was killed at its limit."""
    summary = SUMMARY.search(output)
    if status is None:
        return "cut"
    if "[  PASSED  ] 1 test" not in output or summary is None:
        memory = tool == "initcheck" and "IsTakenWhenLimitsAreReserved" in case and EXPLAINED_FAILURE.search(output)
        return "explained" if memory else "failed"
    num_reports = sum(int(count or 0) for count in summary.groups())
    if num_reports == 0:
        return "clean" if status == 0 else "failed"
    reports = reports_of(output)
    known = len(reports) >= min(num_reports, PRINTED) and all(explains(tool, case, r) for r in reports)
    return "explained" if known else "reports"


def check_case(program: str, tool: str, case: str, device: str, place: int, limit: float) -> Outcome:
    command = [shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer", "--tool", tool,
               *OPTIONS, *TOOL_OPTIONS.get(tool, []), "--port",
               str(FIRST_PORT + int(device) * DEVICE_PORTS + place * PORTS),
               "--max-connections", str(PORTS), program, f"--gtest_filter={case}"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True,
                               env={**os.environ, "CUDA_VISIBLE_DEVICES": device})
    try:
        output, _ = process.communicate(timeout=limit)
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return Outcome(tool, case, state_of(tool, case, output, status), time.monotonic() - began, output)


def check_all(program: str, tools: list[str]) -> list[Outcome]:
    devices = os.environ.get("DEVICES", "0").split(",")
    jobs = int(os.environ.get("JOBS", str(min(16 * len(devices), os.cpu_count() or 1))))
    case_limit = float(os.environ.get("CASE_LIMIT", "300"))
    end = time.monotonic() + float(os.environ.get("TIME_LIMIT", "3000"))

    def run_all(work: list[tuple[str, str]], num_jobs: int) -> list[Outcome]:
        places: queue.Queue[int] = queue.Queue()
        for place in range(num_jobs):
            places.put(place)

        def run(tool: str, case: str) -> Outcome:
            left = min(case_limit, end - time.monotonic())
            if left <= 0:
                return Outcome(tool, case, "not begun", 0.0, "")
            place = places.get()
            try:
                return check_case(program, tool, case, devices[place % len(devices)], place, left)
            finally:
                places.put(place)
        with concurrent.futures.ThreadPoolExecutor(num_jobs) as pool:
            return list(pool.map(lambda pair: run(*pair), work))
    work = [(tool, case) for tool in tools for case in list_cases(program)]
    beside = [pair for pair in work if not ALONE.search(pair[1])]
    alone = [pair for pair in work if ALONE.search(pair[1])]
    return run_all(beside, jobs) + run_all(alone, len(devices))


def reports_of(output: str) -> list[str]:
    """The sanitizer's reports without what differs from thread to thread."""
    reports: list[str] = []
    lines: list[str] = []
    for line in [*output.splitlines(), "========="]:
        if not line.startswith("========="):
            continue
        text = line.removeprefix("=========").strip()
        if text and not SUMMARY.search(text) and text not in NO_REPORTS:
            lines.append(text)
        elif lines:
            reports.append("\n".join(lines))
            lines = []
    plain = [re.sub(r"(?<!\+)0x[0-9a-f]+", "0x..", report) for report in reports]
    plain = [re.sub(r"\(\d+,\d+,\d+\)", "(..)", report) for report in plain]
    return [re.sub(r"\b[\d,]+ (hazards?|bytes (before|after|inside))", r"N \1", report) for report in plain]


def show(tools: list[str], outcomes: list[Outcome]) -> None:
    for tool in tools:
        mine = [outcome for outcome in outcomes if outcome.tool == tool]
        states = collections.Counter(outcome.state for outcome in mine)
        print(f"{tool}: {states['clean']} of {len(mine)} cases clean, {states['explained']} with explained reports, "
              f"{states['reports']} with others, "
              f"{states['failed']} failed, {states['cut']} cut, {states['not begun']} not begun; "
              f"{sum(o.seconds for o in mine):.0f} s of processes")
        if states["not begun"]:
            print("  not begun: " + " ".join(o.case for o in mine if o.state == "not begun"))
        for outcome in mine:
            if outcome.state in ("failed", "cut"):
                print(f"  {outcome.state} after {outcome.seconds:.0f} s: {outcome.case}")
        seen: dict[str, list[str]] = collections.defaultdict(list)
        for outcome in mine:
            if outcome.state in ("reports", "failed"):
                for report in reports_of(outcome.output):
                    if not explains(tool, outcome.case, report):
                        seen[re.sub(r"\+0x[0-9a-f]+", "", report)].append(outcome.case)
        for report, cases in sorted(seen.items(), key=lambda item: -len(item[1])):
            names = sorted(set(cases))
            print(f"  {len(cases)} times in {len(names)} cases, {', '.join(names[:3])}:")
            print("\n".join("    " + line for line in report.splitlines()[:SHOWN_LINES]))
    slowest = sorted(outcomes, key=lambda outcome: -outcome.seconds)[:12]
    print("slowest: " + ", ".join(f"{o.tool} {o.case} {o.seconds:.0f} s" for o in slowest))


def main() -> int:
    program, tools = sys.argv[1], sys.argv[2:]
    logs = Path(os.environ.get("LOGS", "build/device/sanitizers"))
    logs.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    outcomes = check_all(program, tools)
    for outcome in outcomes:
        if outcome.state != "clean" and outcome.output:
            name = f"{outcome.tool}-{re.sub(r'[^A-Za-z0-9_.]', '-', outcome.case)}.log"
            (logs / name).write_text(outcome.output)
    seconds = {f"{o.tool} {o.case}": [o.state, round(o.seconds, 1)] for o in outcomes}
    (logs / "seconds.json").write_text(json.dumps(seconds, indent=0))
    show(tools, outcomes)
    clean = sum(outcome.state in ("clean", "explained") for outcome in outcomes)
    print(f"{clean} of {len(outcomes)} clean or explained, {time.monotonic() - began:.0f} s")
    return 0 if clean == len(outcomes) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
