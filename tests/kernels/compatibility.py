"""HipKittens' names that the tile library has, and sources that it compiles: docs/compatibility.md.

    python tests/kernels/compatibility.py names --main FOLDER --cdna3 FOLDER --fp6 FOLDER
    python tests/kernels/compatibility.py sources --main FOLDER ... --results FILE  # hours, resumable
    python tests/kernels/compatibility.py modules --main FOLDER  # minutes
    python tests/kernels/compatibility.py makefiles --main FOLDER --cdna3 FOLDER --results FILE [--jobs N]
    python tests/kernels/compatibility.py runs --june FOLDER --cdna3 FOLDER --results FILE [--jobs N]
    python tests/kernels/compatibility.py elsewhere --primus FOLDER --june FOLDER --results FILE
    python tests/kernels/compatibility.py recheck --main FOLDER ... --sample 40 --seed 1 [--jobs N]

`recheck` builds and runs results of the page again that a seed draws, and names those that differ. A folder
is a checkout of a branch of HipKittens. Only names of it are stored here. Each name is looked up
by the compiler, which compiles a line about it with the tile library; each source is compiled as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import compatibility_tables
import hipkittens_elsewhere
import hipkittens_makefiles
import hipkittens_reasons
import hipkittens_runs
import hipkittens_sources
from hipkittens_sources import Source

from workbench import toolchain
from workbench.compatibility import device_errors, full, missing, public_names
from workbench.compatibility.cpp_names import Name

HEADERS = Path(__file__).resolve().parents[2] / "kernels" / "include"
MODULES = r"^(kernels/(layernorm|rotary)/kernel|analysis/bf16_gemm/mi350x/kernel_1024)"
"""Modules whose whole grid takes seconds."""
SOURCE_TIMEOUT = 1800
"""Seconds for a source to compile and run."""
LONGEST = 200
"""Characters of a text in the table of sources."""
READ = "device part read, templates instantiated; not run"
RESULTS = ("right", "wrong", "fails", "compiles", "no")
"""Results of a source: right, another result, an error when it runs, not run, does not compile."""


@dataclass(frozen=True)
class Branch:
    """A branch of HipKittens: its target, and the macros that select its names here.

    "main" is main of November 2025, "june" that of June 2026, with its headers for gfx950 in `include/cdna4`.
    """

    name: str
    arch: str
    define: tuple[str, ...] = ()


BRANCHES = {
    branch.name: branch
    for branch in (
        Branch("main", "gfx950"),
        Branch("june", "gfx950"),
        Branch("cdna3", "gfx942"),
        Branch("fp6", "gfx950", ("KITTENS_FP6",)),
    )
}


def compile_only(
    source: Path,
    branch: Branch,
    include: Iterable[Path] = (),
    define: Iterable[str] = (),
    preferred: str | None = None,
) -> str:
    """The compiler's errors on the device part of a source, templates instantiated; "" if it compiles."""
    with mock.patch.dict(os.environ, {"HIPKITTENS_COMPILER": preferred} if preferred else {}):
        folders = (*include, HEADERS, source.parent)
        return device_errors(source, branch.arch, (*branch.define, *define), folders)


def stated() -> dict[str, list[Name]]:
    """The names by branch that we have according to the page."""
    heads: list[str] = []
    of: dict[str, list[Name]] = {branch: [] for branch in BRANCHES}
    for line in compatibility_tables.section("names").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == ["name", "kind"]:
            heads = cells[2:]
        elif (heads and cells[0].startswith("`kittens")) or (len(cells) > 1 and cells[1] == "macro"):
            scope, _, name = cells[0].strip("`").rpartition("::")
            for branch, here in zip(heads, cells[2:], strict=False):
                if here == "yes":
                    of[branch].append(Name(scope, name, cells[1], ""))
    return of


def tree(root: Path) -> Path:
    """The headers for CDNA of a folder that has the tile library."""
    return max(root / "include", root / "include" / "cdna4", key=lambda folder: (folder / "common").is_dir())


