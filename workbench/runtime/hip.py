"""HIP's functions, on AMD's library or the emulator's, called through hip-python or, without it, cffi.

hip-python finds its library once, so a process keeps the one that it uses first.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, Protocol

from workbench.errors import DeviceError, LaunchError, UsageError, WorkbenchError
from workbench.runtime.hip_cffi import HipByCffi

# hipError_t values that say that a launch's shape or resources do not fit.
_LAUNCH_CODES = (9, 701, 720)
# AMD's hipModuleLaunchKernel and its like return this for a block or an LDS size beyond the device's limit.
_INVALID_VALUE = 1
_NO_DEVICE = 100


class HipLaunchError(LaunchError):
    """A launch that HIP refused with a number alone."""


class Library(Protocol):
    """A HIP library that a binding can be made to use.

    Attributes:
        title: name of the library in messages.
        device_title: name of its kind of device in messages.
    """

    title: str
    device_title: str

    def __hash__(self) -> int: ...

    def describe(self) -> str:
        """Description of the library for messages."""

    def load(self) -> Mapping[str, str]:
        """Loads it for the whole process; returns files by hip-python's names, the first "amdhip64".

        Raises:
            DeviceError: there is none, or it does not load.
            ToolchainError: building the library failed.
        """

    def check_reached(self, device_count: int) -> None:
        """Raises an error unless this library returned the number of devices.

        Raises:
            DeviceError: another library did.
        """

    def failure(self) -> BaseException | None:
        """The exception behind this thread's last failed call, once; None if only its number is known."""


_lock = threading.RLock()
_used: Library | None = None
_module: Any = None


def used() -> Library | None:
    """The library that this process uses; None before the first use."""
    return _used


def api(library: Library) -> Any:
    """A library's functions, in the form of hip-python's module, loaded at the first call.

    Raises:
        DeviceError: this process uses another library already, or the library does not load.
        ToolchainError: the emulator's could not be built.
    """
    global _used, _module
    with _lock:
        if _used is not None and _used is not library:
            raise DeviceError(
                f"this process already uses {_used.title}, and {library.device_title} needs "
                f"{library.title}: a process can use one of them. Restart the kernel (or the program) and "
                "choose the device first, with HIPKITTENS_DEVICE or wb.device(name)."
            )
        if _module is None:
            _module = _load(library)
            _used = library
        return _module


def _load(library: Library) -> Any:
    files = library.load()
    path = files["amdhip64"]
    module = BINDINGS[binding()](files)
    status, count = module.hipGetDeviceCount()
    if int(status) == _NO_DEVICE:
        raise DeviceError(
            f"{path} finds no GPU ({status.name}): are /dev/kfd and /dev/dri there, and this user in the "
            "groups video and render (a container needs --device /dev/kfd --device /dev/dri)? Does "
            "HIP_VISIBLE_DEVICES hide them? To do without a GPU, restart with HIPKITTENS_DEVICE=emulated.",
            int(status),
        )
    if int(status) != 0:
        raise DeviceError(f"{path} gives no device count: {status.name}.", int(status))
    library.check_reached(count)
    return module


BINDING = "HIPKITTENS_BINDING"
"""Environment variable: which of `BINDINGS` calls HIP."""


def binding() -> str:
    """Binding to HIP: hip-python if installed, otherwise cffi; HIPKITTENS_BINDING overrides it.

    Raises:
        UsageError: the value is neither.
    """
    asked = os.environ.get(BINDING, "")
    if asked not in ("", *BINDINGS):
        raise UsageError(f"{BINDING} is {asked!r}; expected {' or '.join(BINDINGS)}")
    return asked or (_HIP_PYTHON if _is_there("hip") else _CFFI)


