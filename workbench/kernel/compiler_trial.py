"""Trial of a compiler: code that some releases get wrong, compiled and run once, and remembered.

A release is not judged by its number: distributions patch theirs. A few kernels contain the known traps
(docs/compilers.md has their history); their results are compared with the same computation in Python. A
compiler that falls into one is passed over if another one here does not, and otherwise named in a warning,
unless the trap is a limit: even the newest releases compile it wrongly, only particular code reaches it, and
a flag or a change of the source avoids it. Then only `doctor` names it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from workbench.approximation import Approximation
from workbench.cache import Cache, digest
from workbench.codeobject.bundle import plain_target
from workbench.errors import UntrustedCompiler, WorkbenchError
from workbench.launches import LaunchOptions
from workbench.progress import announced
from workbench.runtime import LoadedModule, build_emulated_later
from workbench.targets import TARGETS, WAVE, runs_on
from workbench.toolchain import Compiler, find_compiler, process, zig
from workbench.toolchain.search import also_forget, other_compilers, pass_over

T = TypeVar("T")

_PATIENCE = 600.0
"""Seconds for a trial, which may have to build the emulated device first."""
_LANES = int(WAVE)
_SOURCE = (
    f"enum {{ lanes = {_LANES} }};"
    + """
typedef unsigned long long word;
typedef float float2_ __attribute__((ext_vector_type(2)));
template <typename T> static __attribute__((device)) word bits(T x) { return __builtin_bit_cast(word, x); }
extern "C" __attribute__((global)) void trial(const word *in, word *out) {
    const unsigned i = __builtin_amdgcn_workitem_id_x();
    const word x = (unsigned char)in[i];
    out[i] = ~x | in[lanes + i];
    out[lanes + i] = x << 10 | 1; // the byte is used again
#if __has_builtin(__builtin_amdgcn_cvt_scalef32_pk_f32_fp4) && defined(__gfx950__)
    const unsigned fours = (unsigned)in[i];
    out[2 * lanes + i] = bits<float2_>(__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(fours, 1.0f, 0));
    out[3 * lanes + i] = bits<float2_>(__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(fours, 1.0f, 1));
    out[4 * lanes + i] = bits<float2_>(__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(fours, 1.0f, 2));
    out[5 * lanes + i] = bits<float2_>(__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(fours, 1.0f, 3));
    const float a = (float)(i % 5), b = (float)(i % 3);
    out[6 * lanes + i] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(fours, a, b, 1.0f, 1);
    out[7 * lanes + i] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(fours, a, b, 1.0f, 2);
#endif
}
extern "C" __attribute__((global)) void unrolled_break(const int *in, long n, int t, int *flag, int *val) {
    for (long o = 0; o < n; o++) {
        int a[2], b[2];
        a[0] = 0;
        b[0] = 0;
        for (long i = 0; i < 2; i++) {
            const long v = t + i;
            int f = 1;
            if (v != 0) {
                const long j = v - 1;
                if (j >= n) break;
                f = in[j];
            }
            a[i] = f;
            b[i] = 1;
        }
        flag[t] = a[0];
        val[t] = b[0];
    }
}
extern "C" __attribute__((global)) void divide(const unsigned *a, const unsigned *b, unsigned *out) {
    const unsigned i = __builtin_amdgcn_workitem_id_x();
    out[i] = (a[i] & 0xffffff) / (b[i] & 0xffffff);
}
"""
)
_INPUT = np.arange(1, 2 * _LANES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""e2m1 by its code (OCP Microscaling Formats, 5.3.3)."""
_CODE = np.array([0, 2, 4, 5, 6], np.uint64)
"""Codes of 0, 1, 2, 3 and 4."""
_ROWS = 10
_LOOPS = [(n, t) for n in range(1, 5) for t in range(6)]
"""Arguments of the kernel `unrolled_break`."""
_FLAGS = np.arange(10, 18, dtype=np.int32)
_SEEDS = range(1, 9)
"""Seeds of reciprocals' errors: the probability that all of them miss a necessary one is 1/256."""
_DIVIDENDS = np.arange(_LANES, dtype=np.uint32) * np.uint32(0x3D0CB1) & np.uint32(0xFFFFFF)
_DIVISORS = _DIVIDENDS + np.uint32(1)
_DIVIDENDS[:2], _DIVISORS[:2] = (0xBF2758, 0xE3170D), (0xBF2759, 0xC32)
_DIVISORS[_DIVISORS > 0xFFFFFF] = 3


@dataclass(frozen=True)
class Trap:
    """A piece of code that some compiler release miscompiles.

    Attributes:
        name: name in messages.
        rows: the rows of the kernel's result that show the fault.
        right: returns the correct values of these rows, `[rows, 64]`.
        targets: targets that have the instructions; () for all.
        when: for a limit: the optimization levels and code in which it occurs, and its effect; "" for other
            faults.
        flags: flags that avoid a limit, cheapest first; () if only a change of the source does.
        around: other ways to avoid it.
    """

    name: str
    rows: slice
    right: Callable[[], np.ndarray]
    targets: tuple[str, ...] = ()
    when: str = ""
    flags: tuple[str, ...] = ()
    around: str = ""

    @property
    def is_limit(self) -> bool:
        """True if a compiler with this fault is used anyway, without a warning."""
        return bool(self.when)