def names_table(checkouts: dict[str, Path]) -> str:
    """The table of names; `checkouts` are folders by branch. Other branches keep the page's rows."""
    of = {branch: dict.fromkeys(names, True) for branch, names in stated().items() if names}
    for branch, folder in checkouts.items():
        names = {n for root in hipkittens_sources.roots(folder) for n in public_names(tree(root))}
        absent = missing(sorted(names), BRANCHES[branch].arch, BRANCHES[branch].define)
        of[branch] = {name: name not in absent for name in names}
    branches = [branch for branch in BRANCHES if branch in of]
    by_name: dict[tuple[str, str], dict[str, tuple[Name, bool]]] = {}
    for branch in branches:
        for name, is_here in of[branch].items():
            by_name.setdefault((name.scope, name.name), {})[branch] = (name, is_here)
    counts = [f"| {branch} | {len(of[branch])} | {sum(of[branch].values())} |" for branch in branches]
    rows = []
    for _, in_branches in sorted(by_name.items()):
        name = next(iter(in_branches.values()))[0]
        here = {branch: "yes" if is_here else "no" for branch, (_, is_here) in in_branches.items()}
        cells = [f"`{full(name)}`", name.kind, *(here.get(branch, "") for branch in branches)]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(
        [
            "| branch | public names | here |",
            "| --- | --- | --- |",
            *counts,
            "",
            f"| name | kind | {' | '.join(branches)} |",
            "| --- | --- |" + " --- |" * len(branches),
            *rows,
        ]
    )


def headers() -> str:
    """A digest of the tile library's headers and of the portable HIP headers."""
    folders = (HEADERS, toolchain.compiler.INCLUDE)
    return "-".join(hipkittens_sources.digest_of_headers(folder) for folder in folders)


class Results:
    """Results of sources by compiler and headers, each stored in a file at once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, dict[str, str]] = json.loads(file.read_text()) if file.exists() else {}

    def find(self, source: Source, compiler: str, own_headers: bool) -> dict[str, str] | None:
        return self._known.get(self._key(source, compiler, own_headers))

    def get(
        self, source: Source, compiler: str, own_headers: bool, again: bool, quick: bool
    ) -> dict[str, str]:
        """The stored result, or that of a compilation and run now.

        Args:
            again: whether one is made anew where our headers have changed since.
            quick: whether it is enough that the compiler reads the source.
        """
        key, stamp = self._key(source, compiler, own_headers), "" if own_headers else headers()
        stored = self._known.get(key)
        if stored is None or (again and stored["headers"] != stamp) or (stored["text"] == READ and not quick):
            fresh = read(source, compiler, own_headers) if quick else attempt(source, compiler, own_headers)
            self._known[key] = {**fresh, "headers": stamp}
            self._file.write_text(json.dumps(self._known, indent=1))
        return self._known[key]

    def add_together(self, sources: Sequence[Source], compiler: str, own_headers: bool, quick: bool) -> None:
        """Results of the unit tests of a folder that have no result yet, as many per program as possible.

        Tests that define the same names go to separate programs.
        """
        without = (None, *(() if quick else (READ,)))
        stored = {
            source: self.find(source, compiler, own_headers) for source in sources if source.is_unit_test
        }
        left = [source for source, result in stored.items() if (result and result["text"]) in without]
        stamp = "" if own_headers else headers()
        while left:
            if quick:
                compiling = read_together(left, compiler, own_headers)
                outcomes = {source.name: {"result": "compiles", "text": READ} for source in compiling}
            else:
                outcomes = attempt_together(left, compiler, own_headers)
            for source in left:
                if source.name in outcomes:
                    self._known[self._key(source, compiler, own_headers)] = {
                        **outcomes[source.name],
                        "headers": stamp,
                    }
            self._file.write_text(json.dumps(self._known, indent=1))
            left = [source for source in left if source.name not in outcomes] if outcomes else []

    @staticmethod
    def _key(source: Source, compiler: str, own_headers: bool) -> str:
        return " ".join(
            (source.branch, source.root.name, source.name, compiler, "own" if own_headers else "ours")
        )


def read(source: Source, compiler: str, own_headers: bool) -> dict[str, str]:
    """Result of compiling the device part of a source, templates instantiated."""
    test = hipkittens_sources.unit_test(source) if source.is_unit_test else None
    include = [*([source.headers] if own_headers else []), *(test.include if test else [])]
    include += hipkittens_sources.moved(source)
    define = [*hipkittens_sources.MACROS, *(test.define(test.smallest) if test else ())]
    of = Branch(source.branch, source.arch, source.define)
    output = compile_only(source.path, of, [*include, *hipkittens_sources.host_headers()], define, compiler)
    error = re.search(r"error: (.*)", output)
    return {"result": "no" if output else "compiles", "text": error[1] if error else output.strip() or READ}


def attempt(source: Source, compiler: str, own_headers: bool, whole: bool = False) -> dict[str, str]:
    """Compile and run a source in a separate process."""
    return _asked([source], compiler, {"own_headers": own_headers, "whole": whole, "together": False})


def attempt_together(
    sources: Sequence[Source], compiler: str, own_headers: bool
) -> dict[str, dict[str, str]]:
    """Results by name of one folder's unit tests, run as one program except for tests that must run alone."""
    compiling = read_together(sources, compiler, own_headers)
    if not compiling:
        return {}
    result = _asked(compiling, compiler, {"own_headers": own_headers, "whole": False, "together": True})
    return {name: entry for name, entry in result.items() if isinstance(entry, dict)}


