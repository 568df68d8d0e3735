"""C++ names behind symbols, for people who wrote the kernel and never saw its mangled name."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any


@cache
def _demangler() -> Any:
    for name in ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"):
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        return function
    return None


@cache
def demangle(name: str) -> str:
    """The C++ name behind an Itanium-mangled one; the name itself where no C++ runtime is present."""
    function = _demangler()
    if not name.startswith("_Z") or function is None:
        return name
    status = ctypes.c_int(0)
    pointer = function(name.encode(), None, None, ctypes.byref(status))
    if not pointer:
        return name
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free.restype = None
        free(pointer)


def short_name(demangled: str) -> str:
    """The last component of a demangled function name: "a::rms<int, 4>(float*)" gives "rms"."""
    depth = 0
    plain = []
    for character in demangled.replace("(anonymous namespace)::", ""):
        if character in "<(":
            depth += 1
        if depth == 0:
            plain.append(character)
        if character in ">)":
            depth -= 1
    words = re.split(r"::|\s", "".join(plain).strip())
    return words[-1] if words and words[-1] else demangled
