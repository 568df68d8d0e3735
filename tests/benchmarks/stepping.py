"""What a tape costs beside a plain launch, and how long a step takes.

    python tests/benchmarks/stepping.py [--arch gfx950]

A launch whose one work-group is kept runs that work-group alone: the plain launch of the table does too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from workbench.launches import LaunchOptions, StepOptions, TapeOptions
from workbench.operators.subject import resolve
from workbench.step.stepper import Stepper
from workbench.views.stepper.page import moved

CASES = (
    ("normalization/rmsnorm", {"rows": 64, "cols": 1024}),
    ("gemm/bf16", {"m": 512, "n": 512, "k": 1024}),
    ("gemm/bf16:ping_pong", {"m": 512, "n": 512, "k": 1024}),
    ("attention/forward", {"queries": 512, "keys": 512, "heads": 2, "heads_kv": 2, "dim": 128}),
)


def seconds(call: Callable[[], object], times: int = 5) -> float:
    """The median."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gfx950")
    arch = parser.parse_args().arch
    alone = LaunchOptions(steps=StepOptions(groups=1, alone_from=1))
    kept = LaunchOptions(tape=TapeOptions())
    head = (
        "operator",
        "instructions",
        "run",
        "bytes each",
        "plain ms",
        "kept ms",
        "ratio",
        "first ms",
        "step ms",
    )
    print(*head, "end ms", sep=" | ")
    for name, shape in CASES:
        target = resolve(name, shape=shape, device=f"emulated:{arch}")
        part = target.parts[0]
        started = time.perf_counter()
        record = part.run(kept)
        first = time.perf_counter() - started
        part.run(alone)
        plain, taped = seconds(lambda: part.run(alone)), seconds(lambda: part.run(kept))  # noqa: B023
        s = Stepper(part.kernel, record)
        assert record.tape is not None
        events = len(record.tape.events)
        words = int(record.tape.events["at"][-1])
        moved(s)

        def step() -> None:
            moved(s.step())  # noqa: B023

        one = seconds(step, 20)
        end = seconds(lambda: (s.goto(0), s.goto(s.length)))  # noqa: B023
        row = (name, len(part.kernel.instructions), events, 4 * words // events)
        times = (plain, taped, first, one, end)
        p, t, f, o, e = (f"{1e3 * each:.1f}" for each in times)
        print(*row, p, t, f"{taped / plain:.1f}", f, o, e, sep=" | ")


if __name__ == "__main__":
    main()