def read_together(sources: Sequence[Source], compiler: str, own_headers: bool) -> list[Source]:
    """Unit tests of one folder without errors when compiled as one program.

    The others may still compile alone: some define what others define.
    """
    first, tests = sources[0], [hipkittens_sources.unit_test(source) for source in sources]
    switches = dict.fromkeys(switch for test in tests for switch in test.switches)
    define = [*hipkittens_sources.MACROS, *switches, f"TEST_INTENSITY={min(t.smallest for t in tests)}"]
    include = [*([first.headers] if own_headers else []), *tests[0].include]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "unit_tests.hip"
        program.write_text(tests[0].text)
        output = compile_only(
            program, Branch(first.branch, first.arch, first.define), include, define, compiler
        )
    return [source for source in sources if f"{source.path}:" not in output]


def _asked(sources: Sequence[Source], compiler: str, how: dict[str, bool]) -> dict[str, Any]:
    """Results of sources, from a separate process."""
    records = [source.record() for source in sources]
    try:
        finished = subprocess.run(
            [sys.executable, hipkittens_sources.__file__, json.dumps({**how, "sources": records})],
            capture_output=True,
            text=True,
            env={**os.environ, "HIPKITTENS_COMPILER": compiler},
            timeout=SOURCE_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return {"result": "fails", "text": f"not done after {SOURCE_TIMEOUT} s"}
    lines = finished.stdout.strip().splitlines()
    if finished.returncode or not lines:
        error = (finished.stderr.strip() or "nothing").splitlines()[-1]
        return {"result": "fails", "text": f"exit status {finished.returncode}: {error}"}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def version(compiler: str) -> str:
    """Name and release of a compiler of HIPKITTENS_COMPILER, such as "clang 22"."""
    environment = {**os.environ, "HIPKITTENS_COMPILER": compiler}
    ask = "from workbench import toolchain; print(toolchain.find_compiler().version)"
    answer = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, env=environment, check=True
    )
    match = re.search(r"clang (?:version )?(\d+)", answer.stdout)
    return f"clang {match[1]}" if match else answer.stdout.strip()


def compilers_here() -> list[str]:
    """The page's compilers on this machine, as values of HIPKITTENS_COMPILER.

    Raises:
        SystemExit: the machine has none of them.
    """
    here = []
    for name in ("clang", "zig"):
        with contextlib.suppress(subprocess.CalledProcessError):
            version(name)
            here.append(name)
    if not here:
        sys.exit("neither clang nor zig compiles device code here: name a compiler with --compilers")
    return here


def libraries(checkouts: dict[str, Path]) -> dict[str, Path]:
    """HipKittens' own headers by target: those of the branch that is for it."""
    folders: dict[str, Path] = {}
    for branch, folder in checkouts.items():
        folders.setdefault(BRANCHES[branch].arch, hipkittens_sources.roots(folder)[0] / "include")
    return folders


def listed(checkouts: Mapping[str, Path]) -> list[Source]:
    """The sources of checkouts, which are folders by branch."""
    return [
        source
        for branch, folder in checkouts.items()
        for source in hipkittens_sources.sources(
            folder, branch, BRANCHES[branch].arch, BRANCHES[branch].define, libraries(dict(checkouts))
        )
    ]


def stated_results() -> dict[tuple[str, str], tuple[str, str]]:
    """Results with our headers and with theirs by branch and source, of the page's first table."""
    text = compatibility_tables.section("sources")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    stated: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows:
        if len(row) == 6 and row[2].startswith("gfx"):
            stated.setdefault((row[0], row[1]), (row[3], row[4]))
    return stated


