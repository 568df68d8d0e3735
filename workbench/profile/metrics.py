"""Metrics that follow from counters: one table of named formulas, the same for a GPU and for the emulator.

`METRICS` is the table. A formula reads counters by rocprof's names; if one of them is missing, the metric was
not collected, which is never written as zero. Sources are given with each formula; "ROCm Compute Profiler" is
its documentation at rocm.docs.amd.com/projects/rocprofiler-compute, section "Performance model".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.origin import Figure, Origin
from workbench.profile.counters import MATRIX_TYPES
from workbench.targets import Product

TIME = "time_us"
"""Name under which formulas read the launch's time, microseconds."""

WORK_FLOPS, WORK_BYTES, WAVES_PER_SIMD = "work_flops", "work_bytes", "waves_per_simd"
"""Names of values other than counters: the problem's work (from its spec), and the waves that fit."""

NOT_COLLECTED = "not collected"

NOTHING = "nothing to count"
"""Reason for the absence of a ratio whose denominator is zero, such as a hit rate without an access."""


class Values:
    """Counters for one formula; records which were read.

    Raises:
        KeyError: a counter was not collected.
    """

    def __init__(self, counters: Mapping[str, Figure]) -> None:
        self._counters = counters
        self.read: list[Figure] = []

    def __call__(self, name: str) -> float:
        figure = self._counters[name]
        self.read.append(figure)
        return figure.value

    def first(self, *names: str) -> float:
        """The first of several counters that was collected."""
        return self(next((n for n in names if n in self._counters), names[0]))

    def any_of(self, names: Mapping[str, float]) -> float:
        """Sum of those collected, each times its factor; KeyError if none was."""
        collected = [n for n in names if n in self._counters]
        if not collected:
            raise KeyError(next(iter(names)))
        return sum(self(n) * names[n] for n in collected)

    @property
    def seconds(self) -> float:
        return self(TIME) * 1e-6


Formula = Callable[[Values, Product], float]
Peak = Callable[[Values, Product], "float | None"]


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
        name: short name, for tables and axes.
        unit: unit of the value.
        doc: description of the metric.
        text: the formula in words.
        formula: the formula as a function.
        source: source of the formula.
        peak: largest possible value, in the metric's unit; None if there is no such bound.
        counters: GPU counters that it needs, to request from rocprofv3; empty if there are none for it.
    """

    name: str
    unit: str
    doc: str
    text: str
    formula: Formula
    source: str
    peak: Peak | None = None
    counters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """A metric of one launch.

    Attributes:
        metric: the row of the table.
        figure: value of the metric; None if there is none.
        peak: largest possible value; None if there is no bound.
        absent: why there is no figure: `NOT_COLLECTED` or `NOTHING`; "" if there is one.
    """

    metric: Metric
    figure: Figure | None
    peak: float | None = None
    absent: str = ""

    @property
    def share(self) -> float | None:
        """Achieved fraction of the peak, 0 to 1."""
        if self.figure is None or not self.peak:
            return None
        return self.figure.value / self.peak

    def __str__(self) -> str:
        if self.figure is None:
            return f"{self.metric.name}: {self.absent}"
        of = f", {self.share:.1%} of {self.peak:,.4g}" if self.share is not None else ""
        return f"{self.metric.name}: {self.figure}{of}"


def _matrix_flops(v: Values) -> float:
    return v.any_of({f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": 512 for kind in MATRIX_TYPES})


def _matrix_ceiling(v: Values, machine: Product) -> float:
    """Peak of the mix of types: the operations divided by the time that they need at each type's peak."""
    total = seconds = 0.0
    for kind in MATRIX_TYPES:
        name, peak = f"SQ_INSTS_VALU_MFMA_MOPS_{kind}", machine.matrix_flops(kind)
        try:
            flops = v(name) * 512
        except KeyError:
            continue
        if flops and peak:
            total, seconds = total + flops, seconds + flops / peak
    return total / seconds / 1e12 if seconds else (machine.matrix_flops("BF16") or 0) / 1e12


def _vector_flops(v: Values, m: Product) -> float:
    """All lanes of a wave per instruction; a packed instruction counts once, as in rocprof."""
    lanes = float(m.target.wave_size)
    weights = {"ADD": lanes, "MUL": lanes, "TRANS": lanes, "FMA": 2 * lanes}
    return v.any_of(
        {f"SQ_INSTS_VALU_{kind}_{bits}": w for kind, w in weights.items() for bits in ("F16", "F32", "F64")}
    )


def _flops(v: Values, m: Product) -> float:
    return _matrix_flops(v) + _vector_flops(v, m)


