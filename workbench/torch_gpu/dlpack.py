"""DLPack's exchange in C, by which TVM's runtime (TileLang) takes PyTorch's tensors and asks for their
device.

PyTorch answers from C++, where tensors that claim to be on the device are the CPU's. The functions of its
table are called as before; only the device in what they take and return is the one that the tensor claims.
"""

from __future__ import annotations

import contextlib
import ctypes
import traceback
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, c_int, c_int32, c_uint32, c_uint64, c_void_p
from typing import Any

import torch

from workbench.patches import Patches

_ATTRIBUTE = "__dlpack_c_exchange_api__"
_CAPSULE = b"dlpack_exchange_api"
_MAJOR = 1
_CPU, _ROCM = 1, 10
"""DLDeviceType of DLPack's header."""


class _Place(Structure):
    """DLDevice."""

    _fields_ = [("kind", c_int32), ("number", c_int32)]


class _Array(Structure):
    """DLTensor, as far as it is read here, and as large."""

    _fields_ = [("data", c_void_p), ("place", _Place), ("rest", c_uint64 * 4)]


class _Managed(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("version", c_uint32 * 2),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("array", _Array),
    ]


_Allocate = CFUNCTYPE(c_int, POINTER(_Array), POINTER(POINTER(_Managed)), c_void_p, c_void_p)
_From = CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(_Managed)))
_To = CFUNCTYPE(c_int, POINTER(_Managed), POINTER(c_void_p))
_Describe = CFUNCTYPE(c_int, c_void_p, POINTER(_Array))
_Stream = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class _Exchange(Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("version", c_uint32 * 2),
        ("previous", c_void_p),
        ("allocate", _Allocate),
        ("from_object", _From),
        ("to_object", _To),
        ("describe", _Describe),
        ("stream", _Stream),
    ]


@contextlib.contextmanager
def exchange_names_device() -> Iterator[None]:
    """DLPack's exchange in C names a ROCm device for tensors that claim to be on the device."""
    capsule = getattr(torch.Tensor, _ATTRIBUTE, None)
    with Patches() as patches:
        if capsule is not None:
            ours = _wrapped(capsule)
            if ours is not None:
                patches.replace(torch.Tensor, _ATTRIBUTE, ours)
        yield


def _wrapped(capsule: Any) -> Any:
    """A capsule with a table around PyTorch's; None if that has a layout unknown here."""
    api = ctypes.pythonapi
    pointer = PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    new = PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(("PyCapsule_New", api))
    theirs = _Exchange.from_address(pointer(capsule, _CAPSULE))
    if theirs.version[0] != _MAJOR:
        return None
    if not _tables:
        # Consumers keep the table's address for as long as the process lives.
        _tables.append(_table(theirs))
    return new(ctypes.addressof(_tables[0]), _CAPSULE, None)


_tables: list[_Exchange] = []


def _table(theirs: _Exchange) -> _Exchange:
    # These two are called, and call, with Python's lock, unlike `allocate`.
    from_object = PYFUNCTYPE(c_int, *_From._argtypes_)(_address(theirs.from_object))
    to_object = PYFUNCTYPE(c_int, *_To._argtypes_)(_address(theirs.to_object))
    describe = (
        PYFUNCTYPE(c_int, *_Describe._argtypes_)(_address(theirs.describe)) if theirs.describe else None
    )

    @_safe
    def our_allocate(prototype: Any, result: Any, context: Any, set_error: Any) -> int:
        place = prototype[0].place
        kind = place.kind
        place.kind = _CPU if kind == _ROCM else kind
        try:
            status = int(theirs.allocate(prototype, result, context, set_error))
        finally:
            place.kind = kind
        if status == 0:
            result[0][0].array.place.kind = kind
        return status

    @_safe
    def our_from(tensor: int, result: Any) -> int:
        status = int(from_object(tensor, result))
        if status == 0:
            _claim(tensor, result[0][0].array)
        return status

    @_safe
    def our_to(managed: Any, result: Any) -> int:
        place = managed[0].array.place
        if place.kind == _ROCM:
            place.kind = _CPU
        return int(to_object(managed, result))

    @_safe
    def our_describe(tensor: int, result: Any) -> int:
        assert describe is not None
        status = int(describe(tensor, result))
        if status == 0:
            _claim(tensor, result[0])
        return status

    @_safe
    def our_stream(kind: int, number: int, result: Any) -> int:
        if kind == _ROCM:
            # Every call waits for its end: there is one stream.
            result[0] = None
            return 0
        return int(theirs.stream(kind, number, result))

    return _Exchange(
        theirs.version,
        None,
        _Allocate(our_allocate),
        _From(our_from),
        _To(our_to),
        _Describe(our_describe) if theirs.describe else _Describe(),
        _Stream(our_stream),
    )


def _claim(tensor: int, array: _Array) -> None:
    claimed = ctypes.cast(tensor, ctypes.py_object).value.device
    if claimed.type == "cuda" and array.place.kind == _CPU:
        array.place = _Place(_ROCM, claimed.index or 0)


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0


def _safe(function: Callable[..., int]) -> Callable[..., int]:
    """A function that C calls, which sees a status and never an exception."""

    def called(*arguments: Any) -> int:
        try:
            return function(*arguments)
        except Exception:
            traceback.print_exc()
            return -1

    return called
