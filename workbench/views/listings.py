"""Tables of what there is: devices, kernels of the library, what the cache keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench import cache, runtime
from workbench.spec import kernels
from workbench.views.table import Table


def devices_table() -> Table:
    """The devices that kernels can run on; a mark before the default one."""
    default = runtime.device().name
    rows = [("default" if d.name == default else "", d.name, d.arch, d.label) for d in runtime.devices()]
    return Table(("", "device", "target", "GPU"), rows)


def kernels_table() -> Table:
    """The kernel library."""
    rows = []
    for name in kernels:
        spec = kernels[name]
        sizes = "; ".join(f"{key}: {p}" for key, p in spec.parameters.items())
        rows.append((name, ", ".join(spec.targets), sizes, spec.doc))
    return Table(("kernel", "targets", "shape", ""), rows)


def cache_table() -> Table:
    """What is kept of earlier compilations."""
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
