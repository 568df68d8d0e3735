"""All cases of llama.cpp's `test-backend-ops` on the emulated device, in steps that can be resumed.

    python tests/debian_backend_ops.py ROOT [OPERATION ...] [--device D] [--seconds S] [--step S] [--write]

ROOT is the folder that `tests/debian_libraries.py` makes. The program compares Debian's HIP back end of ggml
with its CPU back end. It lists its cases first; then it runs the cases of each OPERATION, by default of all,
those with few cases first, for `--step` seconds at a time, until all have a result or `--seconds` are over. A
case whose process ends is recorded with the cause, and a case that alone takes longer than a step as too
long. Results are in `RESULTS` below ROOT, a line a case, so another call continues; delete a line to run its
case again. `--write` puts the counts into `tests/data/debian_backend_ops.json` and docs/exec.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import debian_libraries
import page_parts
from debian_libraries import DEVICE, Sample, cause_of, execute

STORE = page_parts.StoredResults(
    page_parts.DATA / "debian_backend_ops.json",
    page_parts.DOCS / "exec.md",
    "<!-- test-backend-ops -->\n",
    "<!-- end of test-backend-ops -->\n",
    depth=2,
)
RESULTS = "var/tmp/backend_ops.jsonl"
PROGRAM = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests/test-backend-ops"
BACKEND = "ROCm0"
SECONDS, STEP = 3600, 600
_LONGEST = 100_000
"""Bytes of an argument: Linux takes at most 128 KiB."""

RIGHT, WRONG, UNSUPPORTED, ENDED, LONG, LEFT = "right", "wrong", "unsupported", "ended", "too long", "left"
Outcome = tuple[str, str]
"""One of the words above except `LEFT`, and the cause."""

_CASE = re.compile(r"^  (?P<case>[A-Z][A-Z0-9_]*\(.*\)): ?(?P<rest>.*)$")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_SUPPORTED = 4
"""Column of the list of cases."""


def cases_of(listing: str) -> dict[str, bool]:
    """Cases in the CSV output of the program's `support` mode, and whether the back end supports each."""
    rows = csv.reader(line for line in listing.splitlines() if line.startswith(f'"{BACKEND}"'))
    return {f"{row[1]}({row[2]})": row[_SUPPORTED] == "1" for row in rows}


def outcomes(output: str) -> tuple[dict[str, Outcome], str]:
    """Outcomes of cases in the program's output, and the case that it left without one; "" for none."""
    seen: dict[str, Outcome] = {}
    begun, said = "", []
    for line in _COLOUR.sub("", output).splitlines():
        match = _CASE.match(line)
        if match:
            begun, said = match["case"], [match["rest"]]
        elif begun:
            said.append(line)
        # Other lines, such as the driver's, can come between a case and its outcome.
        last = said[-1].strip() if said else ""
        if begun and re.search(r"\b(?:OK|FAIL)$|^not supported", last):
            text = " ".join(part.strip() for part in said)
            if last.endswith("FAIL"):
                seen[begun] = WRONG, text.removesuffix("FAIL").strip()
            else:
                seen[begun] = (RIGHT if last.endswith("OK") else UNSUPPORTED), ""
            begun, said = "", []
    return seen, begun


def operation(case: str) -> str:
    """The operation's name in a case."""
    return case.partition("(")[0]


def batch(cases: Iterable[str]) -> list[str]:
    """The first cases, as many as an argument can name."""
    size, result = 0, []
    for case in cases:
        size += len(case) + 1
        if size > _LONGEST:
            break
        result.append(case)
    return result


class Results:
    """Outcomes by case, in a file that grows by a line for each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.is_file() else []
        self.outcomes: dict[str, Outcome] = {}
        for line in lines:
            case, word, cause = json.loads(line)
            self.outcomes[case] = word, cause

    def add(self, new: Mapping[str, Outcome]) -> None:
        """Adds outcomes."""
        self.outcomes |= new
        with self._file.open("a") as file:
            file.writelines(f"{json.dumps([case, *outcome])}\n" for case, outcome in new.items())


def step(root: Path, cases: Sequence[str], device: str, seconds: float) -> dict[str, Outcome]:
    """Runs some cases for some time; returns the outcomes that came."""
    sample = Sample("", PROGRAM, ("test", "-b", BACKEND, "-o", ",".join(cases)), "")
    output, status = execute(root, sample, device, seconds)
    seen, begun = outcomes(output)
    seen = {case: outcome for case, outcome in seen.items() if case in cases}
    if status is None and not seen and begun:
        seen[begun] = LONG, f"more than {seconds:.0f} s of this computer"
    elif status not in (None, 0) and begun:
        seen[begun] = ENDED, cause_of(output.rpartition(f"  {begun}: ")[2], status)
    return seen


def list_cases(root: Path, device: str) -> dict[str, bool]:
    """The program's cases, and whether the back end supports each; the list is kept in the root."""
    listing = root / f"{RESULTS}.list"
    if not listing.is_file():
        sample = Sample("", PROGRAM, ("support", "-b", BACKEND, "--output", "csv"), "")
        output, status = execute(root, sample, device, debian_libraries.TIMEOUT)
        if status != 0 or not cases_of(output):
            raise SystemExit(f"{PROGRAM} listed no cases (status {status}):\n{output[-2000:]}")
        listing.write_text(output)
    return cases_of(listing.read_text())


