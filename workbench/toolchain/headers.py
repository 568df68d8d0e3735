"""C headers for Python: their structures, numbers and functions, read by cffi."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import cffi

from workbench.cache import Cache, digest
from workbench.errors import UsageError

# Lines that only a preprocessor understands: includes, and include guards.
_PREPROCESSOR = re.compile(r"^#(?!define \w+ +\S).*$", re.MULTILINE)


def declared(header: Path, more: str = "") -> Any:
    """cffi's `ffi` for what a header declares; `dlopen` gives its functions and, of any library, its numbers.

    The header is parsed once a computer: of each process that used the emulated device that took 0.15 s.

    Args:
        header: C without conditions but its guard, and without macros that take arguments.
        more: declarations that follow it.
    """
    text = _PREPROCESSOR.sub("", header.read_text()) + more
    store, key = Cache("headers"), digest("declared", text, cffi.__version__)
    try:
        code = store.get(key)
        if code is None:
            code = _module(text)
            store.put(key, code)
    except (UsageError, OSError):
        # Whoever needs the cache more says what is wrong with it.
        code = _module(text)
    names: dict[str, Any] = {}
    exec(compile(code, header.name, "exec"), names)
    return names["ffi"]


def _module(text: str) -> bytes:
    """Python code of cffi that makes an `ffi` with these declarations."""
    from cffi.recompiler import make_py_source

    builder = cffi.FFI()
    builder.cdef(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "declared.py")
        make_py_source(builder, "declared", str(path))
        return path.read_bytes()
