"""A compiler for AMD GPUs: its command line, the HIP and C++ headers that it reads, and its linker."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workbench import paths
from workbench.cache import digest, tool_folder

INCLUDE = paths.hip_include_dir()
"""Our HIP headers, for compilers that come without ROCm."""

SHORT_NAMES = ("hip", "rocrand", "hiprand", "openmp", "absent")
"""Folders of HIP headers that sources may also include without the folder name.

The headers in `absent` come from an installation (`installed_headers`), or they report the missing library.
"""

_STRICT_CLANG = 19
"""First release that requires arguments after a name with the keyword `template`."""

_AVOIDED_ENVIRONMENT = ("CCC_OVERRIDE_OPTIONS",)


@dataclass(frozen=True)
class Compiler:
    """A compiler that makes device code here.

    Attributes:
        kind: "hipcc", "clang" or "zig".
        path: path of the program.
        version: version, such as "ROCm 7.0.1 (clang 20.0.0)" or "zig 0.17.1 (clang 22.1.8)".
        reason: reason for choosing it, one sentence.
        passed_over: candidates before it, each with the reason for not choosing it.
        command: the program and its first arguments.
        arguments: arguments of every run, such as paths of headers and linker.
        folders: folders put in front of PATH when it runs.
        headers: origin of the HIP and C++ headers that it reads, for messages.
        fixed_roots: folders whose files change only with the compiler itself.
        identity: digest of the program and its linker; part of every cache key.
    """

    kind: str
    path: Path
    version: str
    reason: str
    passed_over: tuple[tuple[str, str], ...]
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    folders: tuple[str, ...]
    headers: str
    fixed_roots: tuple[str, ...]
    identity: str

    def environment(self, temporary: str) -> dict[str, str]:
        """Environment to run it in, with its temporary files in `temporary`."""
        result = {name: value for name, value in os.environ.items() if name not in _AVOIDED_ENVIRONMENT}
        result["PATH"] = os.pathsep.join([*self.folders, result.get("PATH", os.defpath)])
        result["TMPDIR"] = temporary
        return result

    def device_command(self, arch: str) -> list[str]:
        """Command that compiles HIP source for `arch` to a code object; input and output follow."""
        return [
            *self.command,
            "-x",
            "hip",
            f"--offload-arch={arch}",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            # No symbol that differs from compilation to compilation: equal sources give equal code objects.
            "-fuse-cuid=none",
            *self.arguments,
        ]


@cache
def hip_version() -> tuple[int, int, int]:
    """Major, minor and patch of the HIP that our headers are of, and the emulated device's libraries."""
    text = (INCLUDE / "hip" / "hip_version.h").read_text()
    major, minor, patch = re.findall(r"define HIP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
    return int(major), int(minor), int(patch)


def kernel_headers() -> Path:
    """Folder of the tile library's headers, always on the include path."""
    return paths.include_dir()


def include_folders() -> tuple[Path, ...]:
    """Folders that every compilation searches: the tile library's, and the parent of `families/`."""
    return kernel_headers(), paths.kernels_dir()


def installed_headers() -> list[str]:
    """Flags that find headers of AMD's libraries if those of ROCm or a distribution are installed.

    They come after all others, because HIP's own headers are the workbench's.
    """
    folders = dict.fromkeys(_include_folders())
    installed = [folder for folder in folders if (folder / "hip").is_dir() and not folder.samefile(INCLUDE)]
    return [part for folder in installed for part in ("-idirafter", str(folder))]


def _include_folders() -> list[Path]:
    """Folders of installed headers: those of ROCM_PATH, of AMD's packages, of Debian's."""
    root = os.environ.get("ROCM_PATH")
    roots = (*((Path(root),) if root else ()), paths.rocm_dir(), paths.SYSTEM / "usr")
    return [folder / "include" for folder in roots]


HEADER_LIBRARIES = {"hipcub": "hipcub.hpp", "rocprim": "rocprim.hpp", "thrust": "system/hip"}
"""AMD's header-only libraries by their folders, each with a file or folder that distinguishes it from others
of the same name."""


def installed_libraries() -> dict[str, Path]:
    """The folders of AMD's header-only libraries on this machine: in ROCM_PATH, ROCm's folder, or Debian's.

    The workbench's own replacement of ROCm's folder has none.
    """
    result: dict[str, Path] = {}
    for include in _include_folders():
        for name, sign in HEADER_LIBRARIES.items():
            folder = (include / name).resolve()
            if (folder / sign).exists() and not folder.is_relative_to(INCLUDE.resolve()):
                result.setdefault(name, folder)
    return result


def header_flags(version: str) -> list[str]:
    """Flags for our HIP headers and, after them, installed header-only libraries of AMD.

    Args:
        version: version of the compiler, as in `Compiler.version`.
    """
    flags = ["-isystem", str(INCLUDE)]
    with contextlib.suppress(OSError):
        if libraries := installed_libraries():
            flags += ["-idirafter", str(_linked(libraries))]
    flags += [*short_names(INCLUDE), *installed_headers()]
    release = re.search(r"clang (\d+)", version)
    if release is not None and int(release[1]) >= _STRICT_CLANG:
        # rocPRIM up to ROCm 6.3 has templates that a later clang rejects.
        flags.append("-Wno-error=missing-template-arg-list-after-template-kw")
    return flags


def _linked(libraries: Mapping[str, Path]) -> Path:
    """A folder with a link to each library's folder; raises OSError if the cache cannot be written."""
    name = digest(*(f"{library}={folder}" for library, folder in sorted(libraries.items())))[:16]
    place = tool_folder("headers") / name
    place.mkdir(parents=True, exist_ok=True)
    for library, folder in libraries.items():
        with contextlib.suppress(FileExistsError):
            (place / library).symlink_to(folder)
    return place


def short_names(headers: Path) -> list[str]:
    """Flags that let sources include `hip_bf16.h` for `hip/hip_bf16.h`, as makefiles of ROCm programs do."""
    return [part for folder in SHORT_NAMES for part in ("-idirafter", str(headers / folder))]