def sources_table(checkouts: dict[str, Path], options: argparse.Namespace) -> str:
    """The table of sources: results with each compiler and set of headers, and reasons for failures."""
    results = Results(options.results)
    outcomes: Known = {}
    every = listed(checkouts)
    for branch, folder in checkouts.items():
        sources = [source for source in every if source.branch == branch]
        if options.together:
            for root, compiler, own_headers in itertools.product(
                hipkittens_sources.roots(folder), options.compilers, options.headers_of
            ):
                here = [
                    s for s in sources if s.root == root and re.search(options.only, f"{branch}/{s.name}")
                ]
                results.add_together(here, compiler, own_headers, options.quick)
        for source in sources:
            for column in (
                (compiler, own_headers) for compiler in options.compilers for own_headers in (False, True)
            ):
                result = results.find(source, *column)
                if column[1] in options.headers_of and re.search(options.only, f"{branch}/{source.name}"):
                    result = results.get(source, *column, options.again, options.quick)
                    print(branch, source.name, *column, result, file=sys.stderr, flush=True)
                if result:
                    outcomes.setdefault(column, {})[source] = result
    tables = [
        line
        for compiler in dict.fromkeys(compiler for compiler, _ in outcomes)
        for line in compiler_table(compiler, every, outcomes)
    ]
    return "\n".join(
        [
            *totals(list(checkouts), outcomes),
            *tables,
            "",
            "| branch | source | ours | why |",
            "| --- | --- | --- | --- |",
            *(reason(source, outcomes) for source in every if is_lacking(source, outcomes)),
            *own_causes(every, outcomes),
        ]
    )


Known = dict[tuple[str, bool], dict[Source, dict[str, str]]]
"""Results of sources by compiler and whether the headers are HipKittens' own."""


def heads(columns: Sequence[tuple[str, bool]]) -> list[str]:
    """Heads of the table's columns: compiler and headers."""
    names = {compiler: version(compiler) for compiler, _ in columns}
    return [
        f"{'its own' if own_headers else 'our'} headers, {names[compiler]}"
        for compiler, own_headers in columns
    ]


def totals(branches: Sequence[str], outcomes: Known) -> Iterator[str]:
    """Number of a branch's sources with each result, by column."""
    yield f"| | branch | {' | '.join(RESULTS)} |"
    yield "| --- | --- |" + " --- |" * len(RESULTS)
    for head, results in zip(heads(list(outcomes)), outcomes.values(), strict=True):
        for branch in branches:
            count = Counter(result["result"] for source, result in results.items() if source.branch == branch)
            if count:
                yield f"| {head} | {branch} | {' | '.join(str(count[kind]) for kind in RESULTS)} |"


def compiler_table(compiler: str, sources: Sequence[Source], outcomes: Known) -> Iterator[str]:
    """Rows of the sources on which a compiler was tried."""
    columns = {column: results for column, results in outcomes.items() if column[0] == compiler}
    yield ""
    yield f"| branch | source | target | {' | '.join(heads(list(columns)))} | checked, or the first error |"
    yield "| --- | --- | --- |" + " --- |" * len(columns) + " --- |"
    for source in sources:
        results = [results.get(source) for results in columns.values()]
        if any(results):
            yield row(source, results)


def row(source: Source, results: Sequence[dict[str, str] | None]) -> str:
    """A source's results, and the first text about them."""
    text = next((result["text"] for result in results if result), "").replace(f"{source.root}/", "")
    text = textwrap.shorten(text.replace("|", "\\|"), LONGEST, placeholder=" ...")
    cells = " | ".join(result["result"] if result else "" for result in results)
    return f"| {source.branch} | {source.name} | {source.arch} | {cells} | {text and f'`{text}`'} |"


def is_lacking(source: Source, outcomes: Known) -> bool:
    """True for a source that is known not to be right with our headers and the first compiler."""
    result = of_ours(source, outcomes)
    return result is not None and result["result"] != "right"


def of_ours(source: Source, known: Known) -> dict[str, str] | None:
    return next((results.get(source) for (_, own_headers), results in known.items() if not own_headers), None)


def reason(source: Source, outcomes: Known) -> str:
    """Why a source is not right with our headers."""
    result = of_ours(source, outcomes)
    assert result is not None
    why = hipkittens_reasons.why(source.name, result["result"], result["text"])
    return f"| {source.branch} | {source.name} | {result['result']} | {why} |"


