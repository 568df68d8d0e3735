"""Tables of what there is: devices, kernels of the library, what the cache keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from workbench import cache, runtime
from workbench.display import shows
from workbench.spec import KernelRegistry, kernels
from workbench.views.markup import block
from workbench.views.table import Table


def devices_table() -> Table:
    """The devices that kernels can run on; a mark before the default one."""
    default = runtime.device().name
    rows = [("default" if d.name == default else "", d.name, d.arch, d.label) for d in runtime.devices()]
    return Table(("", "device", "target", "GPU"), rows)


def kernels_table(library: KernelRegistry = kernels) -> Table:
    """The operators of a library."""
    rows = []
    for name, spec in library.items():
        inputs = ", ".join(spec.signature.parameters)
        sizes = "; ".join(f"{key}: {p}" for key, p in spec.parameters.items())
        gradient = "" if spec.mutates else spec.backward or "autograd of the reference"
        rows.append((f"{name}({inputs})", ", ".join(spec.targets), sizes, gradient, spec.doc))
    return Table(("kernel", "targets", "shape", "gradient", ""), rows)


@shows(KernelRegistry)
def kernels_html(library: KernelRegistry) -> Markup:
    """The operators of a library."""
    return block(kernels_table(library))


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
