"""The CPU that native code is made for: this one, or a level that others have too."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workbench.errors import UsageError

VARIABLE = "HIPKITTENS_CPU"
NATIVE = "native"


@dataclass(frozen=True)
class Level:
    """A kind of CPU.

    Attributes:
        name: name for HIPKITTENS_CPU.
        machine: architecture, as from `machine`.
        cpu: LLVM's name of it.
        extensions: features in addition to those that LLVM knows for the CPU.
        features: the features that matter here, by LLVM's names.
        software: those of them that the native library computes in software, for tests of code that this CPU
            lacks the instructions for.
    """

    name: str
    machine: str
    cpu: str
    extensions: tuple[str, ...]
    features: frozenset[str]
    software: frozenset[str] = frozenset()

    @property
    def runs_here(self) -> bool:
        """True if this CPU can run the level's code."""
        return self.machine == machine() and self.features - self.software <= host_features()


_V3 = frozenset(("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"))
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_SMALL_TYPES = ("avx512bf16", "avx512vbmi", "avx512vnni")
_TILES = ("amx-tile", "amx-bf16", "amx-int8")
_ARM = ("lse", "fullfp16", "dotprod")
_ARM_SMALL_TYPES = ("fp16fml", "bf16", "i8mm")

LEVELS: Mapping[str, Level] = {
    level.name: level
    for level in (
        Level("x86-64-v3", "x86_64", "x86-64-v3", (), _V3),
        Level("x86-64-v4", "x86_64", "x86-64-v4", (), _V4),
        Level("x86-64-v4-bf16", "x86_64", "x86-64-v4", _SMALL_TYPES, _V4.union(_SMALL_TYPES)),
        Level(
            "x86-64-v4-amx",
            "x86_64",
            "x86-64-v4",
            (*_SMALL_TYPES, *_TILES),
            _V4.union(_SMALL_TYPES, _TILES),
        ),
        Level(
            "x86-64-v4-software-amx",
            "x86_64",
            "x86-64-v4",
            _SMALL_TYPES,
            _V4.union(_SMALL_TYPES, _TILES),
            frozenset(_TILES),
        ),
        Level("armv8", "aarch64", "generic", (), frozenset()),
        Level("armv8.2", "aarch64", "generic", ("v8.2a", *_ARM), frozenset(_ARM)),
        Level(
            "armv8.6",
            "aarch64",
            "generic",
            ("v8.2a", *_ARM, *_ARM_SMALL_TYPES),
            frozenset((*_ARM, *_ARM_SMALL_TYPES)),
        ),
    )
}
"""From the lowest to the highest of a machine: the x86-64 levels of the psABI (3.1.1), the fourth with the
extensions that multiply small types (Zen 4 and later), and with tiles (Sapphire Rapids and later), which
a level for tests replaces by software; Arm's
64-bit CPUs, those since 2018 (Graviton 2, Apple's M1), and those that multiply small types (Graviton 3,
Grace, Apple's M2)."""


# Variables that make OpenMP pin threads; GOMP_CPU_AFFINITY is GCC's, KMP_AFFINITY LLVM's and Intel's.
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


@cache
def machine() -> str:
    """This machine's architecture as Linux names it: "x86_64" or "aarch64"."""
    name = platform.machine()
    # Name in macOS.
    return "aarch64" if name == "arm64" else name


