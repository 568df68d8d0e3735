"""Clocks that others saw products sustain under a load."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.targets.fact import Fact
from workbench.targets.sources import GLUON


@dataclass(frozen=True, kw_only=True)
class UnderLoad:
    """A clock that others saw a product sustain under a load; `profile.clock` is fitted only to these.

    Attributes:
        kind: input type of the matrix cores, as rocprof names it.
        clock_hz: the sustained clock.
        matrix_permille: fraction of the cycles of all matrix cores that was in use; None if unknown.
        watts: power that the board drew; None for its maximum.
        vector: True if vector units were busy too, as in attention.
        zeros: True if all operands were zero.
    """

    kind: str
    clock_hz: Fact
    matrix_permille: Fact | None
    watts: Fact | None = None
    vector: bool = False
    zeros: bool = False

    def __str__(self) -> str:
        share = "" if self.matrix_permille is None else f" {self.matrix_permille / 10:.1f} % busy"
        also = ", with vector work" * self.vector + ", zeros" * self.zeros
        return f"{self.kind} matrix cores{share}{also}"


_MAF = "ROCm blog 'Measuring Max-Achievable FLOPs, part 2'"
_MAF_SET_UP = "M 4096, N 4864 (fp8: 3648), K 32896, hipBLASLt, trigonometric data"


def _maf(kind: str, clock: float, tflops: float, flops_a_clock: int, note: str = "") -> UnderLoad:
    """A row of ROCm's table of achievable matrix rates, with their clocks."""
    share = tflops * 1e12 / (flops_a_clock * clock * 1e6)
    return UnderLoad(
        kind=kind,
        clock_hz=Fact(clock, "MHz", f"{_MAF}, {_MAF_SET_UP}{note}"),
        matrix_permille=Fact(round(1000 * share), "permille", f"{_MAF}: {tflops} TFLOP/s at that clock"),
    )


def _gluon_942(clock: float, tflops: float, version: str) -> UnderLoad:
    """A row of the gfx942 GEMM's note: 12 s of a loop, at 750 W."""
    source = f"{GLUON}, kernels/gemm/gfx942/intra_wave/note.md: fp16 4096 x 4864 x 8256, 12 s, {version}"
    share = tflops * 1e12 / (304 * 2048 * clock * 1e6)
    return UnderLoad(
        kind="F16",
        clock_hz=Fact(clock, "MHz", source),
        matrix_permille=Fact(round(1000 * share), "permille", f"{source}: {tflops} TFLOP/s at that clock"),
    )


def _implied(kind: str, tflops: float, flops_a_clock: int, percent: float, setting: str) -> UnderLoad:
    """A clock that follows from a rate and the share of cycles in which the matrix cores work in the loop.

    It is a little low, since the rate includes the time before and after the loop, and the share does not.
    """
    source = f"{GLUON}, kernels/gemm, {setting}: {tflops} TFLOP/s with {percent} % of the loop's cycles"
    return UnderLoad(
        kind=kind,
        clock_hz=Fact(
            round(tflops * 1e6 / (256 * flops_a_clock * percent / 100)), "MHz", f"implied by {source}"
        ),
        matrix_permille=Fact(10 * percent, "permille", source),
    )


def _attention(clock: float, tflops: float, watts: float, setting: str) -> UnderLoad:
    """A row of the note on attention: fp16, dim 128, 16,320 tokens, 64 heads, on an MI355X of 1,400 W."""
    source = f"{GLUON}, kernels/attention/note.md, {setting}"
    share = tflops * 1e12 / (256 * 4096 * clock * 1e6)
    return UnderLoad(
        kind="F16",
        clock_hz=Fact(clock, "MHz", source),
        matrix_permille=Fact(round(1000 * share), "permille", f"{source}: {tflops} TFLOP/s at that clock"),
        watts=Fact(watts, "W", source),
        vector=True,
    )


MI300X_LOAD = (
    _maf("F16", 1115, 654, 304 * 2048),
    _maf("BF16", 1207, 708, 304 * 2048),
    _maf("F8", 1230, 1273, 304 * 4096, "; its footnote 4 prints 1,273 MHz, which is the rate"),
    UnderLoad(
        kind="F8",
        clock_hz=Fact(1188, "MHz", f"{_MAF}, footnote 1: fp8 4096 cubed, trigonometric data"),
        matrix_permille=None,
    ),
    UnderLoad(
        kind="F8",
        clock_hz=Fact(1792, "MHz", f"{_MAF}, footnote 1: fp8 4096 cubed, zeros"),
        matrix_permille=None,
        zeros=True,
    ),
    _gluon_942(1379, 579.4, "opt1"),
    _gluon_942(1319, 592.0, "opt2"),
    _gluon_942(1348, 584.6, "opt2, a later session"),
    _gluon_942(1283, 605.3, "opt3, a later session"),
)
MI325X_LOAD = (
    _maf("F16", 1354, 794, 304 * 2048, "; footnote 4 has 777.8 TFLOP/s"),
    _maf("BF16", 1447, 843, 304 * 2048),
    _maf("F8", 1464, 1519, 304 * 4096),
)
MI355X_LOAD = (
    _implied("F16", 1567, 4096, 97.96, "4096 x 4096 x 8192, 4 waves v7"),
    _implied("F16", 1421, 4096, 98.66, "4096 x 4096 x 8192, 4 waves v9"),
    _implied("F16", 1485, 4096, 99.8, "4096 x 4096 x 16384, 8 waves"),
    _implied("F16", 1460, 4096, 97.7, "4096 x 4096 x 16384, 4 waves v9"),
    _implied("F16", 1489, 4096, 98.75, "ROCm's blog, 4096 x 4096 x 8192, 4 waves"),
    _implied("F8", 3094, 8192, 99.9, "4096 x 4096 x 16384, 8 waves"),
    _implied("F8", 3177, 8192, 93.75, "4096 x 4096 x 16384, 4 waves llir"),
    _implied("F8", 3231, 8192, 98.06, "4096 x 4096 x 16384, 4 waves llir, AGPRs"),
    _implied("F8", 3151, 8192, 96.22, "4096 x 4096 x 16384, 8 waves v2.1"),
    _implied("F8", 3257, 8192, 99.72, "ROCm's blog, 4096 x 4096 x 16384, 4 waves"),
    _implied("F6F4", 5189, 16384, 93.86, "4096 x 4096 x 32768, mxfp4, 4 waves v1"),
    _implied("F6F4", 5255, 16384, 92.41, "ROCm's blog, 4096 x 4096 x 32768, mxfp4, 4 waves"),
    _attention(1435.7, 1243.0, 1399.7, "fav4"),
    _attention(1485.6, 1168.5, 1396.3, "fav3"),
    _attention(1492, 1242, 1400, "FlyDSL, lazy rescale"),
)
BURST = Fact(
    2030, "MHz", f"{GLUON}, kernels/gemm/gfx942: at the start of a load, 1,980 to 2,075 in Triton's do_bench"
)
SETTLING = Fact(
    100,
    "ms",
    "no source says it: longer than Triton's do_bench (25 ms of warm-up, 100 of runs), which sees the burst "
    "clock, and far shorter than loops of 12 s, which do not",
)
