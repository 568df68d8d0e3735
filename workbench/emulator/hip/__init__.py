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
    linker,
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
    threads_begin_here,
    was_called,
)
from workbench.emulator.hip.library import HipLibrary, build, function_names

_lock = threading.Lock()
_libraries: dict[str, HipLibrary] = {}


def _functions() -> dict[str, tuple[str, ...]]:
    """What each library exports, in the order of its slots."""
    return {"amdhip64": function_names(), "hiprtc": tuple(sorted(hiprtc.CALLS))}


def build_all() -> None:
    """Build the libraries unless the cache has them; raises ToolchainError where they could not be built."""
    for name, exported in _functions().items():
        build(name, exported)


def load_all() -> Mapping[str, HipLibrary]:
    """Build the libraries if need be, load them for the whole process and fill their functions; once.

    Returns:
        them by name, "amdhip64" and "hiprtc".

    Raises:
        ToolchainError: they could not be built.
    """
    with _lock:
        if not _libraries:
            made = {name: HipLibrary(name, exported) for name, exported in _functions().items()}
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
    "linker",
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
    "threads_begin_here",
    "virtual_memory",
    "was_called",
]
