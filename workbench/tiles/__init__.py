"""Location of a tile's elements, and LDS phases of its loads and stores, found by running them.

Nothing here describes a layout or a swizzle. A small kernel uses the tile library on elements that number
themselves, and an emulated device records the address of every lane of every access (`LaunchOptions.trace`).
Lanes, registers, addresses, phases and conflicts follow from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import DeviceError
from workbench.kernel import resolve_device
from workbench.tiles.kernels import compile_questions, kernel_name
from workbench.tiles.question import question
from workbench.tiles.result import LayoutResult, PhaseOf, Row, WaveAccess
from workbench.tiles.run import look

if TYPE_CHECKING:
    from workbench.runtime import Device

__all__ = ["LayoutResult", "PhaseOf", "Row", "WaveAccess", "view_layout"]


def view_layout(
    tile: str,
    access: str | None = None,
    register: str | None = None,
    *,
    group: int | None = None,
    at: Sequence[int] = (0, 0),
    columns: int | None = None,
    arch: str | None = None,
    device: Device | str | None = None,
) -> LayoutResult:
    """Shows the lane and register of each element of a tile, and the banks that an access uses.

        wb.view_layout("st_bf<64, 64, st_16x32_s>", access="load", register="rt_bf<16, 64>")
        wb.view_layout("rt_fl<32, 32, col_l, rt_32x32_s>")

    It compiles a kernel that makes the access with the tile library and observes it on an emulated device.
    The result is counted, never measured on a GPU.

    Args:
        tile: a type of the library: a register tile or vector, or a shared one.
        access: "load" or "store"; None for the layout alone. A shared tile exchanges data with `register` or,
            with `group`, with global memory; a register tile exchanges data with global memory.
        register: type of the register tile or vector; a smaller one takes part `at` of the shared tile.
        group: number of waves of `group<N>::load` or `group<N>::store`.
        at: part of the shared tile, as (row, column) in units of the register tile's size.
        columns: number of columns of the matrix in global memory; the tile's by default.
        arch: target, "gfx950" or "gfx942"; the device's by default.
        device: name of an emulated device; the default device, or the emulated one of `arch`.

    Returns:
        a LayoutResult: `.figure`, `.rows`, `.accesses`, `.summary`, `.conflicts`. A notebook draws it.

    Raises:
        UsageError: the library has no such type or combination; the message lists the valid ones.
        DeviceError: the device is a GPU, or there is no device of this target.
    """
    asked = question(tile, access, register, group, at, columns)
    where = _device(arch, device)
    module = compile_questions([asked], where.arch)
    return look(module, asked, kernel_name(0), where)


def _device(arch: str | None, device: Device | str | None) -> Device:
    where = resolve_device(device if device is not None or arch is None else f"emulated:{arch}")
    where.check_observes("where its lanes go")
    if arch is not None and where.arch != arch:
        raise DeviceError(f"{where.name} runs {where.arch}, not arch={arch!r}; give one of the two")
    return where