def _negated() -> np.ndarray:
    x = _INPUT[:_LANES] & np.uint64(0xFF)
    return np.stack([~x | _INPUT[_LANES:], x << np.uint64(10) | np.uint64(1)])


def _unpacked() -> np.ndarray:
    bytes_ = _INPUT[:_LANES].view(np.uint8).reshape(_LANES, 8)[:, :4].T
    pairs = np.stack([_FP4[bytes_ & 15], _FP4[bytes_ >> 4]], -1)
    return np.frombuffer(pairs.tobytes(), np.uint64).reshape(4, _LANES)


def _packed() -> np.ndarray:
    lane = np.arange(_LANES)
    byte = _CODE[lane % 5] | _CODE[lane % 3] << np.uint64(4)
    old = _INPUT[:_LANES] & np.uint64(0xFFFFFFFF)
    shifts = np.array([[8], [16]], np.uint64)
    words: np.ndarray = old & ~(np.uint64(0xFF) << shifts) | byte << shifts
    return words


def _broken() -> np.ndarray:
    """[1, 64] flag, and the other number in the upper half, of each pair of arguments."""
    words = np.zeros((1, _LANES), np.uint64)
    for at, (n, t) in enumerate(_LOOPS):
        if t == 0 or t - 1 < n:
            words[0, at] = (1 if t == 0 else int(_FLAGS[t - 1])) | 1 << 32
    return words


def _quotients() -> np.ndarray:
    return (_DIVIDENDS // _DIVISORS).astype(np.uint64)[None]


_FP4_TARGETS = tuple(target.name for target in TARGETS if "F6F4" in target.matrix_rates)

TRAPS = (
    Trap("`~x | y` in 64 bits of a byte x", slice(0, 2), _negated),
    Trap("fp4 to float by the number of a byte", slice(2, 6), _unpacked, _FP4_TARGETS),
    Trap("float to fp4 by the number of a byte", slice(6, 8), _packed, _FP4_TARGETS),
    Trap(
        "a short unrolled loop with a conditional break",
        slice(8, 9),
        _broken,
        when=(
            "at -O2 and -O3, where a loop over a small array is unrolled whole and a condition that is the "
            "same in all lanes leaves it early, elements of the array may hold other values afterwards"
        ),
        flags=("-mllvm -amdgpu-codegenprepare-force-break-large-phis", "-fno-unroll-loops"),
        around="-O1, or `#pragma unroll 1` at the loop",
    ),
    Trap(
        "quotients of 24-bit integers",
        slice(9, 10),
        _quotients,
        when=(
            "from -O1 on, where both operands are known to have 24 bits or fewer, x / y goes through "
            "v_rcp_iflag_f32 without a correction downwards and is one too large where the reciprocal errs "
            "upwards, as hardware's may; the emulated device's does only with approximate="
        ),
        flags=("-mllvm -amdgpu-codegenprepare-disable-idiv-expansion",),
        around='`asm("" : "+v"(y));` in front of the division, which hides the width of y',
    ),
)


LIMITS = {trap.name: trap for trap in TRAPS if trap.is_limit}
"""Limits of compilers, by name."""


def faults(compiler: Compiler, arch: str) -> tuple[str, ...]:
    """Names of the traps that a compiler falls into, including limits; () also if there was no trial."""
    store, key = _verdict(compiler, arch)
    names = store.get(key)
    if names is None:
        # In a separate process, because the compiling one may later need a GPU's HIP library.
        environment = {
            **os.environ,
            "HIPKITTENS_COMPILER": str(compiler.path),
            "HIPKITTENS_DEVICE": f"emulated:{_judging(arch)}",
            # The user's sanitizer and counters do not apply to the trial.
            "HIPKITTENS_SANITIZE": "",
            "HIPKITTENS_TALLY": "",
        }
        command = [sys.executable, "-c", f"from {__name__} import main; main({arch!r})"]
        finished = process.run(command, timeout=_PATIENCE, environment=environment)
        if finished.returncode != 0:
            return ()
        names = "\n".join(json.loads(finished.stdout.splitlines()[-1])).encode()
        store.put(key, names or b"\n")
    return tuple(names.decode().split("\n")) if names.strip() else ()


def _verdict(compiler: Compiler, arch: str) -> tuple[Cache, str]:
    """Where the result of a trial is stored, and its key there."""
    return Cache("compilers"), digest("trial", compiler.identity, *compiler.device_command(arch), _SOURCE)


def _judging(arch: str) -> str:
    """The target on which to try code for a target, with or without features, or for a generic processor."""
    return runs_on(plain_target(arch))[-1]


def judge(results: np.ndarray, arch: str) -> list[str]:
    """Names of the traps that the kernels' results `[10, 64]` show."""
    traps = [trap for trap in TRAPS if not trap.targets or _judging(arch) in trap.targets]
    return [trap.name for trap in traps if not np.array_equal(results[trap.rows], trap.right())]


def results_of(compiler: Compiler, arch: str) -> np.ndarray:
    """The kernels' results on the emulated device, [10, 64].

    Raises:
        OSError: the compiler produced nothing.
    """
    from workbench import runtime

    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = os.path.join(folder, "trial.co")
        command = [*compiler.device_command(arch), "-O3", "-std=c++20", "-w", "-", "-o", output]
        environment = compiler.environment(folder)
        process.run(command, timeout=_PATIENCE, text=_SOURCE, environment=environment)
        with open(output, "rb") as file:
            code = file.read()
    module = runtime.device(f"emulated:{_judging(arch)}").load(code)
    results = np.zeros((_ROWS, _LANES), np.uint64)
    _launch(module, "trial", _LANES, (_INPUT.copy(), results))
    for at, (n, t) in enumerate(_LOOPS):
        outputs = np.zeros((2, len(_FLAGS)), np.uint32)
        _launch(module, "unrolled_break", 1, (_FLAGS.copy(), n, t, *outputs), "<Qqi4xQQ")
        results[8, at] = int(outputs[0, t]) | int(outputs[1, t]) << 32
    for seed in _SEEDS:
        quotients = np.zeros(_LANES, np.uint32)
        options = LaunchOptions(approximate=Approximation(seed))
        _launch(module, "divide", _LANES, (_DIVIDENDS.copy(), _DIVISORS.copy(), quotients), options=options)
        results[9] = quotients
        if not np.array_equal(results[9:10], _quotients()):
            break
    return results


def _launch(
    module: LoadedModule,
    kernel: str,
    lanes: int,
    arguments: tuple[Any, ...],
    layout: str = "",
    options: LaunchOptions | None = None,
) -> None:
    """Launch one work-group.

    Args:
        layout: `struct` format of the arguments; "" if all are pointers.
    """
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    words = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in arguments]
    data = struct.pack(layout or f"<{len(words)}Q", *words)
    buffers = [(array.ctypes.data, array.nbytes) for array in arrays]
    function = module.function(kernel)
    function.launch((1, 1, 1), (lanes, 1, 1), 0, data, buffers=buffers, options=options)


