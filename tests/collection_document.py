"""`docs/collection.md`: the collection's 71 modules and its benchmark tables, compared with ours.

python tests/collection_document.py --run      # runs every case on both targets
python tests/modelled_times.py                 # models the time of every problem that was published
python tests/collection_document.py --sources DIR  # compiles the collection's sources there
python docs/made.py # the page, from `tests/data/collection_results.json`
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import collection_ports
import collection_suite
import json_records
from collection.runner import CASES, drawn, run
from modelled_times import ALONE, ALONE_ON

import workbench as wb
from workbench import collection, paths
from workbench.collection.record import PortModule
from workbench.errors import CompileError, WorkbenchError
from workbench.operators import shape_text
from workbench.operators.modelled import Comparison, comparisons, key, times
from workbench.profile.expected import expected
from workbench.profile.launch import QUANTITIES
from workbench.targets import TILE_TARGETS

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
RESULTS = DATA / "collection_results.json"
SOURCE = "m8than/amd-kernels"
GPU = "MI325X"
SOURCES = "gfx942"
"""The target that the collection is written for."""
NAMES = "KITTENS_RV_TILE_LENGTH"
"""Macro for sources for CDNA3 that name register vectors as HipKittens does for CDNA4."""

STATES = {
    "ok": "works",
    "lds": "needs 160 KB of LDS",
    "bug": "wrong results",
    "crash": "crashes",
    "stub": "a stub",
    "ok (nonzero only)": "tested for not being zero",
    "ok (shapes only)": "tested for shapes",
}
"""The port on an MI325X, according to its KERNEL_STATUS.md and tests."""

HEAD = """# The collection

