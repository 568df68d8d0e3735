"""The linker of hiprtc, and HIP's similar one: from bitcode of programs and files to one code object."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from workbench import errors
from workbench.emulator.hip import devices, hiprtc, structures
from workbench.emulator.hip.calls import HANDLE, INT, POINTER, SIZE, UINT, HipError, call, thread
from workbench.toolchain.linking import bitcode_for, link_bitcode

_BITCODE_TYPES = {
    100: "LLVM bitcode",
    101: "bundled LLVM bitcode",
    102: "an archive of bundled LLVM bitcode",
}
"""Types of input with bitcode, by HIP's `hipJitInputType`."""
_INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE, _FLAGS, _FLAG_COUNT = 3, 4, 5, 6, 10000, 10001
"""hipJitOption; the others are about NVIDIA's compiler or make no difference here."""


@dataclass(eq=False)
class _State:
    """Inputs, options and result of one hiprtc link.

    Attributes:
        arch: target.
        options: values by hipJitOption.
        inputs: bitcode.
        linked: the code object; the program reads it until the state is destroyed.
    """

    arch: str
    options: dict[int, int]
    inputs: list[bytes] = field(default_factory=list)
    linked: ctypes.Array[ctypes.c_char] | None = None

    def say(self, log: int, size: int, text: str) -> None:
        """Write a text to the program's buffer."""
        if self.options.get(log) and self.options.get(size):
            content = text.encode()[: self.options[size] - 1] + b"\0"
            ctypes.memmove(self.options[log], content, len(content))

    def flags(self) -> list[str]:
        count, address = self.options.get(_FLAG_COUNT, 0), self.options.get(_FLAGS, 0)
        texts = [structures.text_at(at) for at in (HANDLE * count).from_address(address)] if address else []
        return [text for text in texts if text != "-mllvm"]


_handles = itertools.count(0x10, 0x10)
_states: dict[int, _State] = {}


def _link_call(name: str, *arguments: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as hiprtc's and as HIP's, each with its own errors."""

    def register(handler: Callable[..., None]) -> Callable[..., None]:
        @wraps(handler)
        def of_hiprtc(*values: Any) -> int | None:
            try:
                handler(*values)
            except errors.DeviceError as error:
                thread().pending = error
                return hiprtc.CODES["LINKING"]
            return None

        @wraps(handler)
        def of_hip(*values: Any) -> None:
            try:
                handler(*values)
            except HipError as error:
                raise HipError(structures.INVALID_VALUE) from error

        hiprtc.rtc_call(f"hiprtc{name}", *arguments)(of_hiprtc)
        call(f"hip{name}", arguments=arguments)(of_hip)
        return handler

    return register


def _state(handle: int) -> _State:
    if handle not in _states:
        raise hiprtc.fail("INVALID_INPUT")
    return _states[handle]


def _options(count: int, options: int, values: int) -> dict[int, int]:
    if count and (not options or not values):
        raise hiprtc.fail("INVALID_INPUT")
    if not count:
        return {}
    names, handles = (INT * count).from_address(options), (HANDLE * count).from_address(values)
    return dict(zip(names, handles, strict=True))


def _refuse(state: _State, text: str) -> errors.DeviceError:
    """Why it does not link; this goes to the program's log too."""
    state.say(_ERROR_LOG, _ERROR_SIZE, text)
    return errors.DeviceError(f"linking: {text}", structures.INVALID_IMAGE)


@_link_call("LinkCreate", UINT, POINTER, POINTER, POINTER)
def _create(count: int, options: int, values: int, result: int) -> None:
    if not result:
        raise hiprtc.fail("INVALID_INPUT")
    handle = next(_handles)
    _states[handle] = _State(devices.current().product.arch, _options(count, options, values))
    structures.store(result, HANDLE, handle)


@_link_call("LinkAddData", HANDLE, INT, POINTER, SIZE, POINTER, UINT, POINTER, POINTER)
def _add_data(
    handle: int, kind: int, data: int, size: int, name: int, count: int, options: int, values: int
) -> None:
    if not data or not size:
        raise hiprtc.fail("INVALID_INPUT")
    _add(_state(handle), kind, ctypes.string_at(data, size), structures.text_at(name) if name else "the data")


@_link_call("LinkAddFile", HANDLE, INT, POINTER, UINT, POINTER, POINTER)
def _add_file(handle: int, kind: int, path: int, count: int, options: int, values: int) -> None:
    state = _state(handle)
    if not path:
        raise hiprtc.fail("INVALID_INPUT")
    name = structures.text_at(path)
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise _refuse(state, f"{name}: {error.strerror}") from None
    _add(state, kind, content, name)


def _add(state: _State, kind: int, content: bytes, name: str) -> None:
    if kind not in _BITCODE_TYPES:
        types = ", ".join(f"{text} ({number})" for number, text in _BITCODE_TYPES.items())
        raise _refuse(state, f"{name}: input type {kind} cannot be linked on AMD's devices; expected {types}")
    try:
        state.inputs += bitcode_for(content, state.arch, name)
    except (errors.ToolchainError, errors.CodeObjectError) as error:
        raise _refuse(state, str(error)) from None


@_link_call("LinkComplete", HANDLE, POINTER, POINTER)
def _complete(handle: int, result: int, size: int) -> None:
    state = _state(handle)
    if not result:
        raise hiprtc.fail("INVALID_INPUT")
    if not state.inputs:
        raise _refuse(state, "nothing was added: hiprtcLinkAddData or hiprtcLinkAddFile first")
    try:
        linked = link_bitcode(state.inputs, state.arch, state.flags())
    except errors.ToolchainError as error:
        raise _refuse(state, str(error)) from None
    state.say(_INFO_LOG, _INFO_SIZE, "")
    state.linked = ctypes.create_string_buffer(linked, len(linked))
    structures.store(result, POINTER, ctypes.addressof(state.linked))
    structures.store_if(size, SIZE, len(linked))


@_link_call("LinkDestroy", HANDLE)
def _destroy(handle: int) -> None:
    _state(handle)
    del _states[handle]


__all__: list[str] = []
