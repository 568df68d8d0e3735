"""C++ names behind symbols, for people who wrote the kernel and never saw its mangled name."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from workbench.dtypes import BF16, FP16


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


# GCC's library knows _Float16 and __bf16 since version 13, under other names. Types that no GPU code uses
# stand in for them, and are renamed in the result.
_STAND_INS = {"DF16_": ("De", "decimal128", "_Float16"), "DF16b": ("Dd", "decimal64", "__bf16")}
# Template arguments begin like this if they are numbers, references to earlier names, or identifiers.
_MANGLED = re.compile(r"Dv\d+_|L[a-z]n?\d+E|[ST][0-9A-Z]*_|(?P<length>\d+)|(?P<type>DF16[_b])|.", re.DOTALL)


def _with_stand_ins(name: str) -> str:
    """A mangled name without the types that an old demangler does not know."""
    result = ""
    at = 0
    while match := _MANGLED.match(name, at):
        at = match.end()
        if match["length"]:
            at = min(at + int(match["length"]), len(name))
            result += name[match.start() : at]
        else:
            result += _STAND_INS[match["type"]][0] if match["type"] else match[0]
    return result


@lru_cache(maxsize=1 << 12)
def demangle(name: str) -> str:
    """The C++ name behind an Itanium-mangled one; the name itself if no C++ runtime is present."""
    if "DF16" not in name:
        return _demangled(name)
    stand_in = _with_stand_ins(name)
    demangled = _demangled(stand_in)
    if demangled == stand_in:
        return _demangled(name)
    for _, there, replacement in _STAND_INS.values():
        demangled = re.sub(rf"\b{there}\b", replacement, demangled)
    return demangled


def _demangled(name: str) -> str:
    """The demangled name, by the C++ runtime; the name itself if it cannot be demangled."""
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


def instance_name(demangled: str) -> str:
    """The qualified name of a function with its template arguments, from its demangled signature.

    `"void ns::add<float>(float const*)"` gives `"ns::add<float>"`; a plain name is returned unchanged. The
    `.kd` of a kernel descriptor is removed.
    """
    text = demangled.removesuffix(".kd")
    depth = start = 0
    for i, character in enumerate(text):
        if character == "(" and depth == 0 and not text.startswith("(anonymous namespace)", i):
            return text[start:i]
        depth += (character in "<([{") - (character in ">)]}")
        if character == " " and depth == 0:
            start = i + 1
    return text[start:]


def short_name(demangled: str) -> str:
    """The last component of a demangled function name: "a::rms<int, 4>(float*)" gives "rms"."""
    return _last_component(instance_name(demangled)).partition("<")[0] or demangled


_MOST_NAMED, _LONGEST = 8, 120


def first_names(names: Sequence[str] | Mapping[str, object], form: Callable[[str], str] = str) -> str:
    """Names for a message: the first of them, long ones cut, and how many more there are.

    Args:
        form: makes the text to show from a name.
    """
    forms = [form(name) for name in islice(names, _MOST_NAMED)]
    shown = ", ".join(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..." for name in forms)
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _last_component(instance: str) -> str:
    depth = start = 0
    for i, character in enumerate(instance):
        depth += (character in "<([{") - (character in ">)]}")
        if depth == 0 and instance.startswith("::", i):
            start = i + 2
    return instance[start:]


# Names of one type in headers, debug info and mangled names, and the spelling of constants.
_SPELLINGS = (
    (re.compile(r"\s+|\bkittens::|\((?:int|unsigned int|unsigned|long|unsigned long|bool|size_t)\)"), ""),
    *((re.compile(rf"\b(?:{'|'.join(data_type.spelled)})\b"), data_type.cpp) for data_type in (BF16, FP16)),
    (re.compile(r"\b(\d+)(?:u|ul|l|ull|ll)\b"), r"\1"),
)


def normal_name(name: str) -> str:
    """A template instance's name, equal for all spellings of its arguments: `add< float >`, `add<float>`."""
    for pattern, text in _SPELLINGS:
        name = pattern.sub(text, name)
    return name


def names_of(mangled: str, demangled: str) -> tuple[str, str, str, str]:
    """Names that a person may give a function, the most exact first.

    Mangled; with namespace and template arguments, spelled as `normal_name` does; without the namespace;
    without both.
    """
    instance = normal_name(instance_name(demangled))
    last = _last_component(instance)
    return mangled, instance, last, last.partition("<")[0]
