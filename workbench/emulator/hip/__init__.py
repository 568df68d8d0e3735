"""The HIP C ABI of the emulated device: a libamdhip64.so in this process whose functions are Python's.

`load()` makes it the library that hip-python and compiled HIP programs find.
"""

from __future__ import annotations

import threading

from workbench.emulator.hip import (
    devices,
    functions,
    graphs,
    launches,
    memory,
    modules,
    pools,
    programs,
    streams,
)
from workbench.emulator.hip.calls import (
    CALLS,
    POINTER,
    callback,
    set_finder,
    take_exception,
    take_launch_failure,
    was_called,
)
from workbench.emulator.hip.library import HipLibrary, build

_lock = threading.Lock()
_library: HipLibrary | None = None


def load() -> HipLibrary:
    """Build the library if need be, load it for the whole process and fill its functions; once.

    Raises:
        ToolchainError: it could not be built.
    """
    global _library
    with _lock:
        if _library is None:
            library = HipLibrary(build())
            for entry in CALLS.values():
                library.fill(entry.name, callback(entry), returns_text=entry.result is POINTER)
            set_finder(library.address_of)
            _library = library
        return _library


__all__ = [
    "HipLibrary",
    "devices",
    "functions",
    "graphs",
    "launches",
    "load",
    "memory",
    "modules",
    "pools",
    "programs",
    "streams",
    "take_exception",
    "take_launch_failure",
    "was_called",
]
