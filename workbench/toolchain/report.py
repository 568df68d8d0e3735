"""Report of the compilers here, and why each can be used or not."""

from __future__ import annotations

from dataclasses import dataclass

from workbench import cache
from workbench.errors import CompilerNotFound
from workbench.targets import LIBRARY_TARGETS, NAMES
from workbench.toolchain.compiler import INCLUDE, Compiler, include_folders, kernel_headers
from workbench.toolchain.device_libraries import find_device_libraries
from workbench.toolchain.search import find_compiler


@dataclass(frozen=True)
class Report:
    """Facts about the toolchain.

    Attributes:
        compiler: the compiler in use; None if there is none.
        problem: why there is no compiler, with the command that would install one; "" if there is one.
        targets: for each target that operators name, and for gfx90a, the version of the compiler that
            compiles for it, or None.
        hip_headers: origin of the HIP and C++ headers.
        header_folders: our own folders on the include path.
        device_libraries: folder of ROCm's device libraries; None if there is none.
        tile_library: True if `kittens.cuh` is available.
        cache_folders: folder of the cache, then a read-only one.
        cache_limit: size in bytes above which the oldest entries are removed.
        cache_usage: size of each kind of entry.
    """

    compiler: Compiler | None
    problem: str
    targets: dict[str, str | None]
    hip_headers: str
    header_folders: tuple[str, ...]
    device_libraries: str | None
    tile_library: bool
    cache_folders: tuple[str, ...]
    cache_limit: int
    cache_usage: tuple[cache.Usage, ...]


def report() -> Report:
    """Look for compilers and report the results; nothing is raised."""
    compiler: Compiler | None = None
    problem = ""
    try:
        compiler = find_compiler()
    except CompilerNotFound as error:
        problem = str(error)
    targets: dict[str, str | None] = {}
    for arch in dict.fromkeys((*NAMES, *LIBRARY_TARGETS)):
        try:
            targets[arch] = find_compiler(arch).version if compiler is not None else None
        except CompilerNotFound:
            targets[arch] = None
    bundled = () if compiler and compiler.kind == "hipcc" else (INCLUDE,)
    return Report(
        compiler=compiler,
        problem=problem,
        targets=targets,
        hip_headers=compiler.headers if compiler else "",
        header_folders=tuple(str(folder) for folder in (*include_folders(), *bundled)),
        device_libraries=str(libraries) if (libraries := find_device_libraries()) is not None else None,
        tile_library=(kernel_headers() / "kittens.cuh").is_file(),
        cache_folders=tuple(map(str, cache.folders())),
        cache_limit=cache.limit(),
        cache_usage=cache.usage(),
    )