def _lds_bytes(v: Values, machine: Product) -> float:
    try:
        return v("lds_bytes_read") + v("lds_bytes_written")
    except KeyError:
        return (v("SQ_LDS_IDX_ACTIVE") - v("SQ_LDS_BANK_CONFLICT")) * machine.target.lds_bytes_per_clock


def _conflicts(v: Values) -> float:
    """From gfx10 on, the counter has SQC in its name."""
    return v.first("SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT")


def _requested(v: Values, _: Product) -> float:
    try:
        return v("bytes_read") + v("bytes_written")
    except KeyError:
        # Requests of the L1 caches to L2, taken as 64 bytes each unless a counter distinguishes those of 128
        # bytes.
        return (v("TCP_TCC_READ_REQ_sum") + v("TCP_TCC_WRITE_REQ_sum")) * 64


def _fabric_bytes(v: Values) -> float:
    return (v("FETCH_SIZE") + v("WRITE_SIZE")) * 1024


def _hbm_bytes(v: Values) -> float:
    """A GPU has no counter behind the Infinity Cache: its traffic is an upper bound of HBM's."""
    try:
        return v("hbm_bytes_read") + v("hbm_bytes_written")
    except KeyError:
        pass
    try:
        return _fabric_bytes(v)
    except KeyError:
        return v("argument_bytes")


