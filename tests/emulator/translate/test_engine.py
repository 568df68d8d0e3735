"""Machine code in memory stays callable while it is referenced, whatever else is loaded and freed."""

from __future__ import annotations

import ctypes
from pathlib import Path

from workbench.emulator.translate import engine


def loaded(data: bytes) -> engine.LoadedCode:
    return engine.LoadedCode(data, [], ["seven"], 64)


def test_code_outlives_the_linkers_that_come_after_it() -> None:
    data = engine.compile_object(["define i32 @seven() #0 { ret i32 7 }"], [], [])
    first = loaded(data)
    for _ in range(200):
        loaded(data)
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(first.addresses["seven"])() == 7


def test_dropped_code_takes_no_memory() -> None:
    data = engine.compile_object(["define i32 @seven() #0 { ret i32 7 }"], [], [])

    def pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    for _ in range(300):
        loaded(data)
    before = pages()
    for _ in range(600):
        loaded(data)
    assert (pages() - before) * 4096 < 3 << 20
