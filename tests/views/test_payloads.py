"""Names, source lines, messages and files are text on every page that the package writes.

A page with a payload is compared with the same page with a harmless text of the same length: both have the
same elements with the same attributes.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from markupsafe import escape

import workbench as wb
from tests import poison
from tests.every_result import every_result
from tests.poison import PAYLOADS, Page, harmless, poisoned
from workbench.bench.compare import Change, Regressions
from workbench.bench.run import BenchResult
from workbench.bench.tuning import Trial, TuneResult
from workbench.check.sanitizer import Finding, SanitizeResult
from workbench.display import Plotted, figure_of
from workbench.errors import CompileError, KernelFault, WorkbenchError
from workbench.events import Hub, hub
from workbench.history import recorder
from workbench.history.changes import Changes, CodeChange, CounterChange, Line
from workbench.history.results import History
from workbench.history.store import Store
from workbench.kernel.show import Moments
from workbench.lab.cell import cell_bundle, failure_bundle
from workbench.operators import KernelRegistry
from workbench.views import static_copy
from workbench.views.benchmark_page import write_all
from workbench.views.cell import CellFailure, CellResult
from workbench.views.gallery import samples
from workbench.views.listings import kernels_table
from workbench.views.live import Dashboard
from workbench.views.picture import svg_of
from workbench.views.run_summary import RunSummary

DEVICE = "emulated:gfx950"
SCALE = (
    "#include <hip/hip_runtime.h>\n"
    'extern "C" __global__ void scale(float* x, float by) { x[blockIdx.x * 64 + threadIdx.x] *= by; }'
)


def found_by_the_sanitizer() -> SanitizeResult:
    finding = Finding("race", "what", "a.hip", 3, 1, True, "v_mov", 8, (0, 0, 0), 1, 5, 64, 2, ("a.hip", 4))
    elsewhere = replace(finding, is_own=False, file="kittens.cuh", category="note")
    return SanitizeResult("scale", DEVICE, {"n": 64}, (finding, elsewhere), (elsewhere,), True, 0.1)


def changed() -> Changes:
    profile = samples.kept()["large"]
    lines = tuple(Line(edit, f"line {edit}") for edit in ("same", "renamed", "removed", "added", "skipped"))
    code = CodeChange("scale", lines, 1, 1, 1, (("VGPR", 64, 72),))
    return Changes(
        "#1 scale",
        "#2 scale",
        (profile.time, profile.time),
        (("device", "a", "b"), ("git", "", "c")),
        lines,
        (code,),
        (CounterChange("SQ_WAVES", "waves", 1, 2),),
        ("what is unknown",),
    )


def with_trials(tuned: TuneResult, trials: Sequence[Trial]) -> TuneResult:
    other = copy.copy(tuned)
    other.trials = tuple(trials)
    return other


def values() -> dict[str, Any]:
    """Results of every type that a page shows, without empty parts."""
    benched = samples.benchmark()
    row = benched.of(samples.GEMM)[0]
    slower, failed = replace(row, us=2 * row.us), replace(row, us=0.0, failure="why")
    tuned = samples.tuned()
    trials = [*tuned.trials, replace(tuned.trials[0], result=failed)]
    results = {name: result for name, result in every_result().items() if hasattr(result, "_repr_html_")}
    results |= {
        "TimeResult measured": samples.measured(),
        "TimeResult modelled": samples.timed(2048, 26.5),
        "SweepResult": samples.swept(),
        "SweepResult of shapes": samples.uneven(),
        "ProfileResult of the file": samples.kept()["large"],
        "VerifyResult wrong": samples.verified(broken=True),
        "TuneResult": with_trials(tuned, trials),
        "TuneResult of failures": with_trials(tuned, trials[-1:]),
        "BenchResult": BenchResult([*benched, failed]),
        "XcdMap": samples.dies(orders=2),
        "SanitizeResult": found_by_the_sanitizer(),
        "Changes": changed(),
        "Regressions": Regressions([Change(row, slower), Change(slower, row)], 0.03, ["a/b n=1"], ["c/d"]),
        "Timeline": results["ProfileResult"].timeline,
    }
    return results


LOOKED_UP = (
    ".edit", ".state", ".origin", ".spans.[].kind", ".spans.[].reason", ".error.key", ".again.base.parts.key",
    "._default.key", ".trials.[].shape.key", ".trials.[].shape.{}", "._arch",
)  # fmt: skip
"""Places of the package's own words in a result, by which a page selects its parts."""