def _l1_misses(v: Values) -> float:
    """Atomics are added where they were collected: few kernels have any."""
    requests = v("TCP_TCC_READ_REQ_sum") + v("TCP_TCC_WRITE_REQ_sum")
    try:
        return requests + v.any_of(
            {"TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 1.0, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 1.0}
        )
    except KeyError:
        return requests


def _coalescing(v: Values) -> float:
    try:
        asked = v("bytes_read") + v("bytes_written") - v("scalar_bytes")
        return _percent(asked, 64 * v("TCP_TOTAL_CACHE_ACCESSES_sum"))
    except KeyError:
        return _percent(v("bytes_read"), 128 * v("lines_128B_read"))


_PROFILER = "ROCm Compute Profiler"
_MFMA_COUNTERS = tuple(
    f"SQ_INSTS_VALU_MFMA_MOPS_{kind}" for kind in ("I8", "F8", "F16", "BF16", "F32", "F64")
)
_VALU_COUNTERS = tuple(f"SQ_INSTS_VALU_{kind}_F32" for kind in ("ADD", "MUL", "FMA", "TRANS"))

METRICS: tuple[Metric, ...] = (
    Metric(
        "MFMA utilisation",
        "%",
        "Part of the time in which the matrix cores are busy.",
        "SQ_VALU_MFMA_BUSY_CYCLES / (matrix cores * clock * time)",
        lambda v, m: (
            100 * v("SQ_VALU_MFMA_BUSY_CYCLES") / (m.compute_units * m.target.simds * m.clock_hz * v.seconds)
        ),
        f"{_PROFILER}, MFMA utilization",
        lambda v, m: 100.0,
        ("SQ_VALU_MFMA_BUSY_CYCLES",),
    ),
    Metric(
        "MFMA rate",
        "TFLOP/s",
        "Matrix operations a second; the peak is that of the mix of input types.",
        "512 * sum of SQ_INSTS_VALU_MFMA_MOPS_* / time",
        lambda v, m: _matrix_flops(v) / v.seconds / 1e12,
        f"{_PROFILER}, MFMA FLOPs",
        _matrix_ceiling,
        _MFMA_COUNTERS,
    ),
    Metric(
        "VALU rate",
        "TFLOP/s",
        "Floating-point operations of vector instructions a second.",
        "64 * (ADD + MUL + TRANS + 2 FMA) / time, SQ_INSTS_VALU_*_F16, F32 and F64",
        lambda v, m: _vector_flops(v, m) / v.seconds / 1e12,
        f"{_PROFILER}, VALU FLOPs",
        lambda v, m: m.vector_flops / 1e12,
        _VALU_COUNTERS,
    ),
    Metric(
        "memory bandwidth",
        "TB/s",
        "Traffic with HBM. A GPU counts what goes to the Infinity Cache before it, which is more; where no "
        "counter gives it, the bytes of all arguments, each once.",
        "(hbm_bytes_read + hbm_bytes_written) / time, or (FETCH_SIZE + WRITE_SIZE) * 1024 / time, or "
        "argument_bytes / time",
        lambda v, m: _hbm_bytes(v) / v.seconds / 1e12,
        f"{_PROFILER}, L2-Fabric bandwidth; rocprofv3's derived counters",
        lambda v, m: m.hbm_bytes_per_second / 1e12,
        ("FETCH_SIZE", "WRITE_SIZE"),
    ),
    Metric(
        "Infinity Fabric bandwidth",
        "TB/s",
        "Traffic of L2 with the Infinity Cache and what is behind it.",
        "(FETCH_SIZE + WRITE_SIZE) * 1024 / time",
        lambda v, m: _fabric_bytes(v) / v.seconds / 1e12,
        f"{_PROFILER}, L2-Fabric bandwidth; the peak is the Infinity Cache's, where it is published",
        lambda v, m: m.infinity_cache_bytes_per_second / 1e12 if m.infinity_cache_bytes_per_second else None,
        ("FETCH_SIZE", "WRITE_SIZE"),
    ),
    Metric(
        "L2 bandwidth",
        "TB/s",
        "Requests to L2, each for a line of 128 bytes, however little of it the kernel uses.",
        "128 * TCC_REQ_sum / time",
        lambda v, m: 128 * v("TCC_REQ_sum") / v.seconds / 1e12,
        f"{_PROFILER}, L2 cache bandwidth",
        lambda v, m: m.l2_bytes_per_second / 1e12,
        ("TCC_REQ_sum",),
    ),
    Metric(
        "L1 bandwidth",
        "TB/s",
        "64-byte pieces that the vector L1 caches were asked for.",
        "64 * TCP_TOTAL_CACHE_ACCESSES_sum / time",
        lambda v, m: 64 * v("TCP_TOTAL_CACHE_ACCESSES_sum") / v.seconds / 1e12,
        f"{_PROFILER}, vL1D cache bandwidth",
        lambda v, m: m.target.timing.l1_bytes_per_cycle * m.compute_units * m.clock_hz / 1e12,
        ("TCP_TOTAL_CACHE_ACCESSES_sum",),
    ),
    Metric(
        "requested bandwidth",
        "TB/s",
        "Traffic that the compute units ask of the caches; the peak is that of L2.",
        "(bytes_read + bytes_written) / time, or 64 * (TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum) / time",
        lambda v, m: _requested(v, m) / v.seconds / 1e12,
        f"{_PROFILER}, L2 bandwidth",
        lambda v, m: m.l2_bytes_per_second / 1e12,
        ("TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum"),
    ),
    Metric(
        "LDS bandwidth",
        "TB/s",
        "Traffic with LDS.",
        "(lds_bytes_read + lds_bytes_written) / time, or 4 * banks * (SQ_LDS_IDX_ACTIVE - "
        "SQ_LDS_BANK_CONFLICT) / time",
        lambda v, m: _lds_bytes(v, m) / v.seconds / 1e12,
        f"{_PROFILER}, LDS theoretical bandwidth",
        lambda v, m: m.lds_bytes_per_second / 1e12,
        ("SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT"),
    ),
    Metric(
        "LDS conflict rate",
        "%",
        "Cycles lost to bank conflicts, over the cycles that the same accesses need without conflicts.",
        "SQ_LDS_BANK_CONFLICT / (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT)",
        lambda v, m: _percent(
            _conflicts(v), v.first("SQ_LDS_IDX_ACTIVE", "SQC_LDS_IDX_ACTIVE") - _conflicts(v)
        ),
        f"{_PROFILER}, LDS bank conflict rate",
        counters=("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"),
    ),
    Metric(
        "L2 hit rate",
        "%",
        "Requests that L2 served itself.",
        "TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)",
        lambda v, m: _percent(v("TCC_HIT_sum"), v("TCC_HIT_sum") + v("TCC_MISS_sum")),
        f"{_PROFILER}, L2 hit rate",
        lambda v, m: 100.0,
        ("TCC_HIT_sum", "TCC_MISS_sum"),
    ),
    Metric(
        "L1 hit rate",
        "%",
        "Requests that the vector L1 caches served themselves.",
        "1 - (TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum + TCP_TCC_ATOMIC_WITH_RET_REQ_sum + "
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum) / TCP_TOTAL_CACHE_ACCESSES_sum",
        lambda v, m: 100 - _percent(_l1_misses(v), v("TCP_TOTAL_CACHE_ACCESSES_sum")),
        f"{_PROFILER}, vL1D cache hit rate",
        lambda v, m: 100.0,
        (
            "TCP_TOTAL_CACHE_ACCESSES_sum",
            "TCP_TCC_READ_REQ_sum",
            "TCP_TCC_WRITE_REQ_sum",
            "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
            "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
        ),
    ),
    Metric(
        "coalescing",
        "%",
        "Bytes that lanes asked for or sent, of the 64-byte pieces that they touch.",
        "(bytes_read + bytes_written - scalar_bytes) / (64 * TCP_TOTAL_CACHE_ACCESSES_sum), or bytes_read / "
        "(128 * lines_128B_read)",
        lambda v, m: min(100.0, _coalescing(v)),
        "definition of the counters",
        lambda v, m: 100.0,
    ),
    Metric(
        "occupancy that fits",
        "waves/SIMD",
        "Waves that a SIMD holds at once, by registers, LDS and work-group size.",
        "workbench.codeobject.occupancy",
        lambda v, m: v(WAVES_PER_SIMD),
        "CDNA3 and CDNA4 ISA guides",
        lambda v, m: m.target.waves_per_simd,
    ),
    Metric(
        "occupancy achieved",
        "waves/SIMD",
        "Waves that were on a SIMD on average.",
        "MeanOccupancyPerCU / 4",
        lambda v, m: v("MeanOccupancyPerCU") / m.target.simds,
        "rocprofv3's derived counters",
        lambda v, m: m.target.waves_per_simd,
        ("MeanOccupancyPerCU",),
    ),
    Metric(
        "arithmetic intensity, HBM",
        "FLOP/byte",
        "Operations for each byte of HBM traffic.",
        "(matrix + vector FLOPs) / HBM bytes",
        lambda v, m: _flops(v, m) / _hbm_bytes(v),
        "Williams et al., Roofline, CACM 52(4), 2009",
    ),
    Metric(
        "arithmetic intensity, L2",
        "FLOP/byte",
        "Operations for each byte asked of the caches.",
        "(matrix + vector FLOPs) / requested bytes",
        lambda v, m: _flops(v, m) / _requested(v, m),
        "Williams et al., Roofline, CACM 52(4), 2009",
    ),
    Metric(
        "arithmetic intensity, LDS",
        "FLOP/byte",
        "Operations for each byte of LDS traffic.",
        "(matrix + vector FLOPs) / LDS bytes",
        lambda v, m: _flops(v, m) / _lds_bytes(v, m),
        "Williams et al., Roofline, CACM 52(4), 2009",
    ),
    Metric(
        "FLOP rate",
        "TFLOP/s",
        "Executed matrix and vector operations a second: the height in the roofline.",
        "(matrix + vector FLOPs) / time",
        lambda v, m: _flops(v, m) / v.seconds / 1e12,
        "Williams et al., Roofline, CACM 52(4), 2009",
    ),
)
"""Every metric, in the order in which they are shown."""


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole


