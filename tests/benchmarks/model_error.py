"""Errors of the timing model against published times: `docs/model_error.md`. Nothing here is measured.

    python tests/benchmarks/model_error.py [--kernel gemm/bf16 ...] [--like] [--largest 3e12] [--minutes 60]
    python tests/benchmarks/model_error.py --own FOLDER --port FOLDER [...]    # published sources themselves
    python tests/benchmarks/model_error.py --triton [--aiter FOLDER] [...]    # where Triton is installed
    python tests/benchmarks/model_error.py --assembly FOLDER    # a checkout of ROCm/aiter with its hsa/
    python tests/benchmarks/model_error.py --write    # what `wb.time` says of its errors
    python docs/made.py                               # the document

Each problem is run once on the emulated device, for all products of its target (`counted_launches`, stored in
a folder), and modelled with caches cleared before the launch and with the caches that a previous launch
leaves. Times are stored in `tests/data/modelled_times.jsonl` (`--store`) with a digest of the model, so that
a run continues where the last one ended and a changed model starts again. `--write` and the document use the
stored times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import time
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from counted_launches import Launches
from error_document import ASSEMBLY, document, expected, summary
from own_kernels import PREFIX, own_problem, own_target
from published_times import Problem, Row, published

import workbench as wb
from workbench import cache
from workbench.operators.launch_target import Target, resolve

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "workbench" / "profile" / "model_error.json"
KEPT = ROOT / "tests" / "data" / "modelled_times.jsonl"


@dataclass(frozen=True)
class Modelled:
    """Modelled time of a problem.

    Attributes:
        us: kernel time with cleared caches.
        warm_us: the same for a repeated launch without clearing.
        bound: the limit, in words.
        key, warm_key: the same as in `TimeModel.bound`, for the first and the repeated launch.
        width: bytes that a lane moves in a vector memory instruction, on average.
        former: whether an earlier model computed it.
        clock_mhz: clock of the kernel.
        wall: seconds that emulation and model took.
        failure: why there is no time; "" where there is.
    """

    us: float = 0.0
    warm_us: float = 0.0
    bound: str = ""
    clock_mhz: float = 0.0
    wall: float = 0.0
    failure: str = ""
    key: str = ""
    warm_key: str = ""
    width: float = 0.0
    former: bool = False


MODEL = (
    "model.py",
    "clock.py",
    "counting.py",
    "flow.py",
    "launch.py",
    "machine.py",
    "operands.py",
    "partial.py",
    "sampled.py",
    "timing.py",
    "simulation/*.[ch]",
    "simulation/chip.py",
    "simulation/program.py",
    "simulation/unit.py",
    "../targets/*.py",
)
"""Files in workbench/profile that determine the modelled time; how its library is built does not."""


_SAID = {
    ".py": re.compile(r'"""[\s\S]*?"""|#.*|\s+'),
    ".c": re.compile(r"/\*[\s\S]*?\*/|//.*|\s+"),
    ".h": re.compile(r"/\*[\s\S]*?\*/|//.*|\s+"),
}
"""Comments and spaces, by the file's suffix: they do not change the model."""


def digest() -> str:
    """Digest of the model's files, without their comments and spaces."""
    sha = hashlib.sha256()
    for pattern in MODEL:
        for file in sorted((ROOT / "workbench" / "profile").glob(pattern)):
            if file.suffix in _SAID:
                sha.update(_SAID[file.suffix].sub("", file.read_text(encoding="utf-8")).encode())
    return sha.hexdigest()[:12]