def run(root: Path, cases: Iterable[str], results: Results, options: argparse.Namespace) -> None:
    """Runs the cases of the options' operations that have no outcome, for the options' time."""
    number = Counter(map(operation, cases))
    # Operations with few cases come first, so that a short run has seen most of them.
    ordered = sorted(cases, key=lambda case: (number[operation(case)], operation(case)))
    chosen = options.operations or number
    end = time.monotonic() + options.seconds
    while (limit := min(options.step, end - time.monotonic())) > 0:
        left = [c for c in ordered if c not in results.outcomes and operation(c) in chosen]
        if not left:
            break
        new = step(root, batch(left), options.device, limit)
        results.add(new)
        words = Counter(word for word, _ in new.values())
        print(f"{operation(left[0])} and others: {dict(words)}, {len(left) - len(new)} left", flush=True)
        if not new:
            break


def counts(supported: Iterable[str], results: Mapping[str, Outcome]) -> dict[str, Counter[str]]:
    """Outcomes by operation; cases without one are `LEFT`."""
    by_operation: dict[str, Counter[str]] = {}
    for case in supported:
        word = results[case][0] if case in results else LEFT
        by_operation.setdefault(operation(case), Counter())[word] += 1
    return by_operation


def causes(results: Mapping[str, Outcome]) -> dict[str, list[str]]:
    """Cases that are not right although the back end supports them: their outcome and its cause."""
    return {
        case: list(outcome) for case, outcome in results.items() if outcome[0] not in (RIGHT, UNSUPPORTED)
    }


def table(data: Mapping[str, Any]) -> str:
    """Markdown of the stored counts: all operations, those that are wholly right, and each of the others."""
    words = {
        RIGHT: "right",
        WRONG: "wrong",
        ENDED: "ended the program",
        LONG: "too long",
        UNSUPPORTED: "not in the back end",
        LEFT: "not run yet",
    }
    lines = [f"| operations | {' | '.join(words.values())} |", "| --- " * (len(words) + 1) + "|"]

    def row(name: str, operations: Iterable[Mapping[str, int]]) -> None:
        total: Counter[str] = sum(map(Counter, operations), Counter())
        lines.append(f"| {name} | {' | '.join(f'{total[word]:,}' for word in words)} |")

    by_operation: Mapping[str, Mapping[str, int]] = data["operations"]
    whole = [name for name, each in by_operation.items() if not set(each) - {RIGHT, UNSUPPORTED}]
    row(f"all {len(by_operation)} on an emulated {data['device']}", by_operation.values())
    row(f"{len(whole)} that are wholly right", (by_operation[name] for name in whole))
    for name, each in sorted(by_operation.items()):
        if name not in whole:
            row(f"`{name}`", [each])
    lines += [""] * bool(data["causes"])
    lines += [f"- `{case}`: {word}; {cause}" for case, (word, cause) in sorted(data["causes"].items())]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--device", default=DEVICE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--step", type=float, default=STEP)
    parser.add_argument("--write", action="store_true", help="keep the counts, and write the page")
    options = parser.parse_intermixed_args(arguments)
    root = options.root.absolute()
    if not root.is_dir():
        debian_libraries.make_root(root)
    supported = list_cases(root, options.device)
    results = Results(root / RESULTS)
    results.add(
        {c: (UNSUPPORTED, "") for c, is_one in supported.items() if not is_one and c not in results.outcomes}
    )
    run(root, supported, results, options)
    by_operation = counts(supported, results.outcomes)
    data = {"device": options.device, "operations": by_operation, "causes": causes(results.outcomes)}
    print(table(data))
    if options.write:
        STORE.write(data, table(data))


if __name__ == "__main__":
    main(sys.argv[1:])
