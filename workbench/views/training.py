"""Which modules of a model run on the kernels, as a table."""

from __future__ import annotations

from markupsafe import Markup

from workbench.display import shows
from workbench.integrations.used import Used
from workbench.views.markup import block
from workbench.views.table import Table


@shows(Used)
def used_html(used: Used) -> Markup:
    """A row for each kind of module."""
    head = ("module", "class", "count", "replaced", "by")
    return block(Table(head, [(r.path, r.kind, r.count, r.replaced or "left", r.by) for r in used.rows]))
