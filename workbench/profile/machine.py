"""Choice of the product whose constants the timing model uses."""

from __future__ import annotations

from workbench import targets
from workbench.errors import UsageError, WorkbenchError
from workbench.launches import Hierarchy
from workbench.targets import Product


def machine(name: str, arch: str = "") -> Product:
    """The product whose constants the timing model takes.

    Args:
        name: name from HIP, or just "MI350X".
        arch: its target, whose usual product is used if the name is unknown.

    Raises:
        WorkbenchError: the product is unknown, or too little is known about it.
    """
    try:
        product = targets.product(name)
    except UsageError:
        if not any(arch == target.name for target in targets.TARGETS):
            raise
        product = targets.default_product(arch)
    memory_latency_cycles(product)
    return product


def untimed(machine: Product) -> str:
    """Why a product's launches have no time, in words."""
    return (
        f"no time is modelled for {machine.name} ({machine.arch}): too little is published about the "
        "latencies and rates of its units"
    )


def memory_latency_cycles(machine: Product) -> float:
    """Clocks that a load from the Infinity Cache takes.

    Raises:
        WorkbenchError: it is not known.
    """
    if not targets.is_timed(machine.target):
        raise WorkbenchError(
            f"{untimed(machine)}. wb.profile counts what the kernel does and gives a range. For a time, "
            f"compile it for {targets.NAMES[0]} or {targets.NAMES[1]}, or measure on a GPU."
        )
    if machine.memory_latency_ns is None:
        names = ", ".join(p.name for p in targets.PRODUCTS if p.memory_latency_ns is not None)
        raise WorkbenchError(
            f"the timing model does not know the memory latency of {machine.name} ({machine.arch}); it works "
            f"for {names}: choose one of these, or measure on a GPU."
        )
    return machine.memory_latency_ns * 1e-9 * machine.clock_hz


def hierarchy(machine: Product) -> Hierarchy:
    """The caches for `traffic`'s model.

    L2 and Infinity Cache are 16-way (AMD CDNA 3 white paper); 16 ways are assumed for L1.
    """
    return Hierarchy(
        xcds=machine.xcds,
        units=machine.units_per_xcd,
        l1_bytes=machine.target.l1_bytes,
        l2_bytes=machine.l2_bytes_per_xcd,
        mall_bytes=machine.infinity_cache_bytes,
    )
