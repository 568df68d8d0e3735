"""Builds the two C libraries: the one in the program's process, and the queues of the device."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workbench.emulator.native import abi
from workbench.toolchain.headers import declared
from workbench.toolchain.native import build

_HERE = Path(__file__).parent
_HEADERS = [_HERE / "shared.h", _HERE / "events.h"]
_QUEUES = _HERE / "queues.c"


_FUNCTIONS = re.findall(r"^EXPORT ([^{;]+?) \{", _QUEUES.read_text(), re.MULTILINE)

ffi = declared(_HEADERS[0], f"\ntypedef struct Queue Queue;\n{';'.join(_FUNCTIONS)};")
shared: Any = ffi.dlopen(None)
"""The numbers of shared.h, by name."""


def build_interposer() -> Path:
    """Path of the library for LD_PRELOAD; built unless the cache has it. Raises as `build`."""
    depends = [*_HEADERS, abi.HEADER]
    return build("driver", [_HERE / "interposer.c"], depends=depends, soname="libhipkittens-driver.so")


def build_queues() -> Path:
    """Path of the library of the device's queues; built unless the cache has it. Raises as `build`."""
    return build("queues", [_QUEUES], depends=_HEADERS)


def load_queues() -> Any:
    """The functions of queues.c. Raises as `build`."""
    return ffi.dlopen(str(build_queues()))


__all__ = ["build_interposer", "build_queues", "ffi", "load_queues", "shared"]