class Store:
    """Results by problem in a file of JSON lines, each with the digest of the model that gave it.

    Attributes:
        known: what was said last of each problem; of another model than `model` it is `former`;
            without a `model` nothing is.
    """

    def __init__(self, path: Path, model: str | None = None) -> None:
        self.path, self.model = path, model
        self.known: dict[Problem, Modelled] = {}
        self._models: dict[Problem, str] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                problem, model_digest = Problem(**record["problem"]), record["model"]
                if model_digest == model or self._models.get(problem, "") != model:
                    self._models[problem] = model_digest
                    self.known[problem] = Modelled(
                        **record["modelled"], former=model not in (None, model_digest)
                    )

    def is_left(self, problem: Problem) -> bool:
        """True if the current model has no time for a problem."""
        return self._models.get(problem) != self.model

    def add(self, problem: Problem, modelled: Modelled) -> None:
        """Stores a result at once."""
        self.known[problem], self._models[problem] = modelled, self.model
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self._line(problem))

    def tidy(self, problems: Container[Problem]) -> None:
        """Writes the file anew: each problem of those asked for once, in the order of their names."""
        self.known = {each: said for each, said in self.known.items() if each in problems}
        lines = (self._line(each) for each in sorted(self.known, key=str))
        self.path.write_text("".join(lines), encoding="utf-8")

    def _line(self, problem: Problem) -> str:
        modelled = {name: value for name, value in asdict(self.known[problem]).items() if name != "former"}
        line = {"model": self._models[problem], "problem": asdict(problem), "modelled": modelled}
        return json.dumps(line) + "\n"


def problems_of(rows: Sequence[Row]) -> set[Problem]:
    """Problems that rows ask for, the published kernels themselves included."""
    published_kernels = (own_problem(row) for row in rows)
    return {row.problem for row in rows} | {each for each in published_kernels if each is not None}


TRITON, AITER = "triton ", "aiter "
"""Prefixes of the kernels of problems: a Triton kernel stands for it, or one of AITER's Triton kernels."""

OUTSIDE = ("published_triton", "published_aiter", "published_assembly")
"""Files of rows whose kernels are others' machine code, or are compiled by Triton."""


def cost(problem: Problem) -> float:
    """Cost of running a problem, in operations; a byte counts as ten."""
    if problem.kernel.startswith(ASSEMBLY):
        return 2.0 * float(math.prod(int(problem.parameters[each]) for each in "mnk"))
    if problem.kernel.startswith((TRITON, AITER)):
        sizes = problem.parameters
        return 40.0 * int(sizes["rows"]) * int(sizes["cols"])
    spec = wb.kernels[problem.kernel.removeprefix(PREFIX)]
    device = wb.device(f"emulated:{problem.gpu}")
    work = spec.work(spec.shape(problem.parameters, arch=device.arch))
    return max(work.get("flops", 0), 10 * work.get("bytes", 0))


@dataclass(frozen=True)
class Setting:
    """Sources of kernels and of counted launches.

    Attributes:
        launches: that were counted before.
        own, port: checkouts of HipKittens' main branch and of the port, for rows of their own kernels.
        aiter: a checkout of AITER, for rows of its Triton kernels.
        assembly: the same, for rows of its kernels in assembly.
    """

    launches: Launches
    own: Path | None = None
    port: Path | None = None
    aiter: Path | None = None
    assembly: Path | None = None

    def prepare(self, problem: Problem) -> Target:
        """The launch that is modelled for a problem."""
        if self.own is not None and problem.kernel.startswith(PREFIX):
            return own_target(problem, self.own, self.port)
        if problem.kernel.startswith(TRITON):
            from triton_kernels import triton_target

            return triton_target(problem)
        if self.assembly is not None and problem.kernel.startswith(ASSEMBLY):
            from aiter_assembly import assembly_target

            return assembly_target(problem, self.assembly)
        if self.aiter is not None and problem.kernel.startswith(AITER):
            from aiter_triton import aiter_target

            return aiter_target(problem, self.aiter)
        return resolve(problem.kernel, shape=problem.parameters, device=f"emulated:{problem.gpu}")


