"""Builds the workbench's own C sources into shared libraries at first use.

The code is made for the CPU that runs it, because the emulator's inner loops need its widest vectors. The C
compiler is the clang of the ziglang wheel, so nothing else has to be installed. A wheel for one kind of
machine includes the libraries at each level of CPU (`workbench.prebuilt`); if they were made from exactly
these sources, they are used and nothing is built.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from workbench import errors
from workbench.cache import Cache, digest
from workbench.progress import announced
from workbench.toolchain import cpu, zig

# No contraction and no fast-math: the semantics of GPU instructions are written out, rounding by rounding.
# Loops that gain by unrolling say so themselves: unrolling all others would double the code to compile.
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
_NO_HELPERS = {"linux": ("-rtlib=none", "-Wl,-z,defs"), "macos": ("-rtlib=none",)}
"""Arguments by system: without the compiler's helper functions, which take zig 4 s of CPU time on a new
computer. The code needed none on the CPUs tried so far; a link that fails for lack of one is repeated."""
_TIMEOUT_SECONDS = 600.0
_SPACE_MIB = 100


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


@dataclass(frozen=True)
class Target:
    """The computer that a library is built for.

    Attributes:
        machine: "x86_64" or "aarch64".
        system: "linux" or "macos".
        level: level of CPU instructions; None for this computer's level.
    """

    machine: str
    system: str
    level: cpu.Level | None = None

    @property
    def suffix(self) -> str:
        """The ending of a shared library's name, such as ".so"."""
        return ".dylib" if self.system == "macos" else ".so"

    def arguments(self, soname: str | None) -> list[str]:
        """The compiler's arguments for this target."""
        name, extensions = "native", tuple(sorted(cpu.reported_features()))
        words = []
        if self.level:
            name, extensions = self.level.cpu, self.level.extensions
            words += ["-DHK_SOFTWARE_TILES"] if self.level.software else []
        # This is how zig writes LLVM's names, with a baseline without a name for the machine's oldest CPUs.
        features = "+".join((name, *extensions)).replace("-", "_").replace(".", "_")
        words += ["-target", zig.target(self.machine, self.system), f"-mcpu={features}"]
        if soname is not None:
            option = f"-install_name,{soname}" if self.system == "macos" else f"-soname,{soname}"
            words.append(f"-Wl,{option}")
        return words


def host() -> Target:
    """This computer, at the level that HIPKITTENS_CPU asks for.

    Raises:
        UsageError: there is no such level.
    """
    return Target(cpu.machine(), "macos" if sys.platform == "darwin" else "linux", cpu.chosen_level())


@dataclass(frozen=True)
class _Order:
    """Another target, and the libraries made for it so far, by their names in a wheel."""

    target: Target
    libraries: dict[str, Path] = field(default_factory=dict)


_order: ContextVar[_Order | None] = ContextVar("order", default=None)


def target() -> Target:
    """Target of `build`: this computer, except inside `made_for`."""
    order = _order.get()
    return order.target if order is not None else host()


@contextlib.contextmanager
def made_for(target: Target) -> Iterator[Mapping[str, Path]]:
    """In this context, `build` makes libraries for another machine or level, which may not run here.

    Returns:
        the libraries, by the names under which an installed wheel looks for them.
    """
    order = _Order(target)
    token = _order.set(order)
    try:
        yield order.libraries
    finally:
        _order.reset(token)


PREBUILT = Path(__file__).resolve().parents[1] / "_prebuilt"
"""Libraries that a wheel includes (`make wheels`), each named by everything that it was made from."""


def brought() -> bool:
    """True if the wheel included libraries that this computer can use."""
    return PREBUILT.is_dir() and cpu.host_level() is not None


def build(
    name: str,
    sources: Sequence[Path],
    *,
    depends: Sequence[Path] = (),
    flags: Sequence[str] = (),
    include: Path | None = None,
    soname: str | None = None,
    versions: Path | None = None,
) -> Path:
    """Path of a shared library made from C or assembly files; built unless a wheel or the cache has it.

    `include` is a folder for `#include "..."` in addition to the source's own; `versions` is a
    linker's version script. The key is the content of `sources`, `depends` and `versions`, the flags, the
    compiler and the CPU. Several processes that ask at the same time build it only once.

    Raises:
        CompilerNotFound: the C compiler is missing.
        ToolchainError: the sources do not compile or link.
    """
    scripts = [versions] if versions is not None else []
    files = [part for path in (*sources, *depends, *scripts) for part in (path.name, path.read_bytes())]
    destination, order = target(), _order.get()

    def file_name(level: cpu.Level) -> str:
        options = replace(destination, level=level).arguments(soname)
        key = digest(name, *options, *_FLAGS, *flags, zig.WHEEL, *files)
        return f"{name}-{level.name}-{key[:24]}{destination.suffix}"

    if order is None and brought():
        level = destination.level or cpu.host_level()
        if level is not None and (path := PREBUILT / file_name(level)).is_file():
            return path
    options = (*destination.arguments(soname), *_FLAGS, *flags)
    key = digest(name, *options, compiler_identity(), cpu.identity(), *files)
    path = _built(name, sources, include, scripts, destination, options, key)
    if order is not None and destination.level is not None:
        order.libraries[file_name(destination.level)] = path
    return path


def _built(
    name: str,
    sources: Sequence[Path],
    include: Path | None,
    scripts: Sequence[Path],
    destination: Target,
    options: Sequence[str],
    key: str,
) -> Path:
    """The library from the cache, to which it is added if it is missing."""
    cache = Cache("native")
    if (path := cache.find_file(key)) is not None:
        return path
    title = f"building the emulated device's library {name}, once on this computer"
    # Announced to those, too, who wait for another thread or process to build it.
    with (
        announced(title),
        cache.lock(key),
        tempfile.TemporaryDirectory(prefix="hipkittens-native-") as scratch,
    ):
        if (path := cache.find_file(key)) is not None:
            return path
        library = Path(scratch) / f"lib{name}{destination.suffix}"
        folders = [f"-I{include}"] if include else []
        command = [sys.executable, "-m", "ziglang", "cc", *options, *folders, *map(str, sources)]
        command += [f"-Wl,--version-script={path}" for path in scripts]
        command += ["-o", str(library)]
        result = _compile(name, [*command, *_NO_HELPERS[destination.system]], library)
        if "undefined symbol" in result.stderr:
            result = _compile(name, command, library)
        _check(name, result, library)
        if (path := cache.put_file(key, library)) is None:
            raise errors.ToolchainError(
                f"The native library {name!r} was built but could not be kept in {cache.path(key).parent}; "
                "set HIPKITTENS_CACHE to a folder that can be written and has room."
            )
        return path


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
            # Ctrl-C in a terminal ends the run, but not the build that another thread makes for the next one.
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
