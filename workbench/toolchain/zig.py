"""The ziglang wheel: a clang that needs no installation, a C++ library, and headers of two C libraries."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from pathlib import Path

from workbench.cache import tool_folder
from workbench.toolchain.questions import ask

WHEEL = "ziglang==0.17.1"
"""Requirement for pip: later wheels may come without clang."""

GLIBC = (2, 28)
"""The glibc that host code is compiled for: old enough for every system that the other wheels run on."""


def folder() -> Path | None:
    """Folder of the ziglang wheel; None if it is not installed."""
    try:
        spec = importlib.util.find_spec("ziglang")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def cache_folder() -> str:
    """zig's cache folder, for its own start files, helper functions and C++ library."""
    return os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(tool_folder("zig"))


def program() -> Path | None:
    """The zig in the wheel; None if it is not installed."""
    wheel = folder()
    path = wheel / "zig" if wheel is not None else None
    return path if path is not None and os.access(path, os.X_OK) else None


def root_of(zig: Path) -> Path:
    """Folder with the headers of a zig."""
    beside = zig.resolve().parent
    return beside if has_headers(beside) else beside.parent


def has_headers(root: Path) -> bool:
    """True if one of zig's folders has its C++ headers."""
    return (root / "lib" / "libcxx" / "include").is_dir()


def device_headers(zig: Path, *, builtin: bool = False) -> list[str]:
    """Options for zig's libc++ over its musl headers: the same on every machine, whatever is installed.

    Args:
        zig: path of zig.
        builtin: True if the compiler has no headers of its own.

    Raises:
        UnusableError: zig does not answer.
    """
    machine = platform.machine()
    c_library = (f"{machine}-linux-musl", "generic-musl", f"{_family()}-linux-any", "any-linux-any")
    return _options(zig, ("libcxx/include",), builtin, c_library, f"{machine}-linux-musl")


def host_headers(zig: Path, *, builtin: bool = False) -> list[str]:
    """Options for zig's libc++ over an old glibc's headers; arguments and errors as of `device_headers`."""
    family = _family()
    c_library = (f"{family}-linux-gnu", "generic-glibc", f"{family}-linux-any", "any-linux-any")
    return _options(zig, ("libcxx/include", "libcxxabi/include"), builtin, c_library, host_target())


def target(machine: str, system: str) -> str:
    """A machine and its system in zig's terms.

    Args:
        machine: "x86_64" or "aarch64".
        system: "linux" or "macos".
    """
    return f"{machine}-macos" if system == "macos" else f"{machine}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"


def host_target() -> str:
    """Target triple of host code, in zig's terms."""
    return target(platform.machine(), "linux")


def _options(
    zig: Path, library: tuple[str, ...], builtin: bool, c_library: tuple[str, ...], target: str
) -> list[str]:
    names = [*library, *(["include"] if builtin else []), *(f"libc/include/{name}" for name in c_library)]
    folders = [root_of(zig) / "lib" / name for name in names]
    options = [part for folder in folders if folder.is_dir() for part in ("-isystem", str(folder))]
    return options + [f"-D{name}={value}" for name, value in _definitions(zig, target).items()]


def _definitions(zig: Path, target: str) -> dict[str, str]:
    """The macros by which this release configures its C library and its C++ library for a target.

    They change with each release, whose headers do not compile without them, so zig is asked.
    """
    # It needs a folder for its output even if it only reads macros; a home may be read-only.
    folders = {"ZIG_GLOBAL_CACHE_DIR": cache_folder(), "ZIG_LOCAL_CACHE_DIR": cache_folder()}
    question = ("c++", "-target", target, "-dM", "-E", "-x", "c++", os.devnull)
    macros = ask(zig, *question, variables=folders)
    return dict(re.findall(r"^#define (_LIBC(?:PP|XXABI)_\w+|__GLIBC_MINOR__) (.*)$", macros, re.MULTILINE))


def _family() -> str:
    machine = platform.machine()
    return "x86" if machine == "x86_64" else machine