LOOKED_UP_OF = {Moments: (".arch",)}
"""The same for one type only."""


@pytest.fixture(scope="module")
def sources() -> dict[str, Any]:
    return values()


class Pages(dict[str, str]):
    """Pages by name; the text before the first space is "html", "svg", or "texts": of a figure, as JSON."""

    def add(self, name: str, value: Any) -> None:
        """Adds all pages of a result."""
        self[f"html {name}"] = value._repr_html_()
        if isinstance(value, Plotted):
            self.figure(name, figure_of(value))

    def figure(self, name: str, figure: Any) -> None:
        """Adds a figure: its texts, which plotly takes for HTML of its own, and its picture."""
        tree = figure.to_plotly_json() if hasattr(figure, "to_plotly_json") else figure
        self[f"texts {name}"] = json.dumps(list(poison.texts(tree)))
        self[f"svg {name}"] = svg_of(figure)


def results_pages(pages: Pages, results: Mapping[str, Any]) -> None:
    """Adds the pages of single results."""
    for name, value in results.items():
        pages.add(name, value)


def report_pages(pages: Pages, results: Mapping[str, Any], text: str, folder: Path) -> None:
    """Adds a report of all results, and a benchmark's files."""
    items = [value for value in results.values() if not isinstance(value, CellResult)]
    page = wb.report(folder / "report.html", text, f"# {text}", *items, title=text).read_text()
    # plotly's own script is not searched.
    pages["html report"] = re.sub(r"<script[^>]*>/\*\*\n\* plotly.js .*?</script>", "", page, flags=re.S)
    _, markdown, index = write_all(results["BenchResult"], folder / "bench")
    pages["html benchmark"] = index.read_text()
    # Markdown lets HTML through.
    pages["html benchmarks.md"] = markdown.read_text()


def dashboard_pages(pages: Pages, results: Mapping[str, Any], text: str) -> None:
    """A dashboard after runs of a kernel with this name, and the copy of it in the notebook."""
    source = Hub()
    profile, time = results["ProfileResult of the file"], results["TimeResult measured"]
    source.publish("compile", text, {"arch": text, "code": text, "error": text})
    source.publish("profile", profile.name, profile)
    source.publish("time", time.name, time)
    failure = {"kind": text, "error": text, "device": text, "shape": {text: text}}
    source.publish("failed", text, failure)
    source.publish("print", text, {"text": text})
    sanitization = {
        "findings": 1,
        "first": text,
        "shape": {text: text},
        "device": text,
        "code": "",
        "details": (),
    }
    source.publish("sanitize", text, sanitization)
    live = Dashboard(source=source)
    try:
        live.board.take(
            replace(source.history()[-1], kind="progress", name=text, data={"done": 1, "total": 9})
        )
        live.board.show(1)
        live.pin()
        live.board.show(2)
        live.refresh()
        live.widgets.say(text, "wb-bad")
        live.widgets.write_stale(text)
        live.widgets.write_changes(changed_by(text)._repr_html_())
        live.wait()
        for name in ("progress", "summary", "status", "log", "stale", "changes"):
            pages[f"html dashboard's {name}"] = getattr(live.widgets, name).value
        pages["html dashboard's cards"] = live.widgets.cards.first.value + live.widgets.cards.tree.value
        views = live.views()
        pages["html copy"] = static_copy.note(text, views, live.widgets.cards.html)["text/html"]
        for view in views:
            pages[f"html card {view.key}"] = view.table
            pages[f"texts card {view.key}"] = json.dumps(list(poison.texts(json.loads(view.json))))
            pages[f"svg card {view.key}"] = svg_of(view.tree)
        pages["html run summary"] = RunSummary(live.board.runs[0])._repr_html_()
    finally:
        live.close()


def changed_by(text: str) -> Changes:
    return poisoned(changed(), text, LOOKED_UP)


