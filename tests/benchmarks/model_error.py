"""How far the timing model is from published times: `docs/model_error.md`. Nothing here is measured.

    python tests/benchmarks/model_error.py [--kernel gemm/bf16 ...] [--like] [--largest 3e12] [--minutes 60]
    python tests/benchmarks/model_error.py --own FOLDER [...]    # HipKittens' own kernels, of a checkout
    python tests/benchmarks/model_error.py --write    # the document, and what `wb.time` says of its errors

Each problem is run once on the emulated device and modelled; results are kept in a file (`--store`) with a
digest of the model, so that a run goes on where the last one ended and a changed model starts again.
`--write` makes the document of what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from error_document import document, expected
from own_kernels import PREFIX, model_own, own_problem
from published_times import Problem, Row, published

import workbench as wb
from workbench import cache

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "model_error.md"
EXPECTED = ROOT / "workbench" / "profile" / "model_error.json"


@dataclass(frozen=True)
class Modelled:
    """What the model said of a problem.

    Attributes:
        us: kernel time.
        bound: what it is bound by.
        clock_mhz: clock of the kernel.
        wall: seconds that emulation and model took.
        failure: why there is no time; "" where there is.
    """

    us: float = 0.0
    bound: str = ""
    clock_mhz: float = 0.0
    wall: float = 0.0
    failure: str = ""


MODEL = (
    "model.py",
    "clock.py",
    "flow.py",
    "launch.py",
    "machine.py",
    "operands.py",
    "partial.py",
    "sampled.py",
    "timing.py",
    "simulation/**/*.[pch]*",
    "../targets.py",
)
"""What the modelled time follows from, in workbench/profile."""


def digest() -> str:
    """Of the files of the model."""
    found = hashlib.sha256()
    for pattern in MODEL:
        for file in sorted((ROOT / "workbench" / "profile").glob(pattern)):
            if file.suffix in (".py", ".c", ".h"):
                found.update(file.read_bytes())
    return found.hexdigest()[:12]


class Store:
    """Results by problem in a file of JSON lines, each with the digest of the model that gave it."""

    def __init__(self, path: Path, model: str) -> None:
        self.path, self.model = path, model
        self.known: dict[Problem, Modelled] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                if one["model"] == model:
                    self.known[Problem(**one["problem"])] = Modelled(**one["modelled"])

    def add(self, problem: Problem, found: Modelled) -> None:
        """Remembers one, at once."""
        self.known[problem] = found
        line = {"model": self.model, "problem": asdict(problem), "modelled": asdict(found)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def cost(problem: Problem) -> float:
    """What running it takes, in operations; a byte counts as ten."""
    spec = wb.kernels[problem.kernel.removeprefix(PREFIX)]
    device = wb.device(f"emulated:{problem.gpu}")
    work = spec.work(spec.shape(problem.parameters, arch=device.arch))
    return max(work.get("flops", 0), 10 * work.get("bytes", 0))


def model(problem: Problem, checkout: Path | None = None) -> Modelled:
    """Runs and models one problem; HipKittens' own kernels from a checkout of its main branch."""
    start = time.monotonic()
    try:
        if checkout is not None:
            found = model_own(problem, checkout)
        else:
            found = wb.time(problem.kernel, shape=problem.parameters, device=f"emulated:{problem.gpu}")
    except (wb.WorkbenchError, MemoryError) as error:
        return Modelled(failure=f"{type(error).__name__}: {error}"[:200])
    parts = [step.model for step in (found.steps or (found,)) if step.model is not None]
    longest = max(parts, key=lambda part: part.seconds)
    clock = getattr(longest, "clock_hz", None) or longest.machine.clock_hz
    return Modelled(found.median.value, longest.bound_text, clock / 1e6, time.monotonic() - start)


def run(rows: list[Row], store: Store, largest: float, minutes: float, checkout: Path | None = None) -> None:
    """Models what is not there yet: HipKittens' problems first, small ones first."""
    if checkout is not None:
        own = ((row, own_problem(row)) for row in rows)
        rows = [replace(row, problem=problem) for row, problem in own if problem is not None]
    like = {row.problem for row in rows if row.like}
    left: list[tuple[bool, float, Problem]] = []
    for problem in dict.fromkeys(row.problem for row in rows):
        if problem not in store.known:
            try:
                left.append((problem not in like, cost(problem), problem))
            except wb.WorkbenchError as error:
                store.add(problem, Modelled(failure=f"{type(error).__name__}: {error}"[:200]))
    until = time.monotonic() + 60 * minutes
    for _, size, problem in sorted(left, key=lambda each: each[:2]):
        if size > largest or time.monotonic() > until:
            continue
        found = model(problem, checkout)
        store.add(problem, found)
        print(f"{problem}: {found.us:.1f} us, {found.wall:.1f} s {found.failure}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernel", nargs="+", help="specs; default all")
    parser.add_argument("--like", action="store_true", help="HipKittens' kernels alone")
    parser.add_argument("--own", type=Path, help="checkout of HipKittens, whose own kernels are modelled")
    parser.add_argument("--largest", type=float, default=3e12, help="operations of a problem that is run")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further problem is begun")
    parser.add_argument("--store", type=Path, default=cache.folder() / "model_error.jsonl")
    parser.add_argument("--write", action="store_true", help="write the document; run nothing")
    options = parser.parse_args()
    store = Store(options.store, digest())
    rows = published()
    chosen = [
        row
        for row in rows
        if (not options.kernel or row.problem.kernel in options.kernel) and (row.like or not options.like)
    ]
    if options.write:
        DOCUMENT.write_text(document(rows, store.known), encoding="utf-8")
        EXPECTED.write_text(json.dumps(expected(rows, store.known), indent=1) + "\n", encoding="utf-8")
    else:
        run(chosen, store, options.largest, options.minutes, options.own)
        print(document(chosen, store.known).split("## ")[1])


if __name__ == "__main__":
    main()
