"""Builds the workbench's own C sources into shared libraries at first use.

The wheel stays pure Python and the code is made for the CPU that runs it: the emulator's inner loops want
its widest vectors. The C compiler is the clang of the ziglang wheel, so nothing else need be installed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from workbench import errors
from workbench.cache import Cache, digest
from workbench.progress import announced
from workbench.toolchain import zig

# No contraction and no fast-math: the semantics of GPU instructions are written out, rounding by rounding.
# Loops that gain by unrolling say so themselves: all others unrolled double what there is to compile.
_FLAGS = (
    "-std=gnu17",
    "-O3",
    "-fno-unroll-loops",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-sanitize=all",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-Wall",
    "-g0",
)
_NO_HELPERS = ("-rtlib=none", "-Wl,-z,defs")
"""Without the compiler's helper functions, which zig compiles for 4 s of the processor on a new computer. The
code needs none on the CPUs it was seen on; a link that fails for want of one is made again with them."""
_TIMEOUT_SECONDS = 600.0
_SPACE_MIB = 100


_LEVEL_3 = frozenset(
    ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
)
_LEVEL_4 = _LEVEL_3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_LEVELS = {
    "x86-64-v3": ("x86-64-v3", (), _LEVEL_3),
    "x86-64-v4": ("x86-64-v4", (), _LEVEL_4),
    "x86-64-v4-bf16": (
        "x86-64-v4",
        ("avx512bf16", "avx512vbmi", "avx512vnni"),
        _LEVEL_4 | {"avx512bf16", "avx512vbmi", "avx512vnni"},
    ),
}
"""What code can be made for instead of for this CPU: the x86-64 levels of the psABI (3.1.1), and the fourth
with the extensions that multiply small types (Zen 4, Sapphire Rapids and later). By name: LLVM's name of the
CPU, features on top of it, all features that matter here."""


def cpu_level() -> str | None:
    """The x86-64 level that HIPKITTENS_CPU asks for; None: make code for this CPU.

    Raises:
        UsageError: another value.
    """
    level = os.environ.get("HIPKITTENS_CPU", "native")
    if level != "native" and level not in _LEVELS:
        raise errors.UsageError(f"HIPKITTENS_CPU is {level!r}; expected native, {' or '.join(_LEVELS)}")
    return None if level == "native" else level


def level_features(level: str) -> frozenset[str]:
    """Features of a level, as LLVM names them."""
    return _LEVELS[level][2]


def level_target(level: str) -> tuple[str, tuple[str, ...]]:
    """LLVM's name of the CPU that a level is, and the features that it has besides."""
    return _LEVELS[level][:2]


@cache
def cpu_identity() -> str:
    """Text that differs between CPUs for which native code differs."""
    lines = [platform.machine()]
    try:
        wanted = ("model name", "flags", "Features", "CPU part")
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.split("\t")[0].strip() in wanted:
                lines.append(line)
            if not line and len(lines) > 1:
                break
    except OSError:
        lines.append(platform.processor())
    return "\n".join(lines)


@cache
def compiler_identity() -> str:
    """Name and version of the C compiler.

    Raises:
        CompilerNotFound: ziglang is not installed.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise errors.CompilerNotFound(
            "The emulated device needs a C compiler, and the ziglang package is not installed: "
            f"run `python -m pip install {zig.WHEEL}`."
        )
    return f"ziglang {importlib.metadata.version('ziglang')}"


def build(
    name: str,
    sources: Sequence[Path],
    *,
    depends: Sequence[Path] = (),
    flags: Sequence[str] = (),
    include: Path | None = None,
    soname: str | None = None,
) -> Path:
    """Path of a shared library made from C or assembly files; built unless the cache has it.

    `include` is the folder that `#include "..."` is looked up in besides the source's own. The key is the
    content of `sources` and `depends`, the flags, the compiler and the CPU. Several processes
    that ask at once build it once.

    Raises:
        CompilerNotFound: the C compiler is missing.
        ToolchainError: the sources do not compile or link.
    """
    name_of_cpu, features = level_target(level) if (level := cpu_level()) else ("native", ())
    cpu = "+".join((name_of_cpu.replace("-", "_"), *features))
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        zig.host_target(),
        f"-mcpu={cpu}",
        *_FLAGS,
        *flags,
    ]
    if soname is not None:
        command.append(f"-Wl,-soname,{soname}")
    files = [part for path in (*sources, *depends) for part in (path.name, path.read_bytes())]
    key = digest(name, *command[1:], compiler_identity(), cpu_identity(), *files)
    cache = Cache("native")
    if (found := cache.find_file(key)) is not None:
        return found
    with cache.lock(key), tempfile.TemporaryDirectory(prefix="hipkittens-native-") as scratch:
        if (found := cache.find_file(key)) is not None:
            return found
        library = Path(scratch) / f"lib{name}.so"
        with announced(f"building the emulated device's library {name}, once on this computer"):
            folders = [f"-I{include}"] if include else []
            command += [*folders, *map(str, sources), "-o", str(library)]
            result = _compile(name, [*command, *_NO_HELPERS], library)
            if "undefined symbol" in result.stderr:
                result = _compile(name, command, library)
            _check(name, result, library)
        if (found := cache.put_file(key, library)) is None:
            raise errors.ToolchainError(
                f"The native library {name!r} was built but could not be kept in {cache.path(key).parent}; "
                "set HIPKITTENS_CACHE to a folder that can be written and has room."
            )
        return found


def _compile(name: str, command: list[str], library: Path) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    environment["ZIG_GLOBAL_CACHE_DIR"] = zig.cache_folder()
    environment.setdefault("ZIG_LOCAL_CACHE_DIR", str(library.parent / "zig"))
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            env=environment,
            check=False,
            # Ctrl-C in a terminal ends the run, not what another thread builds for the next one.
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise errors.CompilerTimeout(
            f"Building the workbench's native library {name!r} took more than {_TIMEOUT_SECONDS:.0f} s "
            "and was stopped: is the machine overloaded? Run it again."
        ) from None


def _check(name: str, result: subprocess.CompletedProcess[str], library: Path) -> None:
    if result.returncode != 0 or not library.is_file():
        lines = (result.stderr or result.stdout).strip().splitlines()
        if any("NoSpaceLeft" in line or "No space left" in line for line in lines):
            raise errors.ToolchainError(
                f"Building the workbench's native library {name!r} failed: the disk is full. It needs about "
                f"{_SPACE_MIB} MiB in {zig.cache_folder()} and {library.parent.parent}: "
                "make room there, or set HIPKITTENS_CACHE and TMPDIR to folders that have it."
            )
        words = "\n".join(line for line in lines if not line.startswith("warning(zcu)"))
        raise errors.ToolchainError(
            f"Building the workbench's native library {name!r} with {compiler_identity()} failed "
            f"(exit status {result.returncode}):\n{words[-4000:]}"
        )
