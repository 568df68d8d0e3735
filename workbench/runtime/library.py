"""Chooses the HIP library of this process and makes hip-python use it.

A machine with ROCm and an AMD GPU has AMD's libamdhip64; everywhere else, or where an emulated device is
asked for first, it is the emulator's. hip-python finds its library once, so a process keeps its first.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from workbench import errors

_KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


class Kind(Enum):
    """Whose HIP library."""

    GPU = "AMD's HIP library"
    EMULATED = "the emulated device's HIP library"


@dataclass(frozen=True, slots=True)
class GpuNode:
    """A GPU as the kernel driver lists it, before any HIP library is loaded."""

    ordinal: int
    arch: str


_lock = threading.RLock()
_used: Kind | None = None
_module: Any = None


def used() -> Kind | None:
    """The library that this process uses; None before the first use."""
    return _used


@cache
def gpus() -> tuple[GpuNode, ...]:
    """The AMD GPUs that HIP would list, from the driver's topology; none without ROCm's HIP library.

    HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES are followed where they list ordinals.
    """
    if not os.access("/dev/kfd", os.R_OK | os.W_OK) or find_library() is None:
        return ()
    found = []
    with contextlib.suppress(OSError):
        for node in sorted(_KFD_NODES.iterdir(), key=lambda path: int(path.name)):
            with contextlib.suppress(OSError):
                match = re.search(r"^gfx_target_version (\d+)$", (node / "properties").read_text(), re.M)
                version = int(match[1]) if match else 0
                if version:
                    major, minor, step = version // 10000, version // 100 % 100, version % 100
                    found.append(f"gfx{major}{minor:x}{step:x}")
    for variable in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        text = os.environ.get(variable)
        if text is not None:
            items = [item.strip() for item in text.split(",") if item.strip()]
            if all(item.isdecimal() for item in items):
                found = [found[int(item)] for item in items if int(item) < len(found)]
    return tuple(GpuNode(ordinal, arch) for ordinal, arch in enumerate(found))


@cache
def find_library() -> str | None:
    """Path or name of AMD's libamdhip64; None where there is none."""
    roots = [os.environ.get("ROCM_PATH"), os.environ.get("ROCM_HOME"), "/opt/rocm"]
    for root in filter(None, roots):
        path = Path(root) / "lib" / "libamdhip64.so"
        if path.exists():
            return str(path)
    with contextlib.suppress(Exception):
        from rocm_sdk import find_libraries  # type: ignore[import-not-found,unused-ignore]

        return str(find_libraries("amdhip64")[0])
    return ctypes.util.find_library("amdhip64")


def hip(kind: Kind) -> Any:
    """hip-python's hip module on a library of this kind, loaded at the first call.

    Raises:
        DeviceError: this process uses the other library already, or the library does not load.
        ToolchainError: the emulator's could not be built.
    """
    global _used, _module
    with _lock:
        if _used is not None and _used is not kind:
            other = "a GPU" if kind is Kind.GPU else "an emulated device"
            raise errors.DeviceError(
                f"this process already uses {_used.value}, and {other} needs {kind.value}: a process can use "
                "one of them. Restart the kernel (or the program) and choose the device first, with "
                "HIPKITTENS_DEVICE or wb.device(name)."
            )
        if _module is None:
            _module = _load(kind)
            _used = kind
        return _module


def _load(kind: Kind) -> Any:
    if kind is Kind.EMULATED:
        from workbench.emulator import hip as emulated
        from workbench.emulator.node.memory import usable_memory

        # Asked here too: behind the C API an exception is but a number.
        usable_memory()
        path = str(emulated.load().path)
    else:
        found = find_library()
        if found is None:
            raise errors.DeviceError(
                "no libamdhip64.so found: is ROCm installed? Set ROCM_PATH to its folder, or use an emulated "
                'device, such as wb.device("emulated:gfx950").'
            )
        path = found
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise errors.DeviceError(
                f"{path} does not load: {error}. Is the ROCm installation whole?"
            ) from error
    module: Any
    with _resolved_to(path):
        try:
            from hip import hip as module
        except ImportError as error:
            raise errors.DeviceError(
                f"hip-python does not load ({error}): run `python -m pip install hip-python`."
            ) from error
        # The library is looked up at the first call, not at the import.
        status, count = module.hipGetDeviceCount()
    if int(status) != 0:
        raise errors.DeviceError(f"{path} gives no device count: {status.name}.", int(status))
    if kind is Kind.EMULATED:
        _check_emulated(module, count)
    return module


def _check_emulated(module: Any, count: int) -> None:
    """Whether hip-python really reached the emulator: someone may have used it on another library before."""
    from workbench.emulator import hip as emulated
    from workbench.emulator.node.device import products

    if count != len(products()) or not emulated.was_called("hipGetDeviceCount"):
        raise errors.DeviceError(
            "hip-python was used in this process before the workbench, on another HIP library, and cannot "
            "change: restart the kernel (or the program) and import workbench first."
        )


@contextlib.contextmanager
def _resolved_to(path: str) -> Iterator[None]:
    """Newer hip-python looks for the library in ROCm's folders first; here it is told which to take."""
    try:
        from rocm.bindings.util import paths
    except ImportError:
        yield
        return
    original = paths.get_library_path

    def chosen(shortname: str, *args: Any, **kwargs: Any) -> bytes:
        return os.fsencode(path) if shortname == "amdhip64" else original(shortname, *args, **kwargs)

    paths.get_library_path = chosen
    try:
        yield
    finally:
        paths.get_library_path = original


def describe() -> str:
    """What HIP library this process uses or would use, for a person."""
    state = "in use" if _used else "would be used"
    if (_used or (Kind.GPU if gpus() else Kind.EMULATED)) is Kind.GPU:
        return f"AMD's, {find_library()} ({state})"
    return f"the workbench's own, on emulated devices ({state})"