def _is_there(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    # A folder of that name, such as one with kernels, is not a package.
    return spec is not None and spec.origin is not None


def _by_hip_python(files: Mapping[str, str]) -> Any:
    module: Any
    with _resolved_to(files):
        try:
            from hip import hip as module

            compiler: Any = importlib.import_module("hip").hiprtc
        except ImportError as error:
            raise DeviceError(
                f"hip-python does not load ({error}): run `python -m pip install hip-python`, or set "
                f"{BINDING}={_CFFI} to do without."
            ) from error
        # The library is looked up at the first call, not at the import.
        module.hipGetDeviceCount()
        accept_both_forms(module)
        if "hiprtc" in files:
            compiler.hiprtcVersion()
    return module


def accept_both_forms(module: Any) -> None:
    """Makes hip-python's hipGetDeviceProperties serve programs for any of its releases.

    Before 7.14 it fills a record, `(record, ordinal) -> (status,)`; since then it makes one,
    `(ordinal) -> (status, record)`.

    Args:
        module: hip-python's, with HIP's functions; changed.
    """
    call, record_type = module.hipGetDeviceProperties, module.hipDeviceProp_t
    if getattr(call, "takes_both_forms", False):
        return

    def fresh(ordinal: int) -> tuple[Any, Any]:
        try:
            status, record = call(ordinal)
        except TypeError:
            record = record_type()
            (status,) = call(record, ordinal)
        return status, record

    @functools.wraps(call)
    def properties(*arguments: Any) -> tuple[Any, ...]:
        if len(arguments) == 1:
            return fresh(*arguments)
        target, ordinal = arguments
        status, record = fresh(ordinal)
        if int(status) == 0:
            to, source = (record_type.fromObj(struct).as_c_void_p() for struct in (target, record))
            ctypes.memmove(to, source, record.c_sizeof())
        return (status,)

    properties.takes_both_forms = True  # type: ignore[attr-defined]
    module.hipGetDeviceProperties = properties


def _by_cffi(files: Mapping[str, str]) -> Any:
    return HipByCffi(files["amdhip64"])


_HIP_PYTHON, _CFFI = "hip-python", "cffi"
BINDINGS: Mapping[str, Callable[[Mapping[str, str]], Any]] = {
    _HIP_PYTHON: _by_hip_python,
    _CFFI: _by_cffi,
}
"""Loaders of HIP's functions by name, from the libraries' files by their names. hip-python is AMD's and has
wheels only for Linux on x86-64; cffi works everywhere and has the functions that `runtime` calls."""


@contextlib.contextmanager
def _resolved_to(files: Mapping[str, str]) -> Iterator[None]:
    """Newer hip-python looks for libraries in ROCm's folders first; this names the one to use."""
    try:
        from rocm.bindings.util import paths
    except ImportError:
        yield
        return
    original = paths.get_library_path

    def chosen(shortname: str, *args: Any, **kwargs: Any) -> bytes:
        file = files.get(shortname)
        return os.fsencode(file) if file is not None else original(shortname, *args, **kwargs)

    paths.get_library_path = chosen
    try:
        yield
    finally:
        paths.get_library_path = original


class Hip:
    """HIP's functions for one device; a failed call raises the cause of its error.

    Attributes:
        api: the functions themselves, for calls whose failure does not matter.
    """

    def __init__(self, library: Library, device: str) -> None:
        self.api = api(library)
        self._library = library
        self._device = device

    def call(self, function: str, *arguments: Any, action: str = "") -> Any:
        """Calls a function of HIP by name.

        Args:
            action: says in an error what was tried, instead of the function's name.

        Returns:
            the call's one result, or a tuple of them.

        Raises:
            LaunchError: the device cannot take the launch's shape.
            DeviceError: the call failed; or the WorkbenchError that the emulated device raised behind it.
        """
        answer = getattr(self.api, function)(*arguments)
        status = int(answer[0])
        if status == 0:
            return answer[1] if len(answer) == 2 else answer[1:]
        does_not_fit = status == _INVALID_VALUE and function.startswith("hipModuleLaunch")
        self._fail(action or function, answer[0], does_not_fit=does_not_fit)

    def _fail(self, action: str, status: Any, *, does_not_fit: bool = False) -> NoReturn:
        message = f"{action} on {self._device} failed"
        behind = self._library.failure()
        if isinstance(behind, WorkbenchError | KeyboardInterrupt):
            raise behind
        if behind is not None:
            raise DeviceError(f"{message}: {behind!r}", int(status)) from behind
        message += f": {status.name}"
        if does_not_fit or int(status) in _LAUNCH_CODES:
            raise HipLaunchError(f"{message}: the device cannot take this grid, block or shared memory size.")
        raise DeviceError(f"{message}.", int(status))
