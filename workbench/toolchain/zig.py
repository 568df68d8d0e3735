"""The ziglang wheel: a clang that needs no installation, a C++ library, and headers of two C libraries."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Mapping
from pathlib import Path

WHEEL = "ziglang==0.16.0"
"""What pip is to install: later wheels may come without clang."""

GLIBC = (2, 28)
"""The glibc that host code is compiled for: old enough for every system that the other wheels run on."""

# What zig gives its own clang, for a single-threaded use of the headers.
_DEFINITIONS: Mapping[str, int | str | None] = {
    "_LIBCPP_ABI_VERSION": 1,
    "_LIBCPP_ABI_NAMESPACE": "__1",
    "_LIBCPP_HAS_THREADS": 1,
    "_LIBCPP_HAS_MONOTONIC_CLOCK": 1,
    "_LIBCPP_HAS_TERMINAL": 1,
    "_LIBCPP_HAS_MUSL_LIBC": 1,
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS": 0,
    "_LIBCPP_HAS_FILESYSTEM": 1,
    "_LIBCPP_HAS_RANDOM_DEVICE": 1,
    "_LIBCPP_HAS_LOCALIZATION": 1,
    "_LIBCPP_HAS_UNICODE": 1,
    "_LIBCPP_HAS_WIDE_CHARACTERS": 1,
    "_LIBCPP_HAS_TIME_ZONE_DATABASE": 0,
    "_LIBCPP_PSTL_BACKEND_SERIAL": None,
    "_LIBCPP_HARDENING_MODE": "_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS": None,
    "_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS": None,
}


def folder() -> Path | None:
    """Folder of the ziglang wheel; None where it is not installed."""
    try:
        found = importlib.util.find_spec("ziglang")
    except (ImportError, ValueError):
        return None
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def program() -> Path | None:
    """The zig in the wheel; None where it is not installed."""
    wheel = folder()
    path = wheel / "zig" if wheel is not None else None
    return path if path is not None and os.access(path, os.X_OK) else None


def root_of(zig: Path) -> Path:
    """Folder with the headers of a zig."""
    beside = zig.resolve().parent
    return beside if has_headers(beside) else beside.parent


def has_headers(root: Path) -> bool:
    """Whether a folder has zig's C++ headers."""
    return (root / "lib" / "libcxx" / "include").is_dir()


def device_headers(root: Path, *, builtin: bool = False) -> list[str]:
    """Options for zig's libc++ over its musl headers: the same on every machine, whatever is installed.

    Args:
        root: folder of the wheel or of a zig.
        builtin: whether the compiler has no headers of its own.
    """
    machine = platform.machine()
    c_library = (f"{machine}-linux-musl", "generic-musl", f"{_family()}-linux-any", "any-linux-any")
    return _options(root, ("libcxx/include",), builtin, c_library, {})


def host_headers(root: Path, *, builtin: bool = False) -> list[str]:
    """Options for zig's libc++ over an old glibc's headers; arguments as of `device_headers`."""
    family = _family()
    c_library = (f"{family}-linux-gnu", "generic-glibc", f"{family}-linux-any", "any-linux-any")
    definitions = {
        "__GLIBC_MINOR__": GLIBC[1],
        "_LIBCPP_HAS_MUSL_LIBC": 0,
        "_LIBCPP_HAS_TIME_ZONE_DATABASE": 1,
    }
    return _options(root, ("libcxx/include", "libcxxabi/include"), builtin, c_library, definitions)


def _options(
    root: Path,
    library: tuple[str, ...],
    builtin: bool,
    c_library: tuple[str, ...],
    definitions: Mapping[str, int],
) -> list[str]:
    names = [*library, *(["include"] if builtin else []), *(f"libc/include/{name}" for name in c_library)]
    folders = [root / "lib" / name for name in names]
    options = [part for folder in folders if folder.is_dir() for part in ("-isystem", str(folder))]
    macros = {**_DEFINITIONS, **definitions}
    return options + [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros.items()]


def _family() -> str:
    machine = platform.machine()
    return "x86" if machine == "x86_64" else machine