def cell_pages(pages: Pages, results: Mapping[str, Any], text: str) -> None:
    """Adds outputs of cells with and without a result."""
    result = results["CellResult"]
    for name, outcome in (("fine", result), ("failed", replace(result, error=WorkbenchError(text)))):
        pages[f"html cell that {name}"] = cell_bundle(replace(outcome, name=text), text)["text/html"]
    fault = KernelFault(text, kernel=text, source=(text, 3, 1))
    failure = CellFailure.of_fault(text, fault, text)
    pages["html cell with a fault"] = failure_bundle(failure, text)["text/html"]


def compiled_pages(pages: Pages, text: str) -> None:
    """Adds pages with texts that went through the compiler: a file's name, a symbol, a warning, an error."""
    # A linker takes the text after an @ for a version.
    symbol = json.dumps(text.replace("@", ""), ensure_ascii=False)
    source = (
        f"#include <hip/hip_runtime.h>\n#warning {text.splitlines()[0]}\n"
        f"__global__ void scale(float* x, float by) __asm__({symbol});\n"
        "__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }\n"
    )
    file = f"{text.replace('/', '|')}.hip"
    module = wb.compile(source, arch="gfx950", name=file)
    (kernel,) = module.kernels.values()
    pages.add("module", module)
    pages.add("kernel", kernel)
    device = wb.device(DEVICE)
    pages.add("cell", CellResult(text, module, device, dict(module.kernels)))
    profile = wb.profile(kernel[1, 64], torch.ones(64), 2.0, device=device)
    pages.add("launched", profile)
    pages.add("sanitized", wb.sanitize(kernel[1, 64], torch.ones(64), 2.0, device=device))
    with pytest.raises(KernelFault) as stopped:
        kernel[64, 256](torch.ones(64), 2.0)
    pages["html stopped"] = CellFailure.of_fault(text, stopped.value, module.own_file)._repr_html_()
    with pytest.raises(CompileError) as refused:
        wb.compile(f"#error {text.splitlines()[0]}\n", arch="gfx950", name=file)
    pages["html refused"] = CellFailure.of_compilation(text, refused.value)._repr_html_()


def history_pages(pages: Pages, file: Path, text: str) -> None:
    """A file of runs with the text in each visible column."""
    with sqlite3.connect(file) as base:
        for table, column in (
            *(("run", name) for name in ("kernel", "device", "unit", "error", "revision", "branch")),
            *(("session", name) for name in ("notebook", "host", "python", "workbench")),
            *(("code", name) for name in ("name", "compiler", "options", "source")),
        ):
            base.execute(f"UPDATE {table} SET {column} = ? || ' ' || rowid", (text,))
        base.execute("UPDATE run SET shape = ?", (json.dumps({text: text}),))
        base.execute("UPDATE baseline SET name = ?", (text,))
    base.close()
    history = History(Store(file))
    pages.add("history", history)
    for run in history:
        pages.add(f"run {run.number}", run)
        if run.profile is not None:
            pages.add(f"profile of run {run.number}", run.profile)
    pages.add("comparison", history.compare(1, 2))


OPERATOR = """
from workbench.operators import Choice, KernelSpec, Launch, Range
spec = KernelSpec(
    name={name!r}, doc={text!r}, source="scale.cpp", entry="k",
    parameters={{"n": Range(64, 128, 64, doc={text!r}), "way": Choice(({text!r}, "b"), doc={text!r})}},
    shapes=[{{"n": 64, "way": {text!r}}}], inputs=lambda shape, generator: {{}},
    outputs=lambda shape, inputs: {{}}, reference=lambda: (), launch=lambda shape, arch: Launch(1, 64),
    shape_of=lambda: {{}},
)
"""


