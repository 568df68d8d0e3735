"""The registry of HIP functions implemented in Python, and the work around each call.

A function is registered by name with its C argument types; it returns None for success or a hipError_t, or
raises. No exception crosses into C: it is stored for the calling thread, the call returns the hipError_t that
fits, and callers of the API from Python may take the exception and raise it again.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import c_bool, c_double, c_float, c_int, c_int32, c_size_t, c_uint32, c_uint64
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench import errors
from workbench.emulator.hip import structures
from workbench.emulator.hip.threads import PerThread

# Pointers and handles are plain integers here; ctypes would turn NULL into None.
POINTER = c_size_t
HANDLE = c_size_t
INT = c_int
UINT = c_uint32
BOOL = c_bool
SIZE = c_size_t
U64 = c_uint64
DIM3 = (U64, U64)
"""A dim3 passed by value takes two integer registers on x86-64 and on AArch64: x and y, then z."""

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)


@dataclass(frozen=True, slots=True)
class Call:
    """A HIP function that is implemented in Python.

    Attributes:
        name: exported symbol.
        handler: the Python function.
        arguments: ctypes types of its C arguments.
        result: ctypes type of its result.
        records: True if hipGetLastError reports its failures.
    """

    name: str
    handler: Handler
    arguments: tuple[Any, ...]
    result: Any
    records: bool


CALLS: dict[str, Call] = {}
_called: set[str] = set()


# The device that threads start with.
_first_device = 0


class _Thread:
    def __init__(self) -> None:
        self.device = _first_device
        self.last_error = structures.SUCCESS
        self.last_code = structures.SUCCESS
        self.pending: BaseException | None = None
        self.launch_failure: BaseException | None = None
        self.is_heard = False
        self.configurations: list[tuple[tuple[int, int, int], tuple[int, int, int], int, int]] = []
        # hipStreamCaptureMode: captures that a forbidden call ends (streams.outside_captures).
        self.capture_mode = 0


thread = PerThread(_Thread)


@contextmanager
def threads_begin_here() -> Iterator[None]:
    """In this context, threads that call for the first time begin with this thread's current device."""
    global _first_device
    before, _first_device = _first_device, thread().device
    try:
        yield
    finally:
        _first_device = before


@contextmanager
def heard() -> Iterator[None]:
    """In this context, failures of this thread's launches are collected; they are raised at its end."""
    state = thread()
    before, state.is_heard = state.is_heard, True
    try:
        yield
    finally:
        state.is_heard = before


