"""Programs of other people, built by hipcc's stand-in and run on the emulated devices: docs/host_programs.md.

    python tests/toolchain/hip_programs.py DIR [PATTERN ...] [--target TARGET] [--list FILE] [--timeout S]

PATTERN: of those alone; S: seconds for each to build, and again to run; FILE: a list of one's own beside
`hip_program_list.py`, with `COLLECTIONS` as that has.
DIR has checkouts of the collections in `hip_program_list.py`, by their names; a program is built in a copy.
Keeps what came of each in `tests/data/hip_programs.json` and writes the table of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hip_program_list import COLLECTIONS, Program

from workbench.targets import TILE_TARGETS
from workbench.toolchain.hipcc.script import install

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "hip_programs.json"
PAGE = ROOT / "docs" / "host_programs.md"
TIMEOUT = 240
"""Seconds for a program to build, and again to run."""
LONGEST = 150
"""Characters of a reason."""
_WRONG = re.compile(r"FAILED|Validation failed|validation failed|incorrect|mismatch(?!es: 0)", re.IGNORECASE)
_START, _END = "<!-- programs -->\n", "<!-- end of programs -->"


def stored() -> dict[str, dict[str, Any]]:
    """By collection and program what `attempt` told of each target."""
    known: dict[str, dict[str, Any]] = json.loads(DATA.read_text()) if DATA.exists() else {}
    return known


def started(
    command: str, folder: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int | None, str]:
    """A command's exit status, None where it took too long, and what it said."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        said.seek(0)
        return status, said.read().decode("utf-8", "replace")


def reason(said: str) -> str:
    """The first line that says what is wrong, else the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for pattern in (
        r"(?:fatal )?error: (.*)",
        r"hipkittens: (.*)",
        r"hipcc: (.*)",
        r"(.*(?:command not found|No such file or directory).*)",
        r"(.*FAILED.*)",
    ):
        for line in lines:
            if found := re.search(pattern, line):
                return found[1][:LONGEST]
    return lines[-1][:LONGEST] if lines else "nothing said"


def attempt(
    program: Program, folder: Path, environment: Mapping[str, str], timeout: float = TIMEOUT
) -> dict[str, Any]:
    """What became of a program: "builds", "runs", and "why" where it does not."""
    status, said = started(program.build, folder, environment, timeout)
    if status != 0:
        why = f"not built after {timeout:g} s" if status is None else reason(said)
        return {"builds": False, "runs": False, "why": why, "said": said[-4000:]}
    if program.own:
        return {"builds": True, "runs": False, "why": program.own}
    status, said = started(program.run, folder, environment, timeout)
    told: dict[str, Any] = {"builds": True, "runs": True}
    if status is None:
        told |= {"why": f"not done after {timeout:g} s"}
    elif status != 0:
        told |= {"why": f"exit status {status}: {reason(said)}"}
    elif wrong := _WRONG.search(said):
        told |= {"why": next(line.strip() for line in said.splitlines() if wrong[0] in line)[:LONGEST]}
    elif not re.search(program.says, said):
        told |= {"why": f"does not say {program.says!r}"}
    if "why" in told:
        told |= {"runs": False, "said": said[-4000:]}
    return told


Collections = Mapping[str, Callable[[Path], Iterator[Program]]]
"""By the checkout's name, its programs."""


def run_all(
    collections: Collections,
    checkouts: Path,
    patterns: Sequence[str],
    targets: Sequence[str],
    timeout: float = TIMEOUT,
) -> None:
    """Try the programs whose name a pattern finds, and keep what came of them."""
    with tempfile.TemporaryDirectory(prefix="hip-programs-") as scratch:
        tools = install(os.path.join(scratch, "bin")).parent
        places = {path.name.replace("-", "_"): str(path) for path in checkouts.iterdir() if path.is_dir()}
        for collection, programs in collections.items():
            if not (checkouts / collection).is_dir():
                continue
            wanted = [
                program
                for program in programs(checkouts / collection)
                if any(re.search(each, f"{collection}/{program.name}") for each in patterns or [""])
            ]
            copy = Path(scratch) / collection
            for target in targets if wanted else ():
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(checkouts / collection, copy, ignore=shutil.ignore_patterns(".git"))
                environment = {
                    **os.environ,
                    **places,
                    "PATH": f"{tools}:{os.environ['PATH']}",
                    "HIPKITTENS_DEVICE": f"emulated:{target}",
                    "TARGET": target,
                }
                for program in wanted:
                    told = attempt(program, copy / program.folder, environment, timeout)
                    said = told.pop("said", "")
                    known = stored()
                    known.setdefault(collection, {}).setdefault(program.name, {})[target] = told
                    DATA.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
                    print(f"{collection}/{program.name} on {target}: {told.get('why', 'runs')}", flush=True)
                    if said and patterns:
                        print(said, flush=True)
            shutil.rmtree(copy, ignore_errors=True)


def where(told: Mapping[str, Mapping[str, Any]], what: str) -> str:
    """The targets on which something is so, in a cell of the table."""
    so = [target for target in TILE_TARGETS if told.get(target, {}).get(what)]
    return "yes" if len(so) == len(told) else ", ".join(so) or "no"


def row(name: str, told: Mapping[str, Mapping[str, Any]]) -> str:
    """A program's."""
    reasons = dict.fromkeys(each["why"] for each in told.values() if "why" in each)
    why = "; ".join(reasons).replace("|", "\\|")
    cell = f"`{why.replace('`', '')}`" if why else ""
    return f"| {name} | {where(told, 'builds')} | {where(told, 'runs')} | {cell} |"


def table() -> str:
    """What came of all, for the page."""
    told = stored()
    known = {name: told[name] for name in dict.fromkeys([*COLLECTIONS, *told]) if told.get(name)}
    lines = ["| collection | programs | build | run |", "| --- | --- | --- | --- |"]
    for collection, programs in known.items():
        counts = [
            sum(all(each[what] for each in told.values()) for told in programs.values())
            for what in ("builds", "runs")
        ]
        lines.append(f"| {collection} | {len(programs)} | {counts[0]} | {counts[1]} |")
    for collection, programs in known.items():
        lines += [
            "",
            f"### {collection}",
            "",
            "| program | builds | runs | why not |",
            "| --- | --- | --- | --- |",
        ]
        lines += [row(name, told) for name, told in programs.items()]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--target", choices=TILE_TARGETS)
    parser.add_argument("--list", type=Path)
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    given = parser.parse_args(arguments)
    collections = runpy.run_path(str(given.list))["COLLECTIONS"] if given.list else COLLECTIONS
    targets = [given.target] if given.target else TILE_TARGETS
    run_all(collections, given.folder.absolute(), given.patterns, targets, given.timeout)
    before, _, rest = PAGE.read_text().partition(_START)
    _, _, behind = rest.partition(_END)
    PAGE.write_text(f"{before}{_START}\n{table()}\n{_END}{behind}")


if __name__ == "__main__":
    main(sys.argv[1:])
