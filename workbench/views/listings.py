"""Tables of devices, the library's kernels and the cache's entries."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping

from markupsafe import Markup

from workbench import cache, runtime
from workbench.check.verified_operators import verified
from workbench.display import shows
from workbench.operators import KernelRegistry, KernelSpec, kernels
from workbench.operators.catalogue import Entry, Selection
from workbench.operators.description import describe, example
from workbench.operators.parameters import shape_text
from workbench.profile.expected import expected
from workbench.views.badge import badge
from workbench.views.data_flow import data_flow_svg
from workbench.views.markup import block, code, details
from workbench.views.table import Table

LINE, LEAST = 100, 20
"""Characters of a terminal's line, and of a description, however long the names are."""


def devices_table() -> Table:
    """The devices that kernels can run on; a mark before the default one."""
    default = runtime.device().name
    rows = [("default" if d.name == default else "", d.name, d.arch, d.label) for d in runtime.devices()]
    return Table(("", "device", "target", "GPU"), rows)


def kernels_table(library: KernelRegistry = kernels) -> Table:
    """The operators of a library, in lines of at most `LINE` characters; `describe` says the rest of each."""
    # "gfx" once: five whole names would leave the line no room for a sentence.
    targets = {
        name: "gfx" + " ".join(target.removeprefix("gfx") for target in spec.targets)
        for name, spec in library.items()
    }
    taken = sum(max(map(len, texts), default=0) + len("  ") for texts in (targets, targets.values()))
    left = max(LINE - taken, LEAST)
    rows = [
        (name, targets[name], textwrap.shorten(spec.doc, left, placeholder=" ..."))
        for name, spec in library.items()
    ]
    return Table(("kernel", "targets", ""), rows)


@shows(KernelRegistry)
def kernels_html(library: KernelRegistry) -> Markup:
    """The operators of a library, by category."""
    return _catalogue(library, library.search())


@shows(KernelSpec)
def operator_html(spec: KernelSpec) -> Markup:
    """An operator's arguments, results and costs, and a runnable example call."""
    description = describe(spec)
    arguments, results, sizes = (
        Table(head, [(code(line.name), line.layout, line.text) for line in lines])
        for head, lines in (
            (("argument", "layout", ""), description.arguments),
            (("result", "layout", ""), description.results),
            (("size", "", ""), description.sizes),
        )
    )
    costs = []
    for shape in spec.shapes:
        work = spec.work(shape)
        numbers = (f"{work[quantity]:,}" if quantity in work else "" for quantity in ("flops", "bytes"))
        costs.append((shape_text(spec.shape(shape)), *numbers))
    return block(
        Markup("<p><b>{}</b> {}</p>").format(description.function, description.summary),
        arguments,
        results,
        Markup("<p>Gradients {}</p>").format(description.gradient),
        Markup("<pre>{}</pre>").format(example(spec)),
        details("sizes", sizes),
        details(
            "costs", block(Table(("shape", "operations", "bytes"), costs), _compared(Entry.from_spec(spec)))
        ),
        Markup("<p>{}</p>").format(description.source),
    )


@shows(Selection)
def selection_html(selection: Selection) -> Markup:
    """Operators that a search has found."""
    return _catalogue(kernels, selection)


def _catalogue(library: KernelRegistry, selection: Selection) -> Markup:
    """A table for each category; the only one stands open."""
    groups: dict[str, list[Entry]] = {}
    for entry in selection:
        groups.setdefault(entry.category, []).append(entry)
    sections = [
        details(f"{category}: {len(entries)}", _category_table(library, entries))
        for category, entries in groups.items()
    ]
    if len(sections) == 1:
        return block(_category_table(library, next(iter(groups.values()))))
    return block(f"{len(selection)} operators", *sections)


def _category_table(library: KernelRegistry, entries: Iterable[Entry]) -> Table:
    rows = []
    for entry in entries:
        settings = "; ".join(f"{name} {'/'.join(map(str, v))}" for name, v in entry.settings.items())
        rows.append(
            (
                code(f"{entry.name}{entry.signature}"),
                ", ".join(entry.targets),
                _verified(library, entry),
                settings,
                data_flow_svg(entry.links) if entry.links else entry.flow,
                _compared(entry),
                entry.doc,
            )
        )
    head = ("operator", "targets", "verified here", "settings", "data flow", "published and modelled", "")
    return Table(head, rows)


def _verified(library: KernelRegistry, entry: Entry) -> str:
    """Devices on which the current version of the operator passed verification on this machine."""
    if entry.name not in library:
        return ""
    devices = {arch: verified(library[entry.name], arch) for arch in entry.targets}
    return ", ".join(f"{arch} ({device})" for arch, device in devices.items() if device) or "not yet"


def _compared(entry: Entry) -> Markup | str:
    """Published figures beside modelled ones, and how far modelled times of such kernels were off."""
    if not entry.compared:
        return ""
    rows = [
        (
            shape_text(comparison.shape),
            comparison.gpu,
            ", ".join(f"{who} {figure.value:.5g}" for who, figure in comparison.published.items()),
            f"{comparison.modelled.value:.4g}" if comparison.modelled else "not yet",
            comparison.best.unit,
        )
        for comparison in entry.compared
    ]
    first = entry.compared[0]
    best = first.best
    summary = Markup("{} {:.4g} {} ({})").format(badge(best), best.value, best.unit, first.gpu)
    if first.modelled:
        summary += Markup("; {} {:.4g} {}, {}").format(
            badge(first.modelled), first.modelled.value, first.modelled.unit, expected(entry.name).short
        )
    table = Table(("problem", "GPU", "published", "modelled here", "unit"), rows)
    return summary + details(f"all {len(rows)}" if len(rows) > 1 else "whose", table)


def cache_table() -> Table:
    """The compilation cache's entries."""
    rows = [
        (usage.namespace, f"{usage.entries:,}", f"{usage.size / 2**20:,.1f} MiB") for usage in cache.usage()
    ]
    rows.append(("limit", "", f"{cache.limit() / 2**20:,.0f} MiB in {cache.folder()}"))
    return Table(("kept", "entries", "size"), rows)


LISTINGS: Mapping[str, Callable[[], Table]] = {
    "devices": devices_table,
    "kernels": kernels_table,
    "cache": cache_table,
}
"""By the word that asks for each."""
