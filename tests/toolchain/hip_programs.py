"""Programs of a list, built unedited by hipcc's stand-in and run on the emulated devices, and a table of it.

    python tests/toolchain/hip_programs.py LIST.toml [PATTERN ...] [--target TARGET] [--timeout S] [--jobs N]
        [--write]

The list is yours, and stays outside of this repository:

    collection = "samples"               # what the table calls them
    folder = "/home/me/samples"          # where they are; without it, the list's own folder

    [[program]]
    name = "vector/add"
    folder = "vector"                    # in the collection's; commands are started there
    sources = ["add.hip", "main.cpp"]
    flags = ["-std=c++17", "-I../common"]
    args = ["1024"]
    expected = "PASSED"                  # a pattern that the output must have

`build` and `run`, commands of a shell, take the places of `sources` and `flags`, and of `args`:
`build = "make HIPCXX=hipcc"`, `run = "./add 1024"`. They find `hipcc`, and `$TARGET`. `not_run` says why a
program is only built.

A collection is copied before it is built. PATTERN: only programs whose names match; S: seconds for each to
build, and again to run; N: programs at a time, each in its own copy. `--write` stores each result in
`tests/data/hip_programs.json` at once, and puts the counts and the programs that do not run into
docs/host_programs.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from workbench.targets import TILE_TARGETS
from workbench.toolchain.hipcc.script import install

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import page_parts  # noqa: E402

TIMEOUT = 240
"""Seconds for a program to build, and again to run."""
LONGEST = 150
"""Characters of a reason."""
_WRONG = re.compile(r"(?<!\b0 )failed|incorrect|mismatch(?!es: 0)", re.IGNORECASE)
STORE = page_parts.StoredResults(
    page_parts.DATA / "hip_programs.json",
    page_parts.DOCS / "host_programs.md",
    "<!-- programs -->\n",
    "<!-- end of programs -->",
    depth=2,
)

Results = dict[str, dict[str, dict[str, Any]]]
"""Results of `attempt` by collection, program and target."""


class ListError(ValueError):
    """The list of programs differs from the documented format."""


@dataclass(frozen=True)
class Program:
    """A program of a list, with the keys that it has there."""

    name: str
    folder: str = "."
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    expected: str = ""
    build: str = ""
    run: str = ""
    not_run: str = ""

    def __post_init__(self) -> None:
        if bool(self.sources) == bool(self.build):
            raise ListError(f"program {self.name!r}: give either `sources` or `build`")
        for key, other in (("build", "flags"), ("run", "args")):
            if getattr(self, key) and getattr(self, other):
                raise ListError(f"program {self.name!r}: `{other}` belong into its `{key}`")
        try:
            re.compile(self.expected)
        except re.error as error:
            raise ListError(f"program {self.name!r}: `expected` is no pattern: {error}") from error

    @property
    def to_build(self) -> str:
        words = ["hipcc", *self.flags, *self.sources, "-o", "./program"]
        return self.build or shlex.join(words)

    @property
    def to_run(self) -> str:
        return self.run or shlex.join(["./program", *self.args])


@dataclass(frozen=True)
class Collection:
    """A list: its name, the folder of its programs, and the programs."""

    name: str
    folder: Path
    programs: tuple[Program, ...]


def read(file: Path) -> Collection:
    """A list.

    Raises:
        ListError: it cannot be read, or differs from the format documented above.
    """
    try:
        document = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ListError(f"{file}: {error}") from error
    _check_keys(
        f"{file}", document, {"collection": str, "folder": str, "program": list}, {"collection", "program"}
    )
    folder = file.parent / document.get("folder", ".")
    if not folder.is_dir():
        raise ListError(f"{file}: `folder` {folder} is no folder")
    kinds = {field.name: list if str(field.type).startswith("tuple") else str for field in fields(Program)}
    programs = []
    for number, record in enumerate(document["program"], 1):
        _check_keys(f"{file}: program {number}", record, kinds, {"name"})
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
        programs.append(Program(**values))
    names = [program.name for program in programs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ListError(f"{file}: two programs are called {twice!r}")
    return Collection(document["collection"], folder.resolve(), tuple(programs))


def _check_keys(where: str, record: Any, kinds: Mapping[str, type], needed: set[str]) -> None:
    if not isinstance(record, dict):
        raise ListError(f"{where}: a table is wanted, begun by [[program]], and not {record!r}")
    if missing := sorted(needed - {*record}):
        raise ListError(f"{where}: `{missing[0]}` is missing")
    for key, value in record.items():
        if key not in kinds:
            raise ListError(f"{where}: no key `{key}`; there are {', '.join(kinds)}")
        listed = isinstance(value, list) and (key == "program" or all(isinstance(v, str) for v in value))
        if not (listed if kinds[key] is list else isinstance(value, str)):
            expected = "a list of strings" if kinds[key] is list else "a string"
            raise ListError(f"{where}: `{key}` is {value!r}, wanted is {expected}")


def started(
    command: str, folder: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int | None, str]:
    """A command's exit status, None if it took too long, and its output."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        output.seek(0)
        return status, output.read().decode("utf-8", "replace")


