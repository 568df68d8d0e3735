"""Submissions to GPU MODE's competitions, judged by its unedited `eval.py test` on the emulated device.

    python tests/toolchain/competitions.py LIST.toml [PATTERN ...] [--device DEVICE] [--timeout S] [--jobs N]
        [--write]

The list is yours, and stays outside of this repository:

    problems = "/home/me/reference-kernels/problems"
    folder = "/home/me/submissions"      # where they are; without it, the list's own folder

    [[submission]]
    name = "someone/fp8_gemm.py"         # what the table calls it
    language = "HIP"
    problem = "amd/fp8-mm"               # in the folder of problems
    file = "fp8_gemm.py"
    beside = ["solution.hip"]            # other files that it reads, in the same folder
    cases = ["m: 64; n: 64; k: 128; seed: 1"]   # in place of the tests in the problem's task.yml
    cause = "a sum in another order"     # beside the judge's words where cases are not right

PATTERN: only submissions whose names match; S: seconds for each; N: submissions at a time. `--write` stores
each result in `tests/data/competitions.json` as it comes, and puts the table into
docs/host_programs.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import hip_programs  # noqa: E402
import page_parts  # noqa: E402

TIMEOUT = 600
"""Seconds for a submission."""
STORE = page_parts.StoredResults(
    page_parts.DATA / "competitions.json",
    page_parts.DOCS / "host_programs.md",
    "<!-- submissions -->\n",
    "<!-- end of submissions -->",
    depth=1,
)
_RECORD = re.compile(r"^ +- (\{.*\}) *$", re.MULTILINE)

Result = dict[str, Any]
"""Of a submission: its language and problem, the numbers of cases and of right ones, seconds, and if not all
are right, "why" from the judge and "cause" from the list."""


def records(task: str, key: str) -> list[dict[str, Any]]:
    """The records of a key of a problem's task.yml, one per line."""
    section = re.search(rf"^{key}:\n((?:[ #].*\n|\n)*)", task + "\n", re.MULTILINE)
    return [json.loads(record) for record in _RECORD.findall(section[1] if section else "")]


def lay_out(submission: Mapping[str, Any], problems: Path, folder: Path, place: Path) -> int:
    """Puts the judge's files into a folder; returns the number of cases."""
    problem = problems / submission["problem"]
    task = (problem / "task.yml").read_text()
    for record in records(task, "files"):
        if record["source"] != "@SUBMISSION@":
            shutil.copy(problem / record["source"], place / record["name"])
    file = folder / submission["file"]
    shutil.copy(file, place / "submission.py")
    for name in submission.get("beside", ()):
        shutil.copy(file.parent / name, place)
    cases = submission.get("cases") or [
        "; ".join(f"{key}: {value}" for key, value in case.items()) for case in records(task, "tests")
    ]
    (place / "tests.txt").write_text("\n".join(cases) + "\n")
    return len(cases)


def judged(log: str, output: str, status: int | None, cases: int, timeout: float) -> Result:
    """The result, from the judge's log and the output."""
    right = len(re.findall(r"^test\.\d+\.status: pass$", log, re.MULTILINE))
    result: Result = {"cases": cases, "right": right}
    if right == cases and status == 0:
        return result
    wrong = re.search(r"^test\.\d+\.error: (.+)", log, re.MULTILINE)
    if wrong:
        why = wrong[1]
    elif status is None and "hipkittens: a launch failed" not in output:
        why = f"not done after {timeout:g} s"
    else:
        why = hip_programs.reason(_without_warnings(output))
    return result | {"why": why[: hip_programs.LONGEST]}


def _without_warnings(output: str) -> str:
    """The lines about an error, without those of a build that passes its sources through hipify."""
    errors = re.findall(r"^(?:hipkittens: a launch failed.*|[\w.]*(?:Error|Fault)\b.*)", output, re.MULTILINE)
    return errors[-1] if errors else output


def attempt(
    submission: Mapping[str, Any], problems: Path, folder: Path, device: str, timeout: float = TIMEOUT
) -> Result:
    """The judge's verdict on a submission."""
    with tempfile.TemporaryDirectory(prefix="competition-") as scratch:
        place = Path(scratch)
        cases = lay_out(submission, problems, folder, place)
        door = shlex.join(
            [sys.executable, "-m", "workbench", "exec", "--device", device, "--clock", "modelled", "--"]
        )
        environment = {**os.environ, "POPCORN_FD": "3", "TORCH_EXTENSIONS_DIR": str(place / "built")}
        start = time.monotonic()
        status, output = hip_programs.started(
            f"exec {door} python eval.py test tests.txt 3>log.txt", place, environment, timeout
        )
        seconds = round(time.monotonic() - start)
        result = judged((place / "log.txt").read_text(), output, status, cases, timeout)
    keys = ["language", "problem", *(["cause"] if "why" in result and "cause" in submission else [])]
    return {key: submission[key] for key in keys} | result | {"seconds": seconds}


def table(results: Mapping[str, Result]) -> str:
    """Markdown: how many are right, by language, and a row for each."""
    lines = []
    for language in sorted({result["language"] for result in results.values()}):
        of_language = [result for result in results.values() if result["language"] == language]
        right = sum("why" not in result for result in of_language)
        lines.append(f"{language}: {right} of {len(of_language)} are right.")
    lines += [
        "",
        "| submission | problem | cases right | seconds | why not |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, result in sorted(results.items(), key=lambda item: (item[1]["language"], item[0].casefold())):
        why = result.get("why", "").replace("|", "\\|").replace("`", "")
        cells = [f"{name} ({result['language']})", result["problem"]]
        reasons = [*([f"`{why}`"] if why else []), *([result["cause"]] if "cause" in result else [])]
        cells += [f"{result['right']} of {result['cases']}", f"{result['seconds']}", ": ".join(reasons)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(name: str, result: Result, store: page_parts.StoredResults = STORE) -> None:
    """Store a submission's result with the other results, and update the table in the page."""
    results = {**store.read(), name: result}
    store.write(results, table(results))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("list", type=Path, help="TOML, as above")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--device", default="MI300X")
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep it, and write the page")
    options = parser.parse_intermixed_args(arguments)
    document = tomllib.loads(options.list.read_text())
    problems, folder = (options.list.parent / document.get(key, ".") for key in ("problems", "folder"))
    submissions = [
        submission
        for submission in document["submission"]
        if any(re.search(pattern, submission["name"]) for pattern in options.patterns or [""])
    ]
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = {
            pool.submit(attempt, submission, problems, folder, options.device, options.timeout): submission
            for submission in submissions
        }
        for future in as_completed(futures):
            name, result = futures[future]["name"], future.result()
            print(f"{name}: {result.get('why', 'right')}, {result['seconds']} s", flush=True)
            results[name] = result
            if options.write:
                write(name, result)
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
