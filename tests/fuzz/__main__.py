"""Fuzzes the emulated device and the readers of code objects; every case must end well.

    python -m tests.fuzz [--count 20000] [--seconds 3600] [--seed 1] [--workers 1]
    python -m tests.fuzz --seed 1 --only 4711      # one case again, with its traceback

Cases run in a child process that this one watches: a crash, a hang or memory without bound names the case,
and the campaign continues after it.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

CASE_SECONDS = 120.0
START_SECONDS = 1200.0
EXAMINE_EVERY = 25
LARGEST_BYTES = 3 << 30
ROOT = Path(__file__).parents[2]


def child(seed: int, first: int, count: int, step: int, folder: str) -> None:
    """Run cases; a line before and a line after each goes to standard output."""
    faulthandler.enable()
    # A shell starts what runs in the background with SIGINT ignored, and cases send it to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from tests.fuzz import cases

    world = cases.World()
    world.prepare()
    world.examine(random.Random(seed))
    # Parts that are built once per machine come from its cache, which random kernels must not fill.
    os.environ["HIPKITTENS_CACHE"] = folder
    for position, number in enumerate(range(first, count, step), 1):
        print(f"begin {number}", flush=True)
        try:
            kind, outcome = cases.run(world, seed, number)
            if position % EXAMINE_EVERY == 0:
                world.examine(random.Random(number))
        except Exception:
            text = traceback.format_exc().encode("unicode_escape").decode()
            print(f"failed {number} {text}", flush=True)
        else:
            print(f"end {number} {kind}: {outcome}", flush=True)
    print("done", flush=True)


@dataclass
class Campaign:
    """Counts and failures of one run of the fuzzers."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    cases: int = 0


@dataclass
class Watched:
    """A child process, and the case that it is running."""

    process: subprocess.Popen[bytes]
    errors: Path
    pending: bytes = b""
    case: int = -1
    since: float = field(default_factory=time.monotonic)
    done: bool = False


def resident_bytes(pid: int) -> int:
    """Memory that a process takes; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def watch(campaign: Campaign, options: argparse.Namespace, first: int, deadline: float, folder: Path) -> None:
    """Run every case of one worker, in as many child processes as necessary."""
    environment = {**os.environ, "HIPKITTENS_THREADS": str(options.threads), "OMP_NUM_THREADS": "1"}
    number = first
    while number < options.count and time.monotonic() < deadline:
        command = [sys.executable, "-m", "tests.fuzz", "--child", str(number), "--seed", str(options.seed)]
        command += ["--count", str(options.count), "--workers", str(options.workers)]
        command += ["--cache", str(folder / "cache")]
        errors = folder / f"errors{first}"
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=stream
            )
        watched = Watched(process, errors)
        try:
            trouble = follow(campaign, watched, deadline)
        finally:
            process.kill()
            process.wait()
        if watched.done or time.monotonic() >= deadline:
            return
        tail = errors.read_text(errors="replace")[-6000:]
        campaign.failures.append(f"case {watched.case} (seed {options.seed}): {trouble}\n{tail}")
        if watched.case < 0:
            return
        number = watched.case + options.workers


def follow(campaign: Campaign, watched: Watched, deadline: float) -> str:
    """Read a child's output until it ends; returns its failure."""
    assert watched.process.stdout is not None
    pipe = watched.process.stdout.fileno()
    last_count = 0
    while time.monotonic() < deadline:
        if select.select([pipe], [], [], 0.1)[0]:
            data = os.read(pipe, 1 << 16)
            if not data:
                status = watched.process.wait()
                name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
                return f"the process ended: {name}"
            *lines, watched.pending = (watched.pending + data).split(b"\n")
            for line in lines:
                hear(campaign, watched, line.decode())
            if watched.done:
                return ""
        resident = resident_bytes(watched.process.pid)
        if campaign.cases // 500 != last_count:
            last_count = campaign.cases // 500
            campaign.resident.append(resident)
        if resident > LARGEST_BYTES:
            return f"{resident >> 20} MiB of memory"
        limit = CASE_SECONDS if watched.case >= 0 else START_SECONDS
        if time.monotonic() - watched.since > limit:
            watched.process.send_signal(signal.SIGABRT)
            time.sleep(1)
            return f"no end after {limit:.0f} s"
    return ""


def hear(campaign: Campaign, watched: Watched, line: str) -> None:
    """Record a line of a child."""
    word, _, rest = line.partition(" ")
    number, _, text = rest.partition(" ")
    watched.since = time.monotonic()
    if word == "begin":
        watched.case = int(number)
    elif word == "end":
        campaign.cases += 1
        campaign.outcomes[text] += 1
    elif word == "failed":
        campaign.cases += 1
        trace = text.encode().decode("unicode_escape")
        campaign.failures.append(f"case {number}: {trace}")
    elif word == "done":
        watched.done = True


def report(campaign: Campaign, options: argparse.Namespace, seconds: float) -> None:
    """Print the counts by kind and outcome, and every failure."""
    rate = campaign.cases / max(seconds, 1e-9)
    print(f"seed {options.seed}: {campaign.cases} cases in {seconds:.0f} s ({rate:.0f} a second)")
    for text, count in sorted(campaign.outcomes.items()):
        print(f"  {count:7}  {text}")
    if campaign.resident:
        sizes = ", ".join(
            str(size >> 20) for size in campaign.resident[:: max(1, len(campaign.resident) // 8)]
        )
        print(f"  resident MiB over the run: {sizes}")
    print(f"{len(campaign.failures)} failures")
    for failure in campaign.failures[:20]:
        print(f"\n{failure}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the emulated device.")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="time limit of the campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="case to begin with")
    parser.add_argument(
        "--workers", type=int, default=1, help="cases are every workers-th (one process here)"
    )
    parser.add_argument("--threads", type=int, default=2, help="threads of the emulated device")
    parser.add_argument("--only", type=int, help="run one case in this process")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.seed, options.child, options.count, options.workers, options.cache)
        return 0
    if options.only is not None:
        from tests.fuzz import cases

        print(*cases.run(cases.World(), options.seed, options.only), sep=": ")
        return 0
    campaign = Campaign()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        watch(campaign, options, options.first, started + options.seconds, Path(folder))
    report(campaign, options, time.monotonic() - started)
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main())
