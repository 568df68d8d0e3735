"""An examination of a GPU as a page: agreements, differences, and the model's times over the GPU's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.display import shows
from workbench.hardware import SECTIONS, Report
from workbench.origin import Origin
from workbench.theme import GREY, SERIES
from workbench.views.badge import style
from workbench.views.html import report as page
from workbench.views.markup import NOTHING, block, bold, details, tag
from workbench.views.table import Cell, Table

_MARKS = {
    True: Cell("✓", "wb-ok"),
    False: Cell("look", "wb-bad"),
    None: Cell("", ""),
}
_HEAD = ("case", "", "found")
_SYMBOLS = ("circle", "diamond")


@shows(Report)
def report_html(report: Report) -> Markup:
    """The examined device, a summary, then each section, folded if all of its cases agree."""
    parts: list[Any] = [Table((), _facts(report)), _counted(report)]
    for name in report.sections:
        counts = report.counts(name)
        title = _title(name)
        endings = ", ".join(f"{count} {ending}" for ending, count in counts.items() if count)
        opened = bool(counts["differ"] or counts["not run"])
        inside = tag("div", _cases(report, name), kind="wb-branch")
        parts.append(details(bold(f"{title}: {endings}"), inside, opened=opened))
    if report.nothing:
        rows = [(_title(name), why) for name, why in report.nothing.items()]
        parts.append(Table(("section in which nothing ran", "why"), rows))
    if culprits := report.culprits():
        rows = [
            (name, ", ".join(opcodes) or "none that was tried alone") for name, opcodes in culprits.items()
        ]
        parts.append(Table(("operator with other bits", "its instructions with other bits"), rows))
    if errors := report.errors():
        parts.append(_errors(errors))
    return block(*parts)


def summary(reports: Sequence[Report]) -> Table:
    """A row for each section, a column for each report."""
    names = [name for name in SECTIONS if any(name in report.sections for report in reports)]
    rows = [
        (
            SECTIONS[name].title,
            *(
                ", ".join(f"{n} {ending}" for ending, n in report.counts(name).items() if n)
                or report.nothing.get(name, "")
                for report in reports
            ),
        )
        for name in names
    ]
    return Table(("", *(report.title for report in reports)), rows)


def _title(section: str) -> str:
    return SECTIONS[section].title if section in SECTIONS else section


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    form = "the quick form" if report.head["quick"] else "the whole"
    started = report.head["started"].replace("T", " ").replace("+00:00", " UTC")
    yield "examined", f"{started}, {form}, by version {report.head['version']}"
    setting = report.machine.get("setting", {})
    for part in ("compiler", "system", "processor"):
        if part in setting:
            yield part, setting[part]
    if versions := setting.get("versions"):
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())
    for part, state, text, _ in report.machine.get("doctor", ()):
        if state != "ok":
            yield part, text


def _counted(report: Report) -> Table:
    """A row for each section, a column for each way in which a case can end."""
    rows = []
    for name in (name for name in SECTIONS if name in report.sections):
        counts = report.counts(name)
        rows.append((SECTIONS[name].title, *(count or Cell("", "wb-num") for count in counts.values())))
    return Table(("", *report.counts("")), rows)


def _cases(report: Report, section: str) -> Markup:
    """Cases that differ, then those that did not run by reason, then the rest, folded if there are others."""
    looks: list[tuple[str, Cell, str]] = []
    others: list[tuple[str, Cell, str]] = []
    for name, case in report.sections[section].items():
        if "not run" in case:
            continue
        rows = looks if case.get("agrees") is False else others
        rows.append((name, _MARKS[case.get("agrees")], case["text"]))
    mark = Cell("not\N{NO-BREAK SPACE}run", "wb-warn")
    looks += [(whose, mark, why) for whose, why in report.not_run(section)]
    if not looks or not others:
        return Table(_HEAD, looks or others).__html__()
    return NOTHING.join((Table(_HEAD, looks), details(f"the other {len(others)}", Table(_HEAD, others))))


def _errors(errors: Sequence[tuple[str, int, float, float, float]]) -> Table:
    head = ("category", "times", "model over device, median", "80 % from", "to")
    return Table(head, errors, caption="How far the timing model is from this device")


def times_figure(reports: Sequence[Report]) -> Any:
    """The model's time over the device's, one point an operator and size; exact ones are on the line at 1."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    figure.add_hline(y=1, line={"color": GREY})
    for n, report in enumerate(reports):
        times = sorted(report.times(), key=lambda entry: entry[1])
        figure.add_trace(
            Scatter(
                x=[us for _, us, _ in times],
                y=[modelled / us for _, us, modelled in times],
                text=[name for name, _, _ in times],
                mode="markers",
                name=report.title,
                marker={"color": SERIES[n % len(SERIES)], "symbol": _SYMBOLS[n % len(_SYMBOLS)], "size": 9},
                hovertemplate="%{text}<br>%{x:,.4g} us, model %{y:.2f} of it<extra></extra>",
            )
        )
    figure.update_layout(
        xaxis={"title": "time on the examined device (us)", "type": "log", "dtick": 1},
        yaxis={"title": "model over device", "type": "log"},
        showlegend=len(reports) > 1,
        legend={"orientation": "h", "y": -0.25},
    )
    origins = {Origin(report.machine.get("origin", Origin.MODELLED)) for report in reports}
    return style(figure, sorted({*origins, Origin.MODELLED}), "The model's time over the examined device's")


def write_page(path: str | Path, *reports: Report) -> Path:
    """One report as a page, or several side by side."""
    title = "AMD GPU compared with the emulated device"
    return page(path, *_items(reports), title=title)


def _items(reports: Sequence[Report]) -> Iterator[Any]:
    yield _notes(reports)
    if len(reports) > 1:
        yield "# Side by side"
        yield _Shown(block(summary(reports)))
    if any(list(report.times()) for report in reports):
        yield times_figure(reports)
    for report in reports:
        yield f"# {report.title}"
        yield report


def _notes(reports: Sequence[Report]) -> str:
    emulated = [report for report in reports if str(report.head["subject"]).startswith("emulated")]
    text = (
        "Each case ran on the examined device and on the emulated one. Bits are compared one by one, "
        "counters that the emulated device counts must be equal, and a time agrees where it is in the range "
        "that the model states."
    )
    if emulated:
        text += (
            " The examined device is emulated here: its times are modelled, its counters counted, and "
            "none of it says anything about hardware."
        )
    return text


class _Shown:
    """HTML that a page takes as it is."""

    def __init__(self, html: Markup) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return str(self._html or NOTHING)