def model(problem: Problem, setting: Setting) -> Modelled:
    """Models a problem; runs it first if it was never run."""
    start = time.monotonic()
    try:
        launches = setting.launches.counted(problem, lambda: setting.prepare(problem))
        in_turn = problem.kernel.startswith(ASSEMBLY)
        cold, warm = (
            [each.model(problem.gpu, warm=warm, in_turn=in_turn and not warm) for each in launches]
            for warm in (False, True)
        )
    except (wb.WorkbenchError, MemoryError, ValueError) as error:
        return Modelled(failure=f"{type(error).__name__}: {error}"[:200])
    longest, again = (max(parts, key=lambda part: part.seconds) for parts in (cold, warm))
    us, warm_us = (1e6 * sum(part.seconds for part in parts) for parts in (cold, warm))
    return Modelled(
        *(us, warm_us, longest.bound_text, longest.clock_hz / 1e6, time.monotonic() - start),
        key=longest.bound,
        warm_key=again.bound,
        width=longest.width,
    )


def run(rows: list[Row], store: Store, largest: float, minutes: float, setting: Setting) -> None:
    """Models missing problems: HipKittens' first, then by size."""
    if setting.own is not None:
        pairs = ((row, own_problem(row)) for row in rows)
        rows = [replace(row, problem=problem) for row, problem in pairs if problem is not None]
    like = {row.problem for row in rows if row.like}
    left: list[tuple[bool, float, Problem]] = []
    for problem in dict.fromkeys(row.problem for row in rows):
        if store.is_left(problem):
            try:
                left.append((problem not in like, cost(problem), problem))
            except wb.WorkbenchError as error:
                store.add(problem, Modelled(failure=f"{type(error).__name__}: {error}"[:200]))
    until = time.monotonic() + 60 * minutes
    for _, size, problem in sorted(left, key=lambda each: each[:2]):
        if size > largest or time.monotonic() > until:
            continue
        modelled = model(problem, setting)
        store.add(problem, modelled)
        print(
            f"{problem}: {modelled.us:.1f} us, warm {modelled.warm_us:.1f} us, {modelled.wall:.1f} s "
            f"{modelled.failure}",
            flush=True,
        )


def stored_document() -> str:
    """The document of the stored times."""
    tritons = [row for name in OUTSIDE for row in published(name)]
    return document(published(), Store(KEPT).known, tritons)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernel", nargs="+", help="specs; default all")
    parser.add_argument("--like", action="store_true", help="HipKittens' kernels alone")
    parser.add_argument("--own", type=Path, help="checkout of HipKittens, whose own kernels are modelled")
    parser.add_argument(
        "--port", type=Path, help="checkout of m8than/amd-kernels, whose kernels are modelled, too"
    )
    parser.add_argument("--triton", action="store_true", help="Triton's rows alone")
    parser.add_argument(
        "--aiter", type=Path, help="checkout of ROCm/aiter, whose Triton kernels are modelled, too"
    )
    parser.add_argument(
        "--assembly",
        type=Path,
        help="checkout of ROCm/aiter, of whose kernels in assembly rows are modelled alone",
    )
    parser.add_argument("--launches", type=Path, default=cache.folder() / "counted_launches")
    parser.add_argument("--again", action="store_true", help="run what was counted before: a kernel changed")
    parser.add_argument("--largest", type=float, default=3e12, help="operations of a problem that is run")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further problem is begun")
    parser.add_argument("--store", type=Path, default=KEPT)
    parser.add_argument("--write", action="store_true", help="write the stated errors; run nothing")
    options = parser.parse_args()
    store = Store(options.store, digest())
    rows = published("published_triton" if options.triton else "published_times")
    if options.assembly:
        rows = published("published_assembly")
    if options.triton and options.aiter:
        rows += published("published_aiter")
    selected_rows = [
        row
        for row in rows
        if (not options.kernel or row.problem.kernel in options.kernel) and (row.like or not options.like)
    ]
    if options.write:
        tritons = [row for name in OUTSIDE for row in published(name)]
        store.tidy(problems_of(rows + tritons))
        errors = expected(rows, store.known, tritons)
        EXPECTED.write_text(json.dumps(errors, indent=1) + "\n", encoding="utf-8")
    else:
        launches = Launches(options.launches, again=options.again)
        setting = Setting(launches, options.own, options.port, options.aiter, options.assembly)
        run(selected_rows, store, options.largest, options.minutes, setting)
        print(summary(selected_rows, store.known))


if __name__ == "__main__":
    main()
