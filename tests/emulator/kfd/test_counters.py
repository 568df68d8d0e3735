"""Counters that a program selects by registers."""

from __future__ import annotations

import pytest

from workbench.emulator.kfd.counters import EVENTS, Counters
from workbench.emulator.kfd.library import ffi, shared
from workbench.errors import DeviceError
from workbench.profile.counters import COUNTERS

SQ_SELECT, TCP_SELECT, TA_SELECT = 0xD9C0, 0xDB40, 0xDAC0


def selected(arch: str, register: int, event: int) -> object:
    """What receives a launch while a program counts this event."""
    registers = ffi.new("uint32_t[]", shared.UCONFIG_END - shared.UCONFIG_START)
    registers[shared.CP_PERFMON_CNTL - shared.UCONFIG_START] = 1
    registers[register - shared.UCONFIG_START] = event
    return Counters(registers, arch, None).of_launch()


@pytest.mark.parametrize(("column", "arch"), [(0, "gfx942"), (1, "gfx950")])
def test_events_are_counters_of_the_profiler(column: int, arch: str) -> None:
    here = {name: numbers[column] for name, numbers in EVENTS.items() if numbers[column] is not None}
    assert set(here) <= {counter.name for counter in COUNTERS if counter.is_on(arch)}
    assert len({(name.partition("_")[0], number) for name, number in here.items()}) == len(here)


def test_what_is_not_counted_is_named() -> None:
    assert selected("gfx942", SQ_SELECT, 4) is not None
    with pytest.raises(
        DeviceError, match=r"event 5 of block SQ, .* on gfx942: choose one of SQ_BUSY_CYCLES, "
    ):
        selected("gfx942", SQ_SELECT, 5)
    with pytest.raises(DeviceError, match=r"event 1 of block TCP, .* on gfx950: choose one of TCP_"):
        selected("gfx950", TCP_SELECT, 1)
    with pytest.raises(DeviceError, match=r"the block with register 0xdac0, .* SQ, GRBM, TCP, TCC on gfx942"):
        selected("gfx942", TA_SELECT, 1)
    with pytest.raises(DeviceError, match=r"on gfx90a: it counts events of .* on gfx942 and gfx950"):
        selected("gfx90a", SQ_SELECT, 4)


def test_nothing_is_counted_before_the_start() -> None:
    registers = ffi.new("uint32_t[]", shared.UCONFIG_END - shared.UCONFIG_START)
    registers[SQ_SELECT - shared.UCONFIG_START] = 5
    assert Counters(registers, "gfx942", None).of_launch() is None