def reason(output: str) -> str:
    """The first line with an error, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (
        r"(?:fatal )?error: (.*)",
        r"hipkittens: (.*)",
        r"hipcc: (?!note)(.*)",
        r"(.*(?:command not found|No such file or directory).*)",
        r"(.*FAILED.*)",
    ):
        for line in lines:
            if match := re.search(pattern, line):
                return match[1].strip('"')[:LONGEST]
    return lines[-1][:LONGEST] if lines else "nothing said"


def attempt(
    program: Program, folder: Path, environment: Mapping[str, str], timeout: float = TIMEOUT
) -> dict[str, Any]:
    """The result of a program: "builds", "runs", and "why" if it does not."""
    status, output = started(program.to_build, folder, environment, timeout)
    if status != 0:
        why = f"not built after {timeout:g} s" if status is None else reason(output)
        return {"builds": False, "runs": False, "why": why, "said": output[-4000:]}
    if program.not_run:
        return {"builds": True, "runs": False, "why": program.not_run}
    status, output = started(program.to_run, folder, environment, timeout)
    result: dict[str, Any] = {"builds": True, "runs": True}
    if status is None:
        result |= {"why": f"not done after {timeout:g} s"}
    elif status != 0:
        result |= {"why": f"exit status {status}: {reason(output)}"}
    elif (wrong := _WRONG.search(output)) and (fault := re.search(r"hipkittens: (kernel .*)", output)):
        # The first launch that failed is the cause.
        result |= {"why": fault[1][:LONGEST]}
    elif wrong:
        result |= {"why": next(line.strip() for line in output.splitlines() if wrong[0] in line)[:LONGEST]}
    elif not re.search(program.expected, output):
        result |= {"why": f"does not say {program.expected!r}"}
    if "why" in result:
        result |= {"runs": False, "said": output[-4000:]}
    return result


def run_all(
    collection: Collection,
    patterns: Sequence[str],
    targets: Sequence[str],
    timeout: float = TIMEOUT,
    jobs: int = 1,
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Try the programs whose names match a pattern, all without one; yields name, target and result. One at a
    time they are built in the same copy, where a program may use an earlier one's build.
    """
    programs = [
        program
        for program in collection.programs
        if any(re.search(each, program.name) for each in patterns or [""])
    ]
    with tempfile.TemporaryDirectory(prefix="hip-programs-") as scratch:
        tools = install(os.path.join(scratch, "bin")).parent

        def tried(of: tuple[str, Sequence[Program]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
            target, programs = of
            environment = {
                **os.environ,
                "PATH": f"{tools}:{os.environ['PATH']}",
                "HIPKITTENS_DEVICE": f"emulated:{target}",
                "TARGET": target,
            }
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                copy = Path(folder) / "copy"
                shutil.copytree(
                    collection.folder,
                    copy,
                    ignore_dangling_symlinks=True,
                    ignore=shutil.ignore_patterns(".git"),
                )
                for program in programs:
                    result = attempt(program, copy / program.folder, environment, timeout)
                    output = result.pop("said", "")
                    print(f"{program.name} on {target}: {result.get('why', 'runs')}", flush=True)
                    if output and patterns:
                        print(output, flush=True)
                    yield program.name, target, result

        if jobs == 1:
            for target in targets if programs else ():
                yield from tried((target, programs))
            return
        with ThreadPoolExecutor(jobs) as pool:
            futures = [
                pool.submit(lambda of: list(tried(of)), (target, [program]))
                for program in programs
                for target in targets
            ]
            for future in as_completed(futures):
                yield from future.result()


def where(results: Mapping[str, Mapping[str, Any]], property: str) -> str:
    """The targets with a property, in a cell of the table."""
    so = [target for target in TILE_TARGETS if results.get(target, {}).get(property)]
    return "yes" if len(so) == len(results) else ", ".join(so) or "no"


def row(name: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table's row for a program."""
    reasons = dict.fromkeys(each["why"] for each in results.values() if "why" in each)
    why = "; ".join(reasons).replace("|", "\\|")
    cell = f"`{why.replace('`', '')}`" if why else ""
    return f"| {name} | {where(results, 'builds')} | {where(results, 'runs')} | {cell} |"


def table(results: Results, *, failures_only: bool = False) -> str:
    """Markdown tables: the collections' counts, and their programs, or those that fail on a target."""
    collections = sorted(results.items(), key=lambda each: each[0].casefold())
    lines = ["| collection | programs | build | run |", "| --- | --- | --- | --- |"]
    for collection, programs in collections:
        counts = [
            sum(all(each[property] for each in targets.values()) for targets in programs.values())
            for property in ("builds", "runs")
        ]
        lines.append(f"| {collection} | {len(programs)} | {counts[0]} | {counts[1]} |")
    for collection, programs in collections:
        rows = [
            row(name, by_target)
            for name, by_target in programs.items()
            if not failures_only or where(by_target, "runs") != "yes"
        ]
        if rows:
            head = ("| program | builds | runs | why not |", "| --- | --- | --- | --- |")
            lines += ["", f"### {collection}", "", *head, *rows]
    return "\n".join(lines) + "\n"


def write(
    collection: str,
    name: str,
    target: str,
    result: Mapping[str, Any],
    store: page_parts.StoredResults = STORE,
) -> None:
    """Store a program's result with the other results, and update the table in the page."""
    results = store.read()
    results.setdefault(collection, {}).setdefault(name, {})[target] = dict(result)
    store.write(results, table(results, failures_only=True))


def main(arguments: Sequence[str], store: page_parts.StoredResults = STORE) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("list", type=Path, help="TOML, as above")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--target", choices=TILE_TARGETS)
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep it, and write the page")
    options = parser.parse_intermixed_args(arguments)
    try:
        collection = read(options.list)
    except ListError as error:
        parser.error(str(error))
    targets = [options.target] if options.target else TILE_TARGETS
    results: dict[str, dict[str, Any]] = {}
    for name, target, result in run_all(collection, options.patterns, targets, options.timeout, options.jobs):
        results.setdefault(name, {})[target] = result
        if options.write:
            write(collection.name, name, target, result, store)
    print(table({collection.name: results}))


if __name__ == "__main__":
    main(sys.argv[1:])
