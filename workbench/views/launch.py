"""A launch as a table: the kernel, its shape, its duration."""

from __future__ import annotations

from markupsafe import Markup

from workbench.codeobject.names import demangle, instance_name
from workbench.display import shows
from workbench.launches import LaunchRecord
from workbench.views.markup import block
from workbench.views.table import Table


@shows(LaunchRecord)
def launch_html(record: LaunchRecord) -> Markup:
    """Table of one launch."""
    grid, items = (" x ".join(map(str, dim)) for dim in (record.grid, record.block))
    facts = {
        "kernel": instance_name(demangle(record.kernel)),
        "device": record.device,
        "work-groups": grid,
        "work-items of each": items,
        "dynamic LDS, bytes": record.dynamic_shared,
        "s of this computer": record.wall_seconds,
        **({"of it, translation": record.translation_seconds} if record.translation_seconds else {}),
        **({"us, measured": record.elapsed.value} if record.elapsed is not None else {}),
    }
    return block(Table(tuple(facts), [tuple(facts.values())]))
