"""A benchmark as files: JSON, Markdown with pictures, and a page that opens anywhere."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.bench.cases import Analysis
from workbench.bench.results import OURS, to_json
from workbench.bench.run import BenchResult
from workbench.origin import Origin
from workbench.views.benchmarks import (
    analyses_of,
    analysis_bars,
    analysis_figure,
    bars_of,
    bench_table,
    operator_bars,
    operator_lines,
    roofline,
)
from workbench.views.html import report
from workbench.views.picture import svg_of
from workbench.views.table import Table


def write_all(result: BenchResult, folder: str | Path) -> list[Path]:
    """Writes results.json, benchmarks.md with its pictures, and index.html.

    Returns:
        the files, without pictures.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    results_file = root / "results.json"
    results_file.write_text(to_json(list(result)), encoding="utf-8")
    page = root / "benchmarks.md"
    page.write_text(markdown(result, root, "figures"), encoding="utf-8")
    return [results_file, page, report(root / "index.html", *_items(result), title=title_of(result))]


def title_of(result: BenchResult) -> str:
    """Title such as "Benchmarks: modelled on MI355X"."""
    return f"Benchmarks: {result.title}"


def _items(result: BenchResult) -> Iterator[Any]:
    yield notes(result)
    yield roofline(result)
    for analysis in analyses_of(result):
        yield f"# {analysis.title}"
        yield analysis_figure(analysis, list(result))
        yield f"{analysis.source}. {analysis.note}"
    for operator in _timed(result):
        yield f"# {operator}"
        if _compares(result, operator):
            yield operator_bars(result, operator)
        if _several(result, operator):
            yield operator_lines(result, operator)
        yield bench_table(result, operator)


def _timed(result: BenchResult) -> list[str]:
    return [name for name in result.operators if any(not record.failure for record in result.of(name))]


def _compares(result: BenchResult, operator: str) -> bool:
    """True if the operator's figure would have more than one bar."""
    return len(bars_of(result, operator)[0]) > 1


def _several(result: BenchResult, operator: str) -> bool:
    return len({repr(record.shape) for record in result.of(operator) if not record.failure}) > 2


def notes(result: BenchResult) -> str:
    """A paragraph that explains how the benchmark's times were obtained."""
    origins = {record.origin for record in result if not record.failure}
    parts = []
    if str(Origin.MODELLED) in origins:
        parts.append(
            "Modelled times are computed from what an emulated device executed; no GPU was used. How far "
            "they may be off is shown beside each (docs/model_error.md); nothing is known about operators "
            "that were never compared. They are kernel times, as a profiler reports them; published ones are "
            "mostly of events around a launch, some 4.5 us more."
        )
    if str(Origin.MEASURED) in origins:
        parts.append(
            "Measured times are of HIP events around each launch, caches cleared before it, medians with 10% "
            "and 90% quantiles."
        )
    if str(Origin.EMULATED) in origins:
        parts.append(
            "Emulated times are by the clock of software that plays a GPU beneath AMD's libraries; they say "
            "nothing about a GPU's speed."
        )
    parts.append(
        "Every implementation was compared with the reference before it was timed, at the shape that is "
        "named: the problem itself, or a smaller one that runs the same code."
    )
    return " ".join(parts)


def markdown(result: BenchResult, root: Path, pictures: str) -> str:
    """The page as Markdown; pictures go to the folder `pictures` below `root`."""
    folder = root / pictures
    folder.mkdir(parents=True, exist_ok=True)

    def picture(name: str, figure: Any) -> str:
        figure.update_layout(width=900, height=420)
        (folder / f"{name}.svg").write_text(svg_of(figure), encoding="utf-8")
        return f"![{figure.layout.title.text}]({pictures}/{name}.svg)"

    parts = [f"# {_said(title_of(result))}", notes(result), picture("roofline", roofline(result))]
    if analyses := analyses_of(result):
        parts += _comparison(analyses, result)
    for analysis in analyses:
        source = _said(f"Published: {analysis.source}. {analysis.note}".strip())
        parts += [
            f"### {_said(analysis.title)}",
            picture(analysis.key, analysis_figure(analysis, list(result))),
            source,
        ]
    parts.append("## Operator by operator")
    for operator in result.operators:
        parts.append(f"### {_said(operator)}")
        name = re.sub(r"[^\w.,:=\[\]-]", "-", operator)
        if operator in _timed(result):
            if _compares(result, operator):
                parts.append(picture(name, operator_bars(result, operator)))
            if _several(result, operator):
                parts.append(picture(f"{name}-sizes", operator_lines(result, operator)))
        parts.append(pipes(bench_table(result, operator)))
    return "\n\n".join(parts) + "\n"


def summary(result: BenchResult, source: str) -> str:
    """A short Markdown page without pictures: the kind of times, and a comparison with HipKittens' figures.

    Args:
        source: one sentence on how the results were obtained.
    """
    parts = [f"# {_said(title_of(result))}", source, notes(result)]
    if analyses := analyses_of(result):
        parts += _comparison(analyses, result)
    return "\n\n".join(parts)


def _comparison(analyses: Sequence[Analysis], result: BenchResult) -> list[str]:
    return ["## HipKittens' figures, published and ours", pipes(_summary(analyses, result))]


def _summary(analyses: Sequence[Analysis], result: BenchResult) -> Table:
    """One row per published figure: the range of our time, modelled or measured, over HipKittens' own."""
    rows = []
    for analysis in analyses:
        bars, _ = analysis_bars(analysis, list(result))
        ours = {bar.x: bar.us for bar in bars if bar.who == OURS}
        theirs = {bar.x: bar.us for bar in bars if bar.who == "HipKittens"}
        ratios = [ours[x] / theirs[x] for x in ours if x in theirs]
        span = (
            " to ".join(dict.fromkeys(f"{ratio:.2f}" for ratio in (min(ratios), max(ratios))))
            if ratios
            else ""
        )
        rows.append((analysis.title, analysis.gpu, f"{len(ours)} of {len(analysis.points)}", span))
    return Table(("figure", "GPU", "points with ours", "our time over HipKittens' published"), rows)


def pipes(table: Table) -> str:
    """A table as Markdown."""
    lines = [f"| {' | '.join(table.head)} |", f"|{' --- |' * len(table.head)}"]
    lines += [f"| {' | '.join(_said(cell.text).replace('|', '/') for cell in row)} |" for row in table.rows]
    return "\n".join(lines)


def _said(text: str) -> str:
    """Text escaped for Markdown, which would pass HTML through."""
    return html.escape(text, quote=False)
