"""Tables of kernels and their resources, with what changed since a run before."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.views.badge import STYLE

if TYPE_CHECKING:
    from workbench.kernel import Kernel, Module, Resources

COLUMNS: Mapping[str, str] = {
    "vgprs": "VGPR",
    "agprs": "AGPR",
    "sgprs": "SGPR",
    "lds": "LDS B",
    "scratch": "scratch B",
    "vgpr_spills": "VGPR spills",
    "sgpr_spills": "SGPR spills",
}
"""Attributes of `Resources` and their headings."""


def kernel_table(kernels: Iterable[Kernel], before: Mapping[str, Kernel] | None = None) -> str:
    """HTML table of kernels.

    Args:
        before: kernels of the run before by name; what differs is shown as "+8" or "-16" beside it.
    """
    head = "".join(f"<th>{h}</th>" for h in ("kernel", *COLUMNS.values(), "waves/SIMD", "limited by"))
    rows = []
    for kernel in kernels:
        now = kernel.resources
        old = _at_same_launch((before or {}).get(kernel.name), now)
        cells = [f'<td title="{html.escape(kernel.signature)}">{html.escape(kernel.name)}</td>']
        for attribute in COLUMNS:
            cells.append(_cell(getattr(now, attribute), getattr(old, attribute) if old is not None else None))
        fits = now.occupancy
        cells.append(_cell(fits.waves_per_simd, old.occupancy.waves_per_simd if old is not None else None))
        cells.append(f"<td>{html.escape(fits.limit)} at {now.block} work-items</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'{STYLE}<div class="wb"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _cell(value: Any, before: Any) -> str:
    text = f"{value:,g}" if isinstance(value, float) else f"{value:,}"
    if before is not None and before != value:
        text += f' <span class="wb-warn">({value - before:+,g})</span>'
    return f'<td class="wb-num">{text}</td>'


def _at_same_launch(before: Kernel | None, now: Resources) -> Resources | None:
    """Resources of the kernel before, its occupancy for the same work-group: only the code is to differ.

    None where such a work-group of it does not fit.
    """
    if before is None:
        return None
    try:
        return before.resources_at(now.block, now.dynamic_shared)
    except WorkbenchError:
        return None


def changes(kernel: Kernel, last: Kernel | None) -> str:
    """What differs between two runs as text, such as "VGPR 64 (+8)"; "" where nothing does."""
    now = kernel.resources
    before = _at_same_launch(last, now)
    if before is None:
        return ""
    found = []
    for attribute, name in COLUMNS.items():
        new, old = getattr(now, attribute), getattr(before, attribute)
        if new != old:
            found.append(f"{name} {new} ({new - old:+d})")
    new_waves, old_waves = now.occupancy.waves_per_simd, before.occupancy.waves_per_simd
    if new_waves != old_waves:
        found.append(f"waves/SIMD {new_waves:g} ({new_waves - old_waves:+g})")
    return ", ".join(found)


def module_table(module: Module) -> str:
    """A module's kernels as HTML."""
    title = f"{html.escape(module.name)} for {html.escape(module.arch)}"
    return f'{STYLE}<div class="wb"><b>{title}</b></div>{kernel_table(module.kernels.values())}'