def compiled(arch: str, compile_: Callable[[], T]) -> T:
    """What `compile_` returns, with a compiler that was tried for the target.

    A trial that is still to be done, which first builds the emulated device, runs beside the compilation. If
    it passes the compiler over, the code is compiled again with the one that takes its place.
    """
    try:
        compiler = find_compiler(arch)
        store, key = _verdict(compiler, arch)
    except WorkbenchError:
        return compile_()  # It reports what is missing.
    if store.get(key) is not None:
        check(arch)
        return compile_()
    trial = threading.Thread(target=faults, args=(compiler, arch), daemon=True)
    # The trial's process takes seconds to come to it.
    build_emulated_later()
    with announced(f"first use on this computer: building the emulated device, trying {compiler.version}"):
        trial.start()
        result = compile_()
        trial.join()
    check(arch)
    return result if find_compiler(arch) == compiler else compile_()


def check(arch: str) -> None:
    """Make sure that a correct compiler compiles for a target, or that a warning names its fault."""
    try:
        _check(find_compiler(arch), arch, bool(os.environ.get("HIPKITTENS_COMPILER")))
    except WorkbenchError:
        return  # The compilation itself reports what is missing.


@cache
def _check(compiler: Compiler, arch: str, is_chosen: bool) -> None:
    wrong = _beyond_limits(compiler, arch)
    if not wrong:
        return
    problem = f"makes wrong code of {', '.join(wrong)}"
    others = [] if is_chosen else other_compilers(compiler, arch)
    right = next((other for other in others if not _beyond_limits(other, arch)), None)
    if right is not None:
        pass_over(compiler, right, arch, problem)
        return
    warnings.warn(
        f"{compiler.version} ({compiler.path}) {problem} for {arch}: results may be wrong without a warning. "
        f"Install a later release (`pip install {zig.WHEEL}` brings one), and unset HIPKITTENS_COMPILER.",
        UntrustedCompiler,
        stacklevel=4,
    )


also_forget(_check.cache_clear)


def _beyond_limits(compiler: Compiler, arch: str) -> tuple[str, ...]:
    return tuple(name for name in faults(compiler, arch) if name not in LIMITS)


def main(arch: str) -> None:
    """Print the names of the traps, for the calling process."""
    print(json.dumps(judge(results_of(find_compiler(arch), arch), arch)))