def own_causes(sources: Sequence[Source], outcomes: Known) -> Iterator[str]:
    """Why sources are not right with HipKittens' own headers and the first compiler, by cause."""
    results = next((results for (_, own_headers), results in outcomes.items() if own_headers), {})
    declared = {headers: names_in(headers) for headers in {source.headers for source in results}}
    causes: dict[tuple[str, ...], list[str]] = {}
    for source in sources:
        result = results.get(source, {"result": "right"})
        if result["result"] != "right":
            why = hipkittens_reasons.why_own(source.name, result["text"], declared[source.headers])
            causes.setdefault((source.branch, result["result"], *why), []).append(source.name)
    yield ""
    yield "| branch | its own headers | in | why | sources |"
    yield "| --- | --- | --- | --- | --- |"
    for cause, names in sorted(causes.items()):
        yield f"| {' | '.join(cause)} | {', '.join(names)} |"


def names_in(headers: Path) -> set[str]:
    return {name.name for name in public_names(headers)}


def modules_table(checkouts: dict[str, Path], options: argparse.Namespace) -> str:
    """The table of Python modules, called with CPU tensors, with our headers and with its own."""
    rows = []
    for source in listed(checkouts):
        if not re.search(options.only or MODULES, source.name):
            continue
        results = [
            attempt(source, options.compilers[0], own_headers, whole=True) for own_headers in (False, True)
        ]
        print(source.branch, source.name, results, file=sys.stderr, flush=True)
        cells = " | ".join(f"{result['result']}, `{result['text']}`" for result in results)
        rows.append(f"| {source.branch} | {source.name} | {source.arch} | {cells} |")
    name = version(options.compilers[0])
    heads = f"| branch | module | target | our headers, {name} | its own headers, {name} |"
    return "\n".join([heads, "| --- | --- | --- | --- | --- |", *rows])


def makefiles_table(checkouts: Mapping[str, Path], options: argparse.Namespace) -> str:
    """The table of Makefiles; those with a stored result are not run again."""
    results: dict[str, list[hipkittens_makefiles.Row]] = {}
    if options.results.exists():
        results = json.loads(options.results.read_text())
    of = {branch: (BRANCHES[branch].arch, BRANCHES[branch].define) for branch in checkouts}

    def is_wanted(name: str) -> bool:
        return name not in results and re.search(options.only, name) is not None

    for name, rows in hipkittens_makefiles.run_all(checkouts, of, is_wanted, options.jobs, options.timeout):
        results[name] = rows
        options.results.write_text(json.dumps(results, indent=1))
    inorder = sorted(results, key=lambda name: ([*BRANCHES].index(name.partition("/")[0]), name))
    return hipkittens_makefiles.table([row for name in inorder for row in results[name]], LONGEST)


def runs_table(checkouts: Mapping[str, Path], options: argparse.Namespace) -> str:
    """The table of kernels that their Makefiles build at small sizes, and of unit tests of June 2026.

    Runs that the file of results has are not repeated.
    """
    results: hipkittens_runs.Results = {}
    if options.results.exists():
        results = json.loads(options.results.read_text())
    arch = {branch: BRANCHES[branch].arch for branch in checkouts}
    tests = {
        branch: hipkittens_runs.unit_tests(folder, branch, arch[branch])
        for branch, folder in checkouts.items()
        if branch == "june"
    }
    kernels = [kernel for kernel in hipkittens_runs.RUNS if kernel.branch in checkouts]
    tasks = hipkittens_runs.tasks(kernels, tests, options.headers_of)
    wanted = [task for task in tasks if task.key not in results and re.search(options.only, task.key)]

    def attempt_test(source: Source, own_headers: bool) -> dict[str, str]:
        return attempt(source, options.compilers[0], own_headers)

    for task, result in hipkittens_runs.run_all(
        wanted, checkouts, arch, tests, attempt_test, options.jobs, options.timeout
    ):
        print(task.key, result["result"], result["text"], file=sys.stderr, flush=True)
        results[task.key] = result
        options.results.write_text(json.dumps(results, indent=1))
    return hipkittens_runs.table(tasks, results, arch, LONGEST)


def elsewhere_table(checkouts: Mapping[str, Path], options: argparse.Namespace) -> str:
    """The table of kernels of other projects; what the file of results has is not built again."""
    results: dict[str, Any] = json.loads(options.results.read_text()) if options.results.exists() else {}
    folders = {"primus": options.primus}
    libraries = {True: checkouts["june"] / "include", False: HEADERS}
    for source, own in itertools.product(hipkittens_elsewhere.SOURCES, options.headers_of):
        key, folder = hipkittens_elsewhere.key(source, own), folders[source.project]
        if key not in results and folder is not None and re.search(options.only, key):
            results[key] = hipkittens_elsewhere.attempt(source, folder, libraries[own], options.timeout)
            results[source.project] = [
                hipkittens_runs.commit(folder),
                datetime.now(UTC).date().isoformat(),
            ]
            print(key, results[key], file=sys.stderr, flush=True)
            options.results.write_text(json.dumps(results, indent=1))
    return hipkittens_elsewhere.table(results, results)


