"""The page about kernels: every operator with its signature, targets, settings and flow of data.

The site has the whole page, `docs/kernels.md` only the operators by category.

python -m workbench.operators.catalogue_page
"""

from __future__ import annotations

import itertools
from pathlib import Path

from workbench.operators.catalogue import Entry
from workbench.operators.parameters import shape_text
from workbench.operators.registry import kernels

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"

INTRODUCTION = """# Kernels

`python -m workbench.operators.catalogue_page` makes this page from the specs in `kernels/`. In a notebook
`wb.kernels` shows each operator with its signature, settings and published times, and what this machine has
verified; search it with `wb.kernels.search("fp4", category="gemm")`. Call an operator as its signature says,
`wb.kernels["gemm/bf16"](a, b)`, or as an operator of PyTorch.
"""

CONVENTIONS = """
Brackets enclose a launch, and an arrow is what one launch passes to the next. Beside figures that others
published, you see what the [timing model](timing.md) gives for our kernel: its own time, to which events
around a launch add 4.5 us ([how far off](model_error.md) such times are). We measured nothing here.
"""


def summary() -> str:
    """The operators by category, as Markdown."""
    rows = [f"| {category} | {_names(entries)} |" for category, entries in _by_category().items()]
    site = "`make docs` builds the page that has a section for each operator."
    return "\n".join((INTRODUCTION, site, "", *TABLE, *rows, ""))


def document() -> str:
    """One section per operator, as Markdown."""
    categories = _by_category()
    rows = [f"| [{category}](#{category}) | {_names(entries)} |" for category, entries in categories.items()]
    lines = [INTRODUCTION + CONVENTIONS, *TABLE, *rows]
    for category, entries in categories.items():
        lines += ["", f"## {category}"]
        for entry in entries:
            lines += ["", *_section(entry)]
    return "\n".join((*lines, ""))


TABLE = ("| category | operators |", "| --- | --- |")


def _by_category() -> dict[str, list[Entry]]:
    entries = sorted((Entry.from_spec(spec) for spec in kernels.values()), key=lambda entry: entry.name)
    return {name: list(group) for name, group in itertools.groupby(entries, lambda entry: entry.category)}


def _names(entries: list[Entry]) -> str:
    return ", ".join(entry.name.partition("/")[2] for entry in entries)


def _section(entry: Entry) -> list[str]:
    settings = "; ".join(f"{name} {'/'.join(map(str, values))}" for name, values in entry.settings.items())
    facts = [f"for {', '.join(entry.targets)}"]
    if settings:
        facts.append(settings)
    if entry.variants:
        facts.append(f"variants {', '.join(entry.variants)}")
    return [
        f"### {entry.name}",
        "",
        f"`{entry.name}{entry.signature}`",
        "",
        entry.doc,
        "",
        f"- {entry.flow}",
        *(f"- {fact}" for fact in facts),
        *_compared(entry),
    ]


def _compared(entry: Entry) -> list[str]:
    """One row per problem: published figures, and the modelled time of our kernel."""
    if not entry.compared:
        return []
    return [
        "",
        "| problem | GPU | unit | published | modelled here |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {shape_text(comparison.shape)} | {comparison.gpu} | {comparison.best.unit} | "
            + ", ".join(f"{who} {figure.value:.5g}" for who, figure in comparison.published.items())
            + f" | {f'{comparison.modelled.value:.4g}' if comparison.modelled else 'not modelled yet'} |"
            for comparison in entry.compared
        ),
    ]


if __name__ == "__main__":
    PAGE.write_text(summary(), encoding="utf-8")
