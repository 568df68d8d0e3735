"""What a compiler makes of code that some releases get wrong: compiled and run once, and remembered.

A release is not judged by its number: distributions patch theirs. One kernel holds the known traps
(docs/compilers.md has their history); what it computes is compared with the same in Python. A compiler that
falls into one is passed over where another is here that does not, and named in a warning where there is none.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from workbench.cache import Cache, digest
from workbench.errors import UntrustedCompiler, WorkbenchError
from workbench.targets import WAVE
from workbench.toolchain import Compiler, find_compiler, process, zig
from workbench.toolchain.search import other_compilers, pass_over

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
"""
)
_INPUT = np.arange(1, 2 * _LANES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""e2m1 by its code (OCP Microscaling Formats, 5.3.3)."""
_CODE = np.array([0, 2, 4, 5, 6], np.uint64)
"""Of 0, 1, 2, 3 and 4."""


@dataclass(frozen=True)
class Trap:
    """Something that a release compiles wrongly.

    Attributes:
        name: for people.
        rows: which of the kernel's results show it.
        right: those results, `[rows, 64]`.
        targets: that have the instructions; () for all.
    """

    name: str
    rows: slice
    right: Callable[[], np.ndarray]
    targets: tuple[str, ...] = ()


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


TRAPS = (
    Trap("`~x | y` in 64 bits of a byte x", slice(0, 2), _negated),
    Trap("fp4 to float by the number of a byte", slice(2, 6), _unpacked, ("gfx950",)),
    Trap("float to fp4 by the number of a byte", slice(6, 8), _packed, ("gfx950",)),
)


def faults(compiler: Compiler, arch: str) -> tuple[str, ...]:
    """Names of the traps that a compiler falls into; () also where the trial could not be made."""
    store = Cache("compilers")
    key = digest("trial", compiler.identity, *compiler.device_command(arch), _SOURCE)
    known = store.get(key)
    if known is None:
        # In a process of its own: the one that compiles may want a GPU's HIP library later.
        environment = {
            **os.environ,
            "HIPKITTENS_COMPILER": str(compiler.path),
            "HIPKITTENS_DEVICE": f"emulated:{arch}",
        }
        command = [sys.executable, "-c", f"from {__name__} import main; main({arch!r})"]
        finished = process.run(command, timeout=_PATIENCE, environment=environment)
        if finished.returncode != 0:
            return ()
        known = "\n".join(json.loads(finished.stdout.splitlines()[-1])).encode()
        store.put(key, known or b"\n")
    return tuple(known.decode().split("\n")) if known.strip() else ()


def judge(results: np.ndarray, arch: str) -> list[str]:
    """Names of the traps that the kernel's results `[8, 64]` show."""
    traps = [trap for trap in TRAPS if not trap.targets or arch in trap.targets]
    return [trap.name for trap in traps if not np.array_equal(results[trap.rows], trap.right())]


def _run(compiler: Compiler, arch: str) -> np.ndarray:
    """The kernel's results on the emulated device.

    Raises:
        OSError: the compiler made nothing.
    """
    from workbench import runtime

    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = os.path.join(folder, "trial.co")
        command = [*compiler.device_command(arch), "-O3", "-std=c++20", "-w", "-", "-o", output]
        environment = compiler.environment(folder)
        process.run(command, timeout=_PATIENCE, text=_SOURCE, environment=environment)
        with open(output, "rb") as file:
            code = file.read()
    results = np.zeros((8, _LANES), np.uint64)
    arrays = (_INPUT.copy(), results)
    arguments = struct.pack("<QQ", *(array.ctypes.data for array in arrays))
    buffers = [(array.ctypes.data, array.nbytes) for array in arrays]
    device = runtime.device(f"emulated:{arch}")
    device.load(code).function("trial").launch((1, 1, 1), (_LANES, 1, 1), 0, arguments, buffers=buffers)
    return results


def check(arch: str) -> None:
    """See to it that a compiler that is right compiles for a target, or that a warning names its fault."""
    try:
        _check(find_compiler(arch), arch, bool(os.environ.get("HIPKITTENS_COMPILER")))
    except WorkbenchError:
        return  # what is missing is said by the compilation itself


@cache
def _check(compiler: Compiler, arch: str, is_chosen: bool) -> None:
    wrong = faults(compiler, arch)
    if not wrong:
        return
    what = f"makes wrong code of {', '.join(wrong)}"
    others = [] if is_chosen else other_compilers(compiler, arch)
    right = next((other for other in others if not faults(other, arch)), None)
    if right is not None:
        pass_over(compiler, right, arch, what)
        return
    warnings.warn(
        f"{compiler.version} ({compiler.path}) {what} for {arch}: results may be wrong without a word. "
        f"Install a later release (`pip install {zig.WHEEL}` brings one), and unset HIPKITTENS_COMPILER.",
        UntrustedCompiler,
        stacklevel=4,
    )


def main(arch: str) -> None:
    """Print the names of the traps, for the process that asked."""
    print(json.dumps(judge(_run(find_compiler(arch), arch), arch)))