def usable_processors() -> set[int] | None:
    """Numbers of the processors that this process may use; None where the system does not tell (macOS).

    OpenMP that is told to bind threads (OMP_PROC_BIND) pins the thread that loads it, with PyTorch for
    example, to one of its places, and threads that this one starts inherit that. The places together are what
    the process was allowed when OpenMP was loaded, or what OMP_PLACES leaves of it. So a thread whose mask is
    one place counts as allowed on all places; any other mask counts as it is.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    mask = os.sched_getaffinity(0)
    if not any(name in os.environ for name in _BINDING):
        return mask
    places = _openmp_places()
    return set[int]().union(*places) if mask in places else mask


def use_processors(processors: set[int] | None) -> None:
    """Lets the calling thread run on these processors, and the threads and programs that it starts.

    A new thread inherits the mask of the one that started it, which OpenMP may have pinned.

    Args:
        processors: as from `usable_processors` in the thread that started this one.
    """
    if processors is not None and processors != os.sched_getaffinity(0):
        # Fails if a cpuset has lost all of these meanwhile: then the inherited mask is right.
        with suppress(OSError):
            os.sched_setaffinity(0, processors)


def _openmp_places() -> list[set[int]]:
    """Processors of each place of the OpenMP that is loaded (OpenMP 5.2, section 18.3); none without one."""
    library = ctypes.CDLL(None)
    # omp_get_place_num would be shorter, but libgomp pins a thread that asks for the first time.
    if not hasattr(library, "omp_get_place_proc_ids"):
        return []
    places: list[set[int]] = []
    for place in range(library.omp_get_num_places()):
        numbers = (ctypes.c_int * library.omp_get_place_num_procs(place))()
        library.omp_get_place_proc_ids(place, numbers)
        places.append(set(numbers))
    return places


def usable_cores() -> int:
    """Number of cores that this process may use."""
    processors = usable_processors()
    return os.cpu_count() or 1 if processors is None else len(processors)


def levels(of: str) -> list[Level]:
    """The levels of a machine without those in software, from the lowest."""
    return [level for level in LEVELS.values() if level.machine == of and not level.software]


def chosen_level() -> Level | None:
    """The level that HIPKITTENS_CPU requests; None to make code for this CPU.

    Raises:
        UsageError: the value is unknown.
    """
    asked = os.environ.get(VARIABLE, NATIVE)
    if asked == NATIVE:
        return None
    level = LEVELS.get(asked)
    if level is None or level.machine != machine():
        names = [level.name for level in levels(machine())]
        raise UsageError(f"{VARIABLE} is {asked!r}; expected {' or '.join((NATIVE, *names))}")
    return level


# Linux' <asm/hwcap.h> of arm64. LLVM reads /proc/cpuinfo instead, which under QEMU is the host's.
_HWCAP, _HWCAP2 = 16, 26
_ARM_HWCAP = {
    "lse": (_HWCAP, 1 << 8),
    "fullfp16": (_HWCAP, 3 << 9),
    "dotprod": (_HWCAP, 1 << 20),
    "fp16fml": (_HWCAP, 1 << 23),
    "i8mm": (_HWCAP2, 1 << 13),
    "bf16": (_HWCAP2, 1 << 14),
}


def reported_features() -> frozenset[str]:
    """Features of this Arm CPU according to Linux; a compiler knows them only from a list of models."""
    if machine() != "aarch64":
        return frozenset()
    return frozenset(name for name, (word, bits) in _ARM_HWCAP.items() if _auxiliary(word) & bits == bits)


@cache
def host_features() -> frozenset[str]:
    """Features of this CPU, as LLVM names them: "avx512f", "avx512fp16", ..."""
    # LLVM takes 0.1 s to load.
    import llvmlite.binding as llvm

    return reported_features().union(name for name, on in llvm.get_host_cpu_features().items() if on)


@cache
def host_level() -> Level | None:
    """The highest level whose features this CPU has; None if it is below all."""
    having = [level for level in levels(machine()) if level.features <= host_features()]
    return having[-1] if having else None


def features() -> frozenset[str]:
    """Features of the CPU that code is made for."""
    level = chosen_level()
    return host_features() if level is None else level.features


def _auxiliary(kind: int) -> int:
    """A word about the CPU that Linux gives to each process; 0 elsewhere."""
    getauxval = getattr(ctypes.CDLL(None), "getauxval", None)
    if getauxval is None:
        return 0
    getauxval.restype, getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return int(getauxval(kind))


@cache
def identity() -> str:
    """Text that differs between CPUs for which native code differs."""
    # An emulated CPU is recognised only by the words in its list of features.
    lines = [platform.machine(), f"{_auxiliary(_HWCAP):x} {_auxiliary(_HWCAP2):x}"]
    keys = ("model name", "flags", "Features", "CPU implementer", "CPU part", "CPU variant")
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.split("\t")[0].strip() in keys:
                lines.append(line)
            if not line and len(lines) > 2:
                break
    except OSError:
        lines.append(platform.processor())
    return "\n".join(lines)
