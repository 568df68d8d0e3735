"""HipKittens' own Makefiles, run by hipcc's stand-in in a copy, with HipKittens' own headers.

A Makefile builds its own target; if its SRC is missing, or names a missing file, it builds each program of
its folder. Modules are loaded and checked as `hipkittens_sources` checks those that
the workbench compiles; a program is run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

import hipkittens_sources
from hipkittens_sources import ATTENTION, Source

from workbench import targets
from workbench.audit.build import python_tools
from workbench.toolchain.hipcc.script import install

BUILD_TIMEOUT = 400.0
RUN_TIMEOUT = 120.0
"""Seconds of a program, or of a module's check."""
GRACE = 30.0
"""Seconds that a process may take to end after its timeout."""
OTHER_COMPILER = re.compile(r"\bnvcc\b")


@dataclass(frozen=True)
class Build:
    """A call of `make`.

    Attributes:
        source: what it builds; its path is that of the Makefile where that names more than one.
        variables: what it is called with, besides those that all are.
        sizes: small sizes by macro, of those sources that take theirs from macros.
    """

    source: Source
    variables: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=lambda: dict(ATTENTION))

    @property
    def folder(self) -> Path:
        return self.source.path.parent

    @property
    def makefile(self) -> str:
        return self.folder.relative_to(self.source.root).as_posix()


def builds(root: Path, branch: str, arch: str, define: tuple[str, ...]) -> Iterator[Build]:
    """Builds of a checkout, in the order of its folders."""
    for makefile in sorted(root.rglob("Makefile")):
        text, folder = makefile.read_text(), makefile.parent
        if OTHER_COMPILER.search(text):
            continue
        settings = variables(folder)
        macro = f"KITTENS_{settings.get('GPU_TARGET')}"
        target = next((t for t in targets.TILE_TARGETS if targets.target(t).macro == macro), arch)
        if "$(SRC)" not in text:
            yield Build(Source(branch, root, makefile, target, define))
        elif (folder / settings.get("SRC", "none")).is_file():
            yield Build(Source(branch, root, folder / settings["SRC"], target, define))
        else:
            for path, name in modules(folder):
                yield Build(
                    Source(branch, root, path, target, define), (f"SRC={path.name}", f"TARGET={name}")
                )


def variables(folder: Path) -> dict[str, str]:
    """A Makefile's variables, with their default values."""
    output = subprocess.run(["make", "-pn"], cwd=folder, capture_output=True, text=True, check=False).stdout
    return dict(re.findall(r"^(\w+)\s*:?=\s*(\S+)$", output, re.M))


def modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """The sources of a folder that bind a Python module, and its name."""
    for path in sorted(folder.glob("*.cpp")):
        if bound := re.search(r"PYBIND11_MODULE\(\s*(\w+)", path.read_text()):
            yield path, bound[1]


def attempt(
    build: Build,
    environment: Mapping[str, str],
    jobs: int = 1,
    timeout: float = BUILD_TIMEOUT,
    run_timeout: float = RUN_TIMEOUT,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Names of sources, and "result", one of those of `hipkittens_sources.attempt`, and "text"."""
    sizes = [f"{name}={value}" for name, value in build.sizes.items()]
    # Below another make it would end with a word about folders.
    options = ["-k", f"-j{jobs}", "--no-print-directory"]
    command = ["make", *options, "HIPCXX=hipcc", "LOGDIR=logs", *sizes, *build.variables]
    before = {path: path.stat().st_mtime_ns for path in build.folder.iterdir()}
    status, output = _said(command, build.folder, environment, timeout)
    products = [
        path
        for path in sorted(build.folder.iterdir())
        if path.is_file() and os.access(path, os.X_OK) and before.get(path) != path.stat().st_mtime_ns
    ]
    if status is None:
        yield build.source.path.name, {"result": "no", "text": f"not built after {timeout:g} s"}
    # Recipes that end with `tee` have its exit status, not hipcc's.
    elif status or not products or "error:" in output:
        yield build.source.path.name, {"result": "no", "text": _reason(output)}
    bound = {name: path for path, name in modules(build.folder)}
    for file in products:
        if file.suffix == ".so":
            is_one = build.source.path.name != "Makefile"
            path = build.source.path if is_one else bound[file.name.partition(".")[0]]
            yield (
                path.name,
                _checked(replace(build.source, path=path), file, build.sizes, environment, run_timeout),
            )
        else:
            yield build.source.path.name, _run(file, environment, run_timeout)


def _run(program: Path, environment: Mapping[str, str], timeout: float = RUN_TIMEOUT) -> dict[str, str]:
    """The result of running a program, which may be one of unit tests."""
    status, output = _said([str(program)], program.parent, environment, timeout)
    if status is None:
        return {"result": "compiles", "text": f"its program is not done after {timeout:g} s"}
    result = {name: str(value) for name, value in hipkittens_sources.outcome(output).items()}
    # A program that finds its result wrong may end with another status than 0.
    if status and result["result"] != "wrong":
        return {"result": "fails", "text": f"exit status {status}: {_reason(output)}"}
    return result


def _checked(
    source: Source,
    module: Path,
    sizes: Mapping[str, int],
    environment: Mapping[str, str],
    timeout: float = RUN_TIMEOUT,
) -> dict[str, str]:
    """The result of checking a module in a separate process."""
    of = {"sources": [source.record()], "module": str(module), "sizes": dict(sizes)}
    command = [sys.executable, hipkittens_sources.__file__, json.dumps(of)]
    status, output = _said(command, source.path.parent, environment, timeout, errors=False)
    if status is None:
        return {"result": "compiles", "text": f"its check is not done after {timeout:g} s"}
    lines = output.strip().splitlines()
    if status or not lines:
        return {"result": "fails", "text": f"exit status {status}"}
    result: dict[str, str] = json.loads(lines[-1])
    return result


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["nothing said"]
    matches = (re.search(r"(?:error: |hipcc: (?!note)|\*\*\* )(.*)", line) for line in lines)
    return next((match[1] for match in matches if match), lines[-1])


def _said(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float, errors: bool = True
) -> tuple[int | None, str]:
    """A command's exit status, None if it takes too long, and its output with that to standard error."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors else None,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # Below make are compilers, which hipcc ends at the first of these and cannot at the second.
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=GRACE)
                break
        return None, ""
    return process.returncode, output


