"""Tables of kernels and their resources, with the changes since a previous run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from workbench.display import shows
from workbench.errors import WorkbenchError
from workbench.kernel import Kernel, Kernels, Module, Resources
from workbench.kernel.resources import HEADINGS
from workbench.views.markup import block, bold, tag
from workbench.views.table import Cell, Table


def kernel_table(kernels: Iterable[Kernel], before: Mapping[str, Kernel] | None = None) -> Table:
    """Table of kernels.

    Args:
        before: kernels of the previous run by name; differences are shown as "+8" or "-16".
    """
    head = ("kernel", *HEADINGS.values(), "waves/SIMD", "limit")
    rows = [_row(kernel, (before or {}).get(kernel.name)) for kernel in kernels]
    return Table(head, rows)


def _row(kernel: Kernel, before: Kernel | None) -> list[Cell]:
    now = kernel.resources
    old = _at_same_launch(before, now)
    cells = [Cell(kernel.name, tip=kernel.signature)]
    for attribute in HEADINGS:
        cells.append(_changed(getattr(now, attribute), getattr(old, attribute) if old is not None else None))
    fits = now.occupancy
    cells.append(_changed(fits.waves_per_simd, old.occupancy.waves_per_simd if old is not None else None))
    return [
        *cells,
        Cell(f"{'none' if fits.is_full else fits.limit} at {now.block} work-items", "wb-line"),
    ]


def _changed(value: Any, before: Any) -> Cell:
    text = f"{value:,g}" if isinstance(value, float) else f"{value:,}"
    if before is None or before == value:
        return Cell(text, "wb-num")
    change = tag("span", f"({value - before:+,g})", kind="wb-warn")
    return Cell(Markup("{} {}").format(text, change), "wb-num")


def _at_same_launch(before: Kernel | None, now: Resources) -> Resources | None:
    """Resources of the previous kernel, with its occupancy for the same work-group, so that only the code
    differs.

    None if such a work-group of it does not fit.
    """
    if before is None:
        return None
    try:
        return before.resources_at(now.block, now.dynamic_shared)
    except WorkbenchError:
        return None


def changes(kernel: Kernel, last: Kernel | None) -> tuple[str, ...]:
    """Differences between two runs, each such as "VGPR 64 (+8)"."""
    now = kernel.resources
    before = _at_same_launch(last, now)
    if before is None:
        return ()
    differences = []
    for attribute, name in HEADINGS.items():
        new, old = getattr(now, attribute), getattr(before, attribute)
        if new != old:
            differences.append(f"{name} {new} ({new - old:+d})")
    new_waves, old_waves = now.occupancy.waves_per_simd, before.occupancy.waves_per_simd
    if new_waves != old_waves:
        differences.append(f"waves/SIMD {new_waves:g} ({new_waves - old_waves:+g})")
    return tuple(differences)


@shows(Kernel)
def kernel_html(kernel: Kernel) -> Markup:
    """Table of a kernel's resources."""
    return block(kernel_table([kernel]))


@shows(Module, Kernels)
def module_html(module: Module | Kernels) -> Markup:
    """Table of the resources of a module's kernels."""
    return block(bold(f"{module.name} for {module.arch}"), kernel_table(module.kernels.values()))