The [CDNA3 collection](https://github.com/m8than/amd-kernels) has 71 modules that were ported from AITER's
Triton kernels. The modules here take the same arguments and write to the same preallocated outputs, on gfx950
and gfx942:

```python
from workbench.collection import rmsnorm_tk, gemm_a8w8_tk

rmsnorm_tk.rmsnorm_fwd(x, w, out, 1e-5, N)
help(gemm_a8w8_tk.dispatch)  # its arguments, and the accepted orders
```

`workbench.collection.install()` makes `import rmsnorm_tk` work, so that existing code runs unchanged. If the
page and the binding have different orders of arguments, both are accepted and distinguished by dtypes and
shapes; if these do not decide, an error names the arguments. Nothing here has run on a GPU: results are from
the emulated targets.

Made by `python docs/made.py`."""


@dataclass(frozen=True)
class Row:
    """A row of the collection's table of modules."""

    number: int
    category: str
    module: str
    port: str


def rows() -> list[Row]:
    """The collection's 71 modules, in its order."""
    with (DATA / "collection_modules.csv").open(newline="", encoding="utf-8") as file:
        return [
            Row(int(record["row"]), record["category"], record["module"], record["port"])
            for record in csv.DictReader(file)
        ]


def stored() -> dict[str, Any]:
    """Results of cases by name and by target, and of the sources."""
    empty = {"cases": {}}
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else empty


def page(results: Mapping[str, Any]) -> str:
    """The document, as Markdown."""
    here = {module.name: module for group in collection.records().values() for module in group}
    return "\n".join(
        [
            HEAD,
            *_summary(here, results),
            *_modules(here, results),
            *_suite(),
            *_differences(here),
            *_sources(results),
            *_lines(),
            *_tables(),
            "",
        ]
    )


def _cases(module: str) -> list[str]:
    return [name for name in CASES if name.partition(".")[0] == module]


def _summary(here: Mapping[str, PortModule], results: Mapping[str, Any]) -> Iterator[str]:
    every = rows()
    missing = [row.module for row in every if row.module not in here]
    count = sum(len(module.functions) for module in here.values())
    yield ""
    yield (
        f"{len(every) - len(missing)} of {len(every)} modules are here: {count} functions, {len(CASES)} "
        "cases, each compared with PyTorch in float64 on both targets and in every order of arguments."
    )
    runs = [run for by_target in results["cases"].values() for run in by_target.values()]
    if runs:
        good, seconds = sum(not run["failure"] for run in runs), sum(run["seconds"] for run in runs)
        yield (
            f"Results exist for {len(runs)} of {len(CASES) * len(TILE_TARGETS)} runs of a case on a target: "
            f"{good} agree with PyTorch. The runs took {seconds / 60:.0f} minutes in sequence, including "
            "compilation, on a machine with other work."
        )
    if missing:
        yield f"Not here yet: {', '.join(missing)}."


def _modules(here: Mapping[str, PortModule], results: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Modules\n"
    yield (
        "| # | module | functions | operators | "
        + " | ".join(TILE_TARGETS)
        + f" | bounds | the port on MI325X | its source, sanitized on {collection_ports.TARGET} |"
    )
    yield "|" + " --- |" * (7 + len(TILE_TARGETS))
    ports = collection_ports.stored()
    category = ""
    for row in rows():
        if row.category != category:
            category = row.category
            yield f"| | **{category}** |" + " |" * (5 + len(TILE_TARGETS))
        module = here.get(row.module)
        cells = [str(row.number), f"`{row.module}`"]
        if module is None:
            cells += ["not here yet", "", *("" for _ in TILE_TARGETS), ""]
        else:
            cells += [_functions(module), _operators(module)]
            cells += [_result(row.module, arch, results) for arch in TILE_TARGETS]
            cells.append(_bounds(row.module))
        port = collection_ports.cell_text(ports.get(row.module, {}))
        yield f"| {' | '.join([*cells, STATES[row.port], port])} |"
    yield from _sanitized(ports)


def _sanitized(ports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield (
        "\nThe last column shows the collection's own sources, built as Python modules and called with "
        "the cases of this page (`python tests/collection_ports.py DIR`): how many results are right, "
        "and how many cases have findings of the sanitizer, by kind. The cases have our sizes: a source "
        "that accesses memory outside its tensors was written for other sizes, or is wrong, and its "
        "further findings are omitted. A race may be harmless, for example if two waves write the same "
        "value. A port that is documented as working but is wrong here because of a race depends on an "
        "order of waves that nothing guarantees. An example is `softmax_tk`: its waves read the maximum "
        "of a row from shared memory, where the first wave already writes the row's sum."
    )
    raced = {module: port for module, port in sorted(ports.items()) if "race" in port}
    yield "\n| module | right | the first race |\n| --- | --- | --- |"
    for module, port in raced.items():
        yield f"| `{module}` | {port['cases'].get('right', 0)} of {sum_of(port)} | {port['race']} |"


def sum_of(port: Mapping[str, Any]) -> int:
    """Number of a module's cases, right, wrong or out of bounds."""
    return sum(port["cases"].get(kind, 0) for kind in ("right", "wrong", "beyond"))


def _functions(module: PortModule) -> str:
    names = [function.name for function in module.functions]
    listed = ", ".join(f"`{name}`" for name in names[:7])
    return listed if len(names) <= 7 else f"{listed} and {len(names) - 7} more"


def _operators(module: PortModule) -> str:
    used = dict.fromkeys(use.operator for function in module.functions for use in function.uses)
    return ", ".join(f"`{name}`" for name in used) or "PyTorch on the host"


def _result(module: str, arch: str, results: Mapping[str, Any]) -> str:
    names = _cases(module)
    outcomes = [results["cases"].get(name, {}).get(arch) for name in names]
    finished = [outcome for outcome in outcomes if outcome is not None]
    if not finished:
        return f"{len(names)} cases"
    failed = sum(bool(outcome["failure"]) for outcome in finished)
    return f"{len(finished) - failed} of {len(names)} right" + (f", {failed} wrong" if failed else "")


def _bounds(module: str) -> str:
    bounds = set()
    for name in _cases(module):
        case = drawn(name, TILE_TARGETS[0], "1")
        exact = set(case.expected) <= case.exact
        bounds.add("equal" if exact else f"rtol {case.rtol:g}, atol {case.atol:g}")
        if not exact and case.exact:
            bounds.add("equal")
    return "; ".join(sorted(bounds))


def _differences(here: Mapping[str, PortModule]) -> Iterator[str]:
    yield "\n## Where functions differ from the port's\n"
    for module in sorted(here.values(), key=lambda port: port.row):
        by_reason: dict[str, list[str]] = {}
        for function in module.functions:
            if function.differs:
                by_reason.setdefault(function.differs, []).append(function.name)
        for why, names in by_reason.items():
            which = f"`{names[0]}`" + (f" and {len(names) - 1} like it" if len(names) > 1 else "")
            yield f"- `{module.name}`, {which}: {why}"


def _suite() -> Iterator[str]:
    yield "\n## Its own tests\n"
    yield (
        "The collection's four test files, unedited, with the modules here instead of its own "
        "(`python tests/collection_suite.py DIR --write`). The files skip five modules without a call, and "
        "one because it crashes, as they note; a module counts if one of its tests ran.\n"
    )
    yield from collection_suite.table(collection_suite.stored())


def _lines() -> Iterator[str]:
    root = paths.kernels_dir()
    yield "\n## Lines\n"
    yield (
        "Lines of code, without comments. A family has its C++ in headers, and the common parts of its specs "
        "in modules; a spec contains further C++ if it needs any. Operators of two families count for the "
        "first."
    )
    yield "\n| family | C++ | shared by specs | operators | their specs | a spec |"
    yield "| --- | --- | --- | --- | --- | --- |"
    families = _families()
    modules = {path: _family_of(path.stem, families) for path in root.glob("families/*.py")}
    for family, specs in sorted(families.items()):
        headers = _sum(root.glob(f"families/{family}*.cuh"))
        shared = _sum(path for path, of in modules.items() if of == family)
        lines = [_code(path) for path in specs]
        cells = [f"`{family}`", f"{headers:,}", f"{shared:,}", str(len(specs)), f"{sum(lines):,}"]
        yield f"| {' | '.join([*cells, f'{sum(lines) / len(lines):.0f}'])} |"
    references, bindings = root.glob("references/*.py"), ROOT / "workbench" / "collection"
    yield f"\nReferences: {_sum(references):,}. The collection's bindings: {_sum(bindings.rglob('*.py')):,}."


def _families() -> dict[str, list[Path]]:
    """Files of operators, by the first word of the first family header that their source includes."""
    families: dict[str, list[Path]] = {}
    for name, spec in wb.kernels.items():
        path = paths.kernels_dir() / f"{name}.py"
        match = re.search(r'"families/([a-z]+)', spec.read_source())
        if match and path.exists():
            families.setdefault(match[1], []).append(path)
    return families


def _family_of(module: str, families: Mapping[str, Sequence[Path]]) -> str:
    """The family most of whose operators use a module of `kernels/families`."""
    used = re.compile(rf"families(\.| import (.*, )?){module}\b")
    count = {name: sum(bool(used.search(p.read_text())) for p in specs) for name, specs in families.items()}
    return max(count, key=lambda name: count[name])


def _sum(files: Iterable[Path]) -> int:
    return sum(_code(path) for path in files)


def _code(path: Path) -> int:
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return sum(bool(line) and not line.startswith(("//", "*", "/*", "#!")) for line in lines)


def problems() -> list[tuple[str, Comparison]]:
    """Comparisons with the times that the collection publishes, each with the operator's name."""
    return [
        (name, comparison)
        for name, spec in wb.kernels.items()
        for comparison in comparisons(spec)
        if comparison.gpu == GPU and any(SOURCE in figure.source for figure in comparison.published.values())
    ]


def _tables() -> Iterator[str]:
    yield "\n## Its benchmark tables\n"
    launch = 1e6 * QUANTITIES["events"].seconds
    yield (
        f"Microseconds on {GPU}. The first three are from the collection's page, measured by events around a "
        "launch. The last two are from this repository's timing model, for the kernels here: the kernel's "
        f"time, and that time plus the {launch:g} us that events add, which is the one to compare. Modelled "
        "times are estimates; the last column says how far those of similar kernels were from published "
        "ones ([comparisons](model_error.md)). Nothing was measured here. No number: not modelled yet."
    )
    head = ("operator", "shape", "HipKittens port", "PyTorch", "AITER", "modelled kernel", "by events")
    yield f"\n| {' | '.join(head)} | may be off |"
    yield "|" + " --- |" * 8
    for name, comparison in problems():
        by = {who: figure.value for who, figure in comparison.published.items()}
        aiter = next((value for who, value in by.items() if who.startswith("AITER")), None)
        kernel = comparison.modelled and comparison.modelled.value
        events = None if kernel is None else kernel + launch
        cells = [by.get("HipKittens (port)"), by.get("PyTorch"), aiter, kernel, events]
        texts = ["" if value is None else f"{value:.1f}" for value in cells]
        yield f"| `{name}` | {shape_text(comparison.shape)} | {' | '.join(texts)} | {expected(name).short} |"

    yield (
        f"\nThe collection publishes no times of the gated delta rule. Modelled kernel times on {GPU}, with "
        "Qwen3-Next's heads: a decode step of one and of 64 sequences, prefills of 128 and 1,024 tokens."
    )
    yield "\n| operator | shape | modelled kernels | may be off |\n| --- | --- | --- | --- |"
    for name, shapes in ALONE.items():
        for shape in shapes if name.startswith("gated_delta/") else ():
            us = times().get(key(name, shape, ALONE_ON))
            text = "not modelled yet" if us is None else f"{us:.1f}"
            yield f"| `{name}` | {shape_text(shape)} | {text} | {expected(name).short} |"


def run_cases(results: dict[str, Any]) -> None:
    """Runs the cases without a result, and stores each result at once."""
    for name in CASES:
        for arch in TILE_TARGETS:
            if arch in results["cases"].get(name, {}):
                continue
            start, failure = time.monotonic(), ""
            try:
                run(name, arch, "1")
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"[:200]
            seconds = round(time.monotonic() - start, 1)
            results["cases"].setdefault(name, {})[arch] = {"failure": failure, "seconds": seconds}
            _store(results)
            print(name, arch, seconds, failure, flush=True)


def compile_sources(results: dict[str, Any], checkout: Path) -> None:
    """Compiles the device code of the collection's unmodified sources with our headers."""
    sys.path.append(str(ROOT / "tests" / "kernels"))
    from hipkittens_sources import first_error, host_headers

    files = {path.parent.name: path for path in sorted(checkout.glob("kernels/*/*/kernel.cpp"))}
    sources = results.setdefault("sources", {})
    for row in rows():
        path = files.get(row.module.removesuffix("_tk"))
        if path is None or row.module in sources:
            continue
        errors = sources[row.module] = {}
        for macros, kind in (([], "failure"), ([NAMES], "failure with macro")):
            errors[kind] = ""
            try:
                wb.compile(
                    path.read_text(encoding="utf-8"),
                    **{"arch": SOURCES, "name": str(path), "include": host_headers(), "timeout": 300.0},
                    define=["HIP_ENABLE_WARP_SYNC_BUILTINS", *macros],
                    flags=["-w", "-ferror-limit=1"],
                )
                break
            except CompileError as error:
                errors[kind] = first_error(error)[:160]
            except WorkbenchError as error:
                errors[kind] = str(error).splitlines()[0][:160]
        _store(results)
        print(row.module, errors["failure"] or "compiles", flush=True)


def _sources(results: Mapping[str, Any]) -> Iterator[str]:
    sources = results.get("sources", {})
    if not sources:
        return
    failed = {module: errors for module, errors in sources.items() if errors["failure"]}
    yield "\n## Its own sources\n"
    yield (
        f"{len(sources) - len(failed)} of the C++ sources of {len(sources)} modules compile unedited for "
        f"{SOURCES} with the headers here: the device code; the host's bindings are only parsed. They were "
        "not run."
    )
    if not failed:
        return
    yield (
        f"\nThe others compile with `-D{NAMES}`. They name a vector `rv<T, length, tile length, shape, "
        "layout>`, as HipKittens does for CDNA4, in code for CDNA3, where its headers have `rv<T, length, "
        "layout>`: no template parameter accepts both a number and a type, so the macro selects the meaning."
    )
    yield f"\n| module | the first error | with `-D{NAMES}` |\n| --- | --- | --- |"
    for module, errors in failed.items():
        yield f"| `{module}` | {errors['failure']} | {errors['failure with macro'] or 'compiles'} |"


def _store(results: Mapping[str, Any]) -> None:
    RESULTS.write_text(json_records.dumps(results, 2), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", action="store_true", help="run cases that have no result")
    parser.add_argument(
        "--sources", type=Path, help="a checkout of the collection, whose sources are compiled"
    )
    parser.add_argument("--again", action="store_true", help="forget the results that there are")
    options = parser.parse_args()
    results = {"cases": {}} if options.again else stored()
    if options.run:
        run_cases(results)
    if options.sources:
        compile_sources(results, options.sources)


if __name__ == "__main__":
    main()