Row = tuple[str, str, str, dict[str, str]]
"""Branch, folder of the Makefile, source, and its result."""


def run_all(
    checkouts: Mapping[str, Path],
    branches: Mapping[str, tuple[str, tuple[str, ...]]],
    is_wanted: Callable[[str], bool],
    jobs: int,
    timeout: float = BUILD_TIMEOUT,
) -> Iterator[tuple[str, list[Row]]]:
    """Makefiles, as branch and folder, and the results of their builds, as they end.

    Args:
        checkouts: folders by branch; they are copied.
        branches: by name the target of a branch and its macros.
        is_wanted: whether to try a Makefile. jobs: number at a time.
        timeout: seconds of one call of `make`.
    """
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as scratch:
        programs = tools(Path(scratch) / "bin")
        copies = {name: Path(scratch) / name for name in checkouts}
        for name, folder in checkouts.items():
            shutil.copytree(
                folder, copies[name], ignore=shutil.ignore_patterns(".git"), ignore_dangling_symlinks=True
            )
        roots = {branches[name][0]: copy for name, copy in reversed(copies.items())}
        tasks: dict[str, list[Build]] = {}
        for name, copy in copies.items():
            for build in builds(copy, name, *branches[name]):
                if is_wanted(f"{name}/{build.makefile}"):
                    tasks.setdefault(f"{name}/{build.makefile}", []).append(build)

        def work(of: Sequence[Build]) -> list[Row]:
            rows: list[Row] = []
            for build in of:
                branch, target = build.source.branch, build.source.arch
                copy = copies[branch]
                # Headers of the target's branch, if its own branch is for another target.
                root = copy if branches[branch][0] == target else roots.get(target, copy)
                # One with all programs of its folder has several to compile at a time.
                beside = jobs if build.source.path.name == "Makefile" else 1
                for name, result in attempt(build, environment(programs, root, target), beside, timeout):
                    result["text"] = result["text"].replace(f"{copy}/", "")
                    rows.append((branch, build.makefile, name, result))
                    print(*rows[-1], file=sys.stderr, flush=True)
            return rows

        with ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(work, of): name for name, of in tasks.items()}
            for future in as_completed(running):
                yield running[future], future.result()


def environment(programs: Path, root: Path, target: str) -> dict[str, str]:
    """Variables for `make`, and for the programs and modules that it builds.

    Args:
        programs: the folder of `tools`.
        root: the folder whose `include` has the tile library.
        target: of the device.
    """
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "THUNDERKITTENS_ROOT": str(root),
        "HIPKITTENS_DEVICE": f"emulated:{target}",
    }


def tools(folder: Path) -> Path:
    """A folder with `hipcc`, and this Python as `python3` with its `python3-config`."""
    install(str(folder))
    return python_tools(folder)


def table(rows: Sequence[Row], longest: int) -> str:
    """Counts, and one line for each."""
    kinds = ("right", "wrong", "fails", "compiles", "no")
    heads = ("branch", "Makefiles", "their modules and programs", *kinds)
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for branch in dict.fromkeys(row[0] for row in rows):
        of = [row for row in rows if row[0] == branch]
        counts = [str(sum(row[3]["result"] == kind for row in of)) for kind in kinds]
        lines.append(f"| {branch} | {len({row[1] for row in of})} | {len(of)} | {' | '.join(counts)} |")
    heads = ("branch", "Makefile", "source", "result", "checked, or the first error")
    lines += ["", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for branch, makefile, source, result in rows:
        text = result["text"].replace("|", "\\|").replace("`", "'")[:longest]
        lines.append(f"| {branch} | {makefile} | {source} | {result['result']} | {text and f'`{text}`'} |")
    return "\n".join(lines)