ROOFS = ("MFMA rate", "VALU rate", "memory bandwidth")
"""Metrics whose peaks are the roofs of the roofline."""

GPU_COUNTERS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            "SQ_WAVES",
            "SQ_INSTS_VALU",
            "SQ_INSTS_SALU",
            "SQ_INSTS_SMEM",
            "SQ_INSTS_LDS",
            "SQ_INSTS_VMEM_RD",
            "SQ_INSTS_VMEM_WR",
            *(c for metric in METRICS for c in metric.counters),
        ]
    )
)
"""Counters requested from rocprofv3 by default: all that `METRICS` can use."""


def derive(counters: Mapping[str, Figure], machine: Product) -> dict[str, Measurement]:
    """Every metric from the counters of one launch, in the table's order.

    Args:
        counters: counters by rocprof's names, with the launch's time under `TIME`.
        machine: the GPU's constants.

    Returns:
        metrics by name; `figure` is None if a counter that the formula needs was not collected, or if a rate
        would divide by zero. A metric is modelled if any of its counters is; counted ones give a counted
        metric.
    """
    measurements = {}
    for metric in METRICS:
        values = Values(counters)
        try:
            value = metric.formula(values, machine)
        except (KeyError, ZeroDivisionError) as error:
            absent = NOT_COLLECTED if isinstance(error, KeyError) else NOTHING
            measurements[metric.name] = Measurement(metric, None, absent=absent)
            continue
        peak = None
        if metric.peak is not None:
            peak = metric.peak(Values(counters), machine)
        off = next((figure.error for figure in values.read if figure.error is not None), None)
        figure = Figure(value, metric.unit, weakest(values.read), metric.text, off)
        measurements[metric.name] = Measurement(metric, figure, peak)
    return measurements


def weakest(figures: list[Figure]) -> Origin:
    """Origin of a value computed from figures: modelled if one is, else counted if one is, else measured."""
    origins = {figure.origin for figure in figures}
    for origin in (Origin.MODELLED, Origin.PUBLISHED, Origin.COUNTED):
        if origin in origins:
            return origin
    return Origin.MEASURED