class HipError(Exception):
    """Answers a call with an error and nothing more."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def call(
    *names: str, arguments: tuple[Any, ...] = (), result: Any = c_int32, records: bool = True
) -> Callable[[_H], _H]:
    """Register a function under its exported names."""

    def register(handler: _H) -> _H:
        for name in names:
            CALLS[name] = Call(name, handler, arguments, result, records)
        return handler

    return register


# Set by the loader of the library: address of an exported function by name, 0 if there is none.
_find_function: Callable[[str], int] | None = None


def set_finder(finder: Callable[[str], int]) -> None:
    """Set the function that finds exported functions."""
    global _find_function
    _find_function = finder


def function_address(name: str) -> int:
    """Address of an exported function of the library; 0 if there is none of that name."""
    return _find_function(name) if _find_function is not None else 0


def was_called(name: str) -> bool:
    """True if a function of the library was called in this process."""
    return name in _called


def take_exception() -> BaseException | None:
    """The exception behind the last failed call of this thread, once.

    The caller then knows of the fault: no later call reports it again.
    """
    _unreported.clear()
    pending, thread().pending = thread().pending, None
    return pending


def take_launch_failure() -> BaseException | None:
    """The exception behind the first failed launch of this thread since it was last asked for.

    The caller then knows it: hipGetLastError is reset.
    """
    failure, thread().launch_failure = thread().launch_failure, None
    thread().last_error = thread().last_code = structures.SUCCESS
    return failure


# hipError_t of stopped kernels, until a call that waits for the device has returned it. Here a kernel runs to
# completion within its launch; programs for GPUs look for its errors where they wait.
_unreported: list[int] = []
# Called with the exception of every launch that fails; a program's process shows them to its user.
failure_listeners: list[Callable[[BaseException], None]] = []


_dropped: list[BaseException] = []
_printed: set[str] = set()
_last_words: Callable[[bytes], None] | None = None
_MOST_DROPPED = 16


def say_dropped(last_words: Callable[[bytes], None]) -> None:
    """Shows failures of launches for which Python gets no exception, each once: those of foreign code at
    once, and those that would still be raised, if the process ends first.

    Args:
        last_words: takes the text to print at the end of the process; b"" for none.
    """
    global _last_words
    _last_words = last_words


def raised(error: BaseException | None) -> None:
    """A failure reaches the launching code as an exception."""
    if error in _dropped:
        _dropped.remove(error)
        _say_dropped()


def _say_dropped() -> None:
    if _last_words is not None:
        texts = dict.fromkeys(f"{_FAILED}{error}\n" for error in _dropped)
        _last_words("".join(texts).encode("utf-8", "replace"))


_FAILED = "hipkittens: a launch failed, and no exception reported it: "


def _say_once(error: BaseException) -> None:
    text = f"{_FAILED}{error}"
    # In a process of a HIP program, a listener has already printed it.
    if text in _printed or len(_printed) >= _MOST_DROPPED or failure_listeners or sys.stderr is None:
        return
    _printed.add(text)
    print(text, file=sys.stderr, flush=True)
    if len(_printed) == _MOST_DROPPED:
        print(
            "hipkittens: further failed launches of this process are not reported",
            file=sys.stderr,
            flush=True,
        )


def launch_failed(error: BaseException, *, is_heard: bool = False) -> None:
    """Record the cause of a launch failure for later calls that report it.

    Args:
        is_heard: True if the caller will raise it in Python, as inside `heard`.
    """
    if _last_words is not None and isinstance(error, errors.WorkbenchError):
        if not is_heard and not thread().is_heard:
            _say_once(error)
        elif len(_dropped) < _MOST_DROPPED:
            _dropped.append(error)
            _say_dropped()
    if thread().launch_failure is None:
        thread().launch_failure = error
    if isinstance(error, errors.KernelFault):
        _unreported.append(error_code(error))
    for listener in failure_listeners:
        listener(error)


def report_faults() -> None:
    """Answer a call that waits for the device with the error of a kernel that was stopped, once."""
    if _unreported:
        code = _unreported[0]
        _unreported.clear()
        raise HipError(code)


_KERNEL_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.KernelTimeout, structures.LAUNCH_TIMEOUT),
    (errors.AssertionFault, structures.ASSERT),
    (errors.AddressFault, structures.ILLEGAL_ADDRESS),
    (errors.KernelFault, structures.LAUNCH_FAILURE),
    (errors.LaunchError, structures.INVALID_CONFIGURATION),
    (errors.UnsupportedInstruction, structures.NOT_SUPPORTED),
    (errors.CodeObjectError, structures.INVALID_IMAGE),
    (ValueError, structures.INVALID_VALUE),
    (MemoryError, structures.OUT_OF_MEMORY),
    (FileNotFoundError, structures.FILE_NOT_FOUND),
)


_fault_codes = frozenset(
    {structures.LAUNCH_TIMEOUT, structures.ILLEGAL_ADDRESS, structures.LAUNCH_FAILURE, structures.ASSERT}
)


def error_code(error: BaseException) -> int:
    """The hipError_t that a caller of the C ABI gets for an exception."""
    if isinstance(error, HipError):
        return error.code
    if isinstance(error, errors.DeviceError | errors.LaunchError) and error.code is not None:
        return error.code
    for kind, code in _KERNEL_CODES:
        if isinstance(error, kind):
            return code
    return structures.UNKNOWN


def callback(entry: Call) -> Any:
    """The C function pointer for a registered call."""

    def answer(*values: Any) -> Any:
        try:
            _called.add(entry.name)
            result = entry.handler(*values)
            if entry.result is not c_int32 or not entry.records:
                return result or 0
            code = result or structures.SUCCESS
        except BaseException as error:
            if not isinstance(error, HipError):
                thread().pending = error
            elif error.code not in _fault_codes:
                thread().pending = None
            code = error_code(error)
            if entry.result is not c_int32:
                return 0
        thread().last_code = code
        if code not in (structures.SUCCESS, structures.NOT_READY):
            thread().last_error = code
        return code

    return ctypes.CFUNCTYPE(entry.result, *entry.arguments)(answer)


def dim3(xy: int, z: int) -> tuple[int, int, int]:
    """The dim3 that was passed in two registers."""
    return xy & 0xFFFFFFFF, xy >> 32, z & 0xFFFFFFFF


__all__ = [
    "BOOL",
    "CALLS",
    "DIM3",
    "HANDLE",
    "INT",
    "POINTER",
    "SIZE",
    "U64",
    "UINT",
    "Call",
    "HipError",
    "c_double",
    "c_float",
    "call",
    "callback",
    "dim3",
    "failure_listeners",
    "function_address",
    "heard",
    "launch_failed",
    "raised",
    "report_faults",
    "say_dropped",
    "set_finder",
    "take_exception",
    "take_launch_failure",
    "thread",
    "threads_begin_here",
    "was_called",
]
