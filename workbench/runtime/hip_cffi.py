"""HIP's functions by cffi, with hip-python's names and results, for systems without its wheel.

It declares the functions that `runtime` calls. Structures and numbers come from the host API's header, which
C++ programs compile against too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import cffi

from workbench.errors import DeviceError
from workbench.paths import hip_include_dir

_TYPES = hip_include_dir() / "hip" / "host" / "types.h"
_STRUCTURES = ("hipUUID", "hipDeviceArch_t", "hipDeviceProp_tR0600")
_ENUMERATIONS = ("hipMemcpyKind",)

# A pointer to void is an address to pass; any other pointer, except to text, receives a result.
_FUNCTIONS = """
typedef int hipError_t;
const char *hipGetErrorName(hipError_t);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDevice(int *);
hipError_t hipSetDevice(int);
hipError_t hipDeviceSynchronize(void);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int);
hipError_t hipMemGetInfo(size_t *, size_t *);
hipError_t hipMalloc(uintptr_t *, size_t);
hipError_t hipFree(void *);
hipError_t hipMemcpy(void *, void *, size_t, int);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipEventCreate(uintptr_t *);
hipError_t hipEventRecord(void *, void *);
hipError_t hipEventSynchronize(void *);
hipError_t hipEventElapsedTime(float *, void *, void *);
hipError_t hipEventDestroy(void *);
hipError_t hipModuleLoadData(uintptr_t *, void *);
hipError_t hipModuleUnload(void *);
hipError_t hipModuleGetFunction(uintptr_t *, void *, const char *);
hipError_t hipModuleGetGlobal(uintptr_t *, size_t *, void *, const char *);
hipError_t hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 void *, void *, void *);
hipError_t hipModuleLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            unsigned, unsigned, void *, void *);
"""
_SYMBOLS = {"hipGetDeviceProperties": "hipGetDevicePropertiesR0600"}
"""Symbols by name of functions that the C header's macros rename."""


class Status(int):
    """A hipError_t with its name.

    Attributes:
        name: name, such as "hipErrorNoDevice".
    """

    name: str

    def __new__(cls, value: int, name: str) -> Status:
        status = super().__new__(cls, value)
        status.name = name
        return status


class HipByCffi:
    """HIP's functions as attributes.

    A call takes the C function's arguments except its output parameters, with addresses and handles as
    integers and memory as bytes, and returns its status followed by its outputs, as hip-python's do.
    """

    def __init__(self, path: str) -> None:
        """
        Args:
            path: path of the library.

        Raises:
            DeviceError: the library does not load.
        """
        self._ffi, numbers = _declarations()
        try:
            self._library = self._ffi.dlopen(path, self._ffi.RTLD_NOW | self._ffi.RTLD_GLOBAL)
        except OSError as error:
            raise DeviceError(f"{path} does not load: {error}") from error
        for name, values in numbers.items():
            setattr(self, name, SimpleNamespace(**values))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("hip"):
            raise AttributeError(name)
        symbol = _SYMBOLS.get(name, name)
        try:
            function = getattr(self._library, symbol)
        except AttributeError as error:
            # Missing in the library or in the declarations: either way it cannot be called.
            raise AttributeError(f"no function {name} by cffi: {error}") from None
        call = partial(self._call, function, self._ffi.typeof(function).args)
        setattr(self, name, call)
        return call

    def _call(self, function: Any, types: tuple[Any, ...], *values: Any) -> tuple[Any, ...]:
        ffi = self._ffi
        remaining, answers, arguments = list(values), [], []
        for ctype in types:
            if _is_answer(ctype):
                answers.append(ffi.new(ctype))
                arguments.append(answers[-1])
            else:
                arguments.append(self._argument(ctype, remaining.pop(0)))
        if remaining:
            raise TypeError(f"got {len(values)} arguments; expected {len(values) - len(remaining)}: {types}")
        code = function(*arguments)
        status = Status(code, ffi.string(self._library.hipGetErrorName(code)).decode())
        return status, *(self._answer(pointer) for pointer in answers)

    def _argument(self, kind: Any, value: Any) -> Any:
        if kind.kind != "pointer" or kind.item.kind != "void":
            return value
        if isinstance(value, bytes):
            return self._ffi.from_buffer(value)
        return self._ffi.cast(kind, value or 0)

    def _answer(self, pointer: Any) -> Any:
        if self._ffi.typeof(pointer).item.kind == "struct":
            return _Record(self._ffi, pointer)
        return pointer[0]


class _Record:
    """A structure's fields, with texts as bytes."""

    def __init__(self, ffi: Any, pointer: Any) -> None:
        self._ffi, self._pointer = ffi, pointer

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._pointer, name)
        is_text = isinstance(value, self._ffi.CData) and self._ffi.typeof(value).item.cname == "char"
        return self._ffi.string(value) if is_text else value


def _is_answer(kind: Any) -> bool:
    return bool(kind.kind == "pointer" and kind.item.kind != "void" and kind.item.cname != "char")


def _declarations() -> tuple[Any, Mapping[str, Mapping[str, int]]]:
    """cffi's reading of the functions, and the numbers of enumerations by name."""
    text = _TYPES.read_text()
    ffi: Any = cffi.FFI()
    for name in _STRUCTURES:
        ffi.cdef(f"typedef {_cut(text, 'struct', name)} {name};")
    ffi.cdef(_FUNCTIONS)
    numbers = {}
    for name in _ENUMERATIONS:
        entries = re.findall(r"(\w+) = (\d+)", _cut(text, "enum", name))
        numbers[name] = {entry: int(value) for entry, value in entries}
    return ffi, numbers


def _cut(text: str, kind: str, name: str) -> str:
    match = re.search(rf"^{kind} {name} \{{.*?^\}}", text, re.MULTILINE | re.DOTALL)
    assert match, f"{_TYPES} has no {kind} {name}"
    return match[0]