def library_pages(pages: Pages, text: str, folder: Path) -> None:
    """A library of a user's own operators."""
    category = text.replace("/", "|").replace(":", "|")
    (folder / category).mkdir()
    (folder / category / "scale.py").write_text(OPERATOR.format(name=f"{category}/scale", text=text))
    library = KernelRegistry(folder)
    pages.add("library", library)
    pages.add("kernels", kernels_table(library))
    pages.add("search", library.search())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of runs: two kernels' counters, a failure, a baseline."""
    path = tmp_path_factory.mktemp("history") / "runs.sqlite"
    recorder.stop()
    hub.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIPKITTENS_HISTORY", str(path))
        history = wb.history()
        for source in (SCALE, SCALE.replace("*= by", "+= by")):
            kernel = wb.compile(source, arch="gfx950", name="scale.hip")["scale"]
            wb.profile(kernel[1, 64], torch.ones(64), 2.0)
        with pytest.raises(KernelFault):
            wb.time(kernel[64, 64], torch.ones(64), 2.0)
        history.pin(1, "base")
        recorder.stop()
    hub.clear()
    return path


def all_pages(values: Mapping[str, Any], file: Path, text: str, folder: Path) -> Pages:
    """Pages of every kind, with `text` wherever content comes from a user or a file."""
    folder.mkdir()
    pages = Pages()
    results = {
        name: poisoned(value, text, LOOKED_UP + LOOKED_UP_OF.get(type(value), ()))
        for name, value in values.items()
    }
    results_pages(pages, results)
    report_pages(pages, results, text, folder)
    dashboard_pages(pages, results, text)
    cell_pages(pages, results, text)
    compiled_pages(pages, text)
    copy = folder / "runs.sqlite"
    shutil.copy(file, copy)
    history_pages(pages, copy, text)
    (folder / "library").mkdir()
    library_pages(pages, text, folder / "library")
    return pages


PLACES = {"transform", "style", "x", "y", "id"}


def elements(picture: str) -> set[tuple[str, str]]:
    """Elements and attributes of a picture, which has to be XML, without positions of texts."""
    root = ElementTree.fromstring(picture)
    return {
        (element.tag, name) for element in root.iter() for name in ("", *element.attrib) if name not in PLACES
    }


def attacks(name: str, page: str, clean: str) -> list[str]:
    """Elements of a page that differ from the page with harmless texts."""
    kind = name.partition(" ")[0]
    if kind == "svg":
        return sorted(map(str, elements(page) - elements(clean)))
    if kind == "texts":
        ours = {("br", ()), *(element for text in json.loads(clean) for element in Page(text).elements)}
        pages = {text: Page(text) for text in json.loads(page)}
        return [text for text, part in pages.items() if part.wrong or {*part.elements} - ours]
    actual, expected = Page(page), Page(clean)
    return [
        *actual.wrong,
        *map(str, differing(*(without_code(side.elements) for side in (actual, expected)))),
    ]


def without_code(elements: list[Any]) -> list[Any]:
    """Elements without the bare <code>, which backticks in a hint make and which does no harm."""
    return [element for element in elements if element != ("code", ())]


def differing(actual: list[Any], expected: list[Any]) -> Iterator[Any]:
    """The first element that differs, with those before it and both lengths."""
    if actual != expected:
        at = next((n for n, pair in enumerate(zip(actual, expected, strict=False)) if len(set(pair)) > 1), -1)
        yield actual[max(0, at - 3) : at + 1], expected[max(0, at - 3) : at + 1], len(actual), len(expected)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("text", PAYLOADS, ids=[f"payload{n}" for n in range(len(PAYLOADS))])
def test_texts_stay_texts(sources: dict[str, Any], file: Path, text: str, tmp_path: Path) -> None:
    pages = all_pages(sources, file, text, tmp_path / "payload")
    clean = all_pages(sources, file, harmless(text), tmp_path / "harmless")
    assert pages.keys() == clean.keys()
    assert len(pages) >= 80
    wrong = {name: faults for name in pages if (faults := attacks(name, pages[name], clean[name]))}
    assert not wrong, "\n".join(f"{name}: {faults[:3]}" for name, faults in wrong.items())[:3000]


@pytest.mark.parametrize(
    ("page", "least"), [("<p>{}</p>", 13), ('<p title="{}"></p>', 2), ("<p title='{}'></p>", 2)]
)
def test_what_is_not_escaped_is_found(page: str, least: int) -> None:
    caught = [text for text in PAYLOADS if attacks("html", page.format(text), page.format(harmless(text)))]
    assert len(caught) >= least, caught
    for text in PAYLOADS:
        assert attacks("html", page.format(escape(text)), page.format(harmless(text))) == []