def recheck(checkouts: Mapping[str, Path], options: argparse.Namespace) -> bool:
    """Build and run a sample of the page's results again, and compare. Sources with a stored result are not
    built again.
    """
    page = stated_results()
    stored: dict[str, dict[str, str]] = {}
    if options.results is not None and options.results.exists():
        stored = json.loads(options.results.read_text())
    cells = [
        (source, own_headers)
        for source in listed(checkouts)
        for own_headers in options.headers_of
        if (source.branch, source.name) in page and re.search(options.only, f"{source.branch}/{source.name}")
    ]
    drawn = random.Random(options.seed).sample(cells, min(options.sample, len(cells)))
    print(f"{len(drawn)} of {len(cells)} results, seed {options.seed}", flush=True)

    def again(cell: tuple[Source, bool]) -> bool:
        source, own_headers = cell
        stated = page[source.branch, source.name][own_headers]
        name = f"{source.branch} {source.name} {'own' if own_headers else 'ours'}"
        result = stored.get(name) or attempt(source, options.compilers[0], own_headers)
        stored[name] = result
        if options.results is not None:
            options.results.write_text(json.dumps(stored, indent=1))
        is_so = result["result"] == stated
        verdict = "as stated" if is_so else f"{result['result']}, and the page says {stated}"
        whose = "its own" if own_headers else "our"
        print(f"{source.branch} {source.name}, {whose} headers: {verdict}: {result['text']}", flush=True)
        return is_so

    with ThreadPoolExecutor(options.jobs) as pool:
        same = list(pool.map(again, drawn))
    print(f"{sum(same)} of {len(same)} are as the page says", flush=True)
    return all(same)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "what", choices=("names", "sources", "modules", "makefiles", "runs", "elsewhere", "recheck")
    )
    for branch in BRANCHES:
        parser.add_argument(f"--{branch}", type=Path, help=f"folder of a checkout of HipKittens' {branch}")
    parser.add_argument("--primus", type=Path, help="folder of a checkout of Primus-Turbo")
    parser.add_argument("--results", type=Path, help="file that keeps results, to go on later")
    parser.add_argument("--only", default="", help="pattern of the sources to compile and run now")
    parser.add_argument("--sample", type=int, default=40, help="of recheck: how many results")
    parser.add_argument("--seed", type=int, default=1, help="of recheck: which")
    parser.add_argument(
        "--timeout",
        type=float,
        default=400,
        help="of makefiles, runs and elsewhere: seconds of a call of make",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="of makefiles, runs and recheck: how many at a time"
    )
    parser.add_argument("--again", action="store_true", help="those whose result is of other headers of ours")
    parser.add_argument("--quick", action="store_true", help="of sources: the compiler reads them, no more")
    parser.add_argument("--together", action="store_true", help="unit tests of a folder as one program")
    parser.add_argument(
        "--compilers", nargs="+", help="as HIPKITTENS_COMPILER names them; those that are here"
    )
    parser.add_argument("--headers", choices=("ours", "own", "both"), default="both")
    options = parser.parse_args(arguments)
    options.compilers = options.compilers or compilers_here()
    options.headers_of = {"ours": (False,), "own": (True,), "both": (False, True)}[options.headers]
    checkouts = {
        branch: getattr(options, branch) for branch in BRANCHES if getattr(options, branch) is not None
    }
    if not checkouts:
        parser.error("no checkout given")
    if options.what == "names":
        compatibility_tables.store("names", names_table(checkouts))
    elif options.what == "modules":
        compatibility_tables.store("modules", modules_table(checkouts, options))
    elif options.what == "recheck":
        sys.exit(0 if recheck(checkouts, options) else 1)
    elif options.results is None:
        parser.error(f"{options.what} wants --results FILE")
    elif options.what == "runs":
        compatibility_tables.store("runs", runs_table(checkouts, options))
    elif options.what == "elsewhere":
        compatibility_tables.store("elsewhere", elsewhere_table(checkouts, options))
    elif options.what == "makefiles":
        compatibility_tables.store("makefiles", makefiles_table(checkouts, options))
    else:
        compatibility_tables.store("sources", sources_table(checkouts, options))


if __name__ == "__main__":
    main(sys.argv[1:])
