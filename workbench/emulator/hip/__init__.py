"""The HIP C ABI of the emulated device: libamdhip64.so and libhiprtc.so, with functions in Python.

`load_all()` makes them the libraries that hip-python and compiled HIP programs find.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

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
from workbench.emulator.hip.library import HipLibrary, build, build_alias, function_names

_lock = threading.Lock()
_libraries: dict[str, HipLibrary] = {}


def _functions() -> dict[str, tuple[str, ...]]:
    """Exported functions of each library, in the order of its slots."""
    exported = function_names()
    rtc = {*hiprtc.CALLS, *(name for name in exported if name.startswith("hiprtc"))}
    return {"amdhip64": exported, "hiprtc": tuple(sorted(rtc))}


def build_all() -> Mapping[str, Path]:
    """Build the libraries unless the cache has them, and return their paths by name.

    Raises:
        ToolchainError: they could not be built.
    """
    return {name: build(name, exported) for name, exported in _functions().items()}


def load_all(paths: Mapping[str, Path] | None = None) -> Mapping[str, HipLibrary]:
    """Load the libraries for the whole process and install their functions; once.

    Args:
        paths: paths of the libraries by name, if the process has loaded them already; None: built if
            necessary.

    Returns:
        libraries by name, "amdhip64" and "hiprtc".

    Raises:
        ToolchainError: building them failed.
    """
    with _lock:
        if not _libraries:
            paths = paths or build_all()
            libraries = {
                name: HipLibrary(name, exported, paths[name]) for name, exported in _functions().items()
            }
            for entry in (*CALLS.values(), *hiprtc.CALLS.values()):
                answer = callback(entry)
                for library in libraries.values():
                    if entry.name in library.slots:
                        library.fill(entry.name, answer, returns_text=entry.result is POINTER)
            libraries["amdhip64"].fill_with_structure("hipCreateChannelDesc")
            set_finder(libraries["amdhip64"].address_of)
            _libraries.update(libraries)
        return _libraries


def load() -> HipLibrary:
    """The HIP library itself; see `load_all`."""
    return load_all()["amdhip64"]


__all__ = [
    "HipLibrary",
    "build_alias",
    "build_all",
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
