"""The HIP C ABI of the emulated device: a libamdhip64.so and a libhiprtc.so whose functions are Python's.

`load_all()` makes them the libraries that hip-python and compiled HIP programs find.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from workbench.emulator.hip import (
    devices,
    functions,
    graphs,
    hiprtc,
    launches,
    memory,
    modules,
    pools,
    programs,
    streams,
    textures,
    virtual_memory,
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
from workbench.emulator.hip.library import HipLibrary, function_names

_lock = threading.Lock()
_libraries: dict[str, HipLibrary] = {}


def load_all() -> Mapping[str, HipLibrary]:
    """Build the libraries if need be, load them for the whole process and fill their functions; once.

    Returns:
        them by name, "amdhip64" and "hiprtc".

    Raises:
        ToolchainError: they could not be built.
    """
    with _lock:
        if not _libraries:
            made = {
                "amdhip64": HipLibrary("amdhip64", function_names()),
                "hiprtc": HipLibrary("hiprtc", tuple(sorted(hiprtc.CALLS))),
            }
            for library, calls in zip(made.values(), (CALLS, hiprtc.CALLS), strict=True):
                for entry in calls.values():
                    library.fill(entry.name, callback(entry), returns_text=entry.result is POINTER)
            made["amdhip64"].fill_with_structure("hipCreateChannelDesc")
            set_finder(made["amdhip64"].address_of)
            _libraries.update(made)
        return _libraries


def load() -> HipLibrary:
    """The HIP library itself; see `load_all`."""
    return load_all()["amdhip64"]


__all__ = [
    "HipLibrary",
    "devices",
    "functions",
    "graphs",
    "hiprtc",
    "launches",
    "load",
    "load_all",
    "memory",
    "modules",
    "pools",
    "programs",
    "streams",
    "take_exception",
    "take_launch_failure",
    "textures",
    "virtual_memory",
    "was_called",
]
