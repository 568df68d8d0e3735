"""One sample for each figure: its name, its data, and how it is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np
import torch

from workbench import runtime
from workbench.bench.cases import analyses
from workbench.bench.results import OURS, Result
from workbench.bench.run import BenchResult
from workbench.bench.tuning import Candidate, Trial, TuneResult
from workbench.check.compare import Comparison
from workbench.check.results import VerifyResult, VerifyResults
from workbench.codeobject.occupancy import occupancy
from workbench.display import figure_of
from workbench.dtypes import FP32
from workbench.events import Hub
from workbench.hardware.report import Report
from workbench.history.codec import decode
from workbench.history.results import CLASSES
from workbench.kernel.show import Kind, Moment, Moments
from workbench.launches import CacheCounts, Replayed
from workbench.operators import kernels, shape_text
from workbench.operators.tolerances import Tolerance
from workbench.origin import Expected, Figure, Origin
from workbench.profile.chiplets import DispatchOrder, XcdMap, tiles_of
from workbench.profile.machine import machine
from workbench.profile.model import TimeModel
from workbench.profile.results import ProfileResult
from workbench.profile.timing import SweepResult, TimeResult
from workbench.profile.training_step import Call, StepProfile
from workbench.tiles import LayoutResult, view_layout
from workbench.views import benchmarks, hardware
from workbench.views.board import Board
from workbench.views.figures import CARDS
from workbench.views.figures.view import View

GEMM = "gemm/bf16"
DEVICE = "emulated:gfx950"
KEPT = "kept.json"
"""Profiles as the file of runs has them."""

ERROR = Expected(rows=30, median=0.127, low=0.67, high=1.06, kind="gemm times")


@dataclass(frozen=True)
class Sample:
    """A figure of the gallery.

    Attributes:
        name: name, also used for files.
        draws: type of the result, or key of the dashboard's card; None if the figure belongs to a page.
        draw: returns the plotly Figure.
        compiles: True if drawing it runs a kernel.
    """

    name: str
    draws: type | str | None
    draw: Callable[[], Any]
    compiles: bool = False


@cache
def kept() -> dict[str, ProfileResult]:
    """Profiles by name: "small" and "large" of one kernel, "softmax" of another."""
    text = resources.files(__package__).joinpath(KEPT).read_text()
    profiles: dict[str, ProfileResult] = decode(json.loads(text), CLASSES)
    return profiles


def timed(n: int, us: float) -> TimeResult:
    """A modelled time of a square GEMM."""
    seconds = 1e-6 * us
    parts = {"mfma": 0.7 * seconds, "lds": 0.5 * seconds, "valu": 0.3 * seconds, "hbm": 0.2 * seconds}
    fits = occupancy("gfx950", vgprs=128, sgprs=48, lds=65536, block=256)
    model = TimeModel(seconds, parts, 2e-6, fits, machine("MI355X"), error=ERROR)
    shape = kernels[GEMM].shape({"m": n, "n": n, "k": n})
    time, work = model.time, kernels[GEMM].work(shape)
    return TimeResult(GEMM, DEVICE, shape, time, time, time, 0, work, model)


def measured() -> TimeResult:
    """A time as a GPU's clock gives it."""
    low, median, high = (Figure(us, "us", Origin.MEASURED, "HIP events") for us in (27.1, 28.4, 31.9))
    return TimeResult("my_gemm", "gpu:0", {"n": 2048}, median, low, high, 50)


def swept() -> SweepResult:
    """Times over shapes beside published ones."""
    times = {256: 4.1, 512: 5.2, 1024: 13.3, 2048: 26.5, 4096: 92.1, 8192: 610.0}
    return SweepResult(GEMM, [timed(n, us) for n, us in times.items()], kernels[GEMM].published)


def uneven() -> SweepResult:
    """Times over shapes that are no single number."""
    shapes = [{"rows": rows, "cols": cols} for rows in (1024, 16384) for cols in (512, 2048, 8192)]
    times = (3.1, 4.2, 9.9, 11.0, 29.5, 118.0)
    results = []
    for shape, us in zip(shapes, times, strict=True):
        figure = Figure(us, "us", Origin.MODELLED, DEVICE, ERROR)
        work = {"flops": 5 * shape["rows"] * shape["cols"], "bytes": 4 * shape["rows"] * shape["cols"]}
        results.append(TimeResult("activations/softmax", DEVICE, shape, figure, figure, figure, 0, work))
    return SweepResult("activations/softmax", results, ())


def benched(operator: str, us: float, who: str = OURS, **shape: int) -> Result:
    """A row of a benchmark."""
    spec = kernels[operator]
    full = spec.shape(shape)
    error = {"rows": ERROR.rows, "median": ERROR.median, "low": ERROR.low, "high": ERROR.high}
    return Result(
        operator,
        full,
        who,
        DEVICE,
        "MI355X",
        us=us,
        low=us,
        high=us,
        origin="modelled",
        error={**error, "kind": ERROR.kind},
        verified=shape_text(full),
        flops=spec.work(full)["flops"],
        bytes=spec.work(full)["bytes"],
    )


@cache
def benchmark() -> BenchResult:
    """A benchmark of two operators, one of them with a rival."""
    sides = {1024: 13.3, 2048: 26.5, 4096: 92.1, 8192: 610.0}
    norm = "normalization/fused_add_layernorm"
    return BenchResult(
        [
            *(benched(GEMM, us, m=n, n=n, k=n) for n, us in sides.items()),
            *(benched(GEMM, 1.4 * us, "Triton (ours)", m=n, n=n, k=n) for n, us in sides.items()),
            benched(norm, 30.0, rows=16384, cols=2048, drops=1),
        ]
    )


def tuned() -> TuneResult:
    """Candidates of one problem."""
    shape = kernels[GEMM].shape({"m": 1024, "n": 1024, "k": 1024})
    settings: Sequence[tuple[float, str, dict[str, int]]] = (
        (20.0, "ping_pong", {}),
        (13.3, "ping_pong", {"window": 4}),
        (14.9, "ping_pong", {"window": 8, "chunk": 32}),
        (17.0, "double_buffer", {"window": 4}),
        (26.5, "double_buffer", {}),
    )
    trials = [
        Trial(shape, Candidate(variant, options), benched(GEMM, us, m=1024, n=1024, k=1024))
        for us, variant, options in settings
    ]
    default = {shape_text(shape): Candidate("ping_pong")}
    return TuneResult(GEMM, runtime.device(DEVICE), trials, {}, default, 0.01)


def verified(*, broken: bool) -> VerifyResult:
    """A comparison whose errors grow to one corner."""
    import torch

    error = torch.outer(torch.linspace(0, 1, 96), torch.linspace(0, 1, 128)).square() * 0.01
    if broken:
        error[40:56, 64:96] = float("inf")
    compared = Comparison(
        name="out",
        shape=(96, 128),
        dtype="bfloat16",
        tolerance=Tolerance(0.01, 0.01),
        max_error=float("inf") if broken else 0.01,
        mean_error=0.001,
        max_relative_error=0.02,
        mismatches=512 if broken else 0,
        nonfinite_mismatches=512 if broken else 0,
        unwritten=0,
        first=(),
        pytorch_error=0.008,
        flash_bound=0.02,
        note="",
        error=error,
    )
    return VerifyResult("normalization/rmsnorm", {"rows": 96, "cols": 128}, DEVICE, 0, {"out": compared})


def dies(*, orders: int) -> XcdMap:
    """An output of 8 by 8 tiles, dispatched in some orders."""
    writers = np.repeat(np.repeat(np.arange(64).reshape(8, 8), 16, axis=0), 32, axis=1)
    turned = [int(n) for n in np.arange(64).reshape(8, 8).T.ravel()]
    listed = (("as launched", list(range(64)), 3, 1), ("columns first", turned, 1, 1))
    orders_drawn = []
    for name, order, hits, misses in listed[:orders]:
        die = CacheCounts(l2_hits=hits, l2_misses=misses, fabric_reads=81920)
        orders_drawn.append(DispatchOrder(name, order, Replayed((die,) * 8, 0), "cache model of MI355X"))
    return XcdMap(GEMM, DEVICE, {"m": 128, "n": 256}, "c", writers, 8, tiles_of(writers), tuple(orders_drawn))


def shown() -> Moments:
    """Scores of a causal attention with masked entries (-inf), over two waves and two trips."""
    numbers = np.random.default_rng(0)
    row, col = np.indices((16, 32))
    # Lane l of a 16 x 16 accumulator has column l % 16, and four rows from 4 (l / 16) on.
    places = (row // 4 * 16 + col % 16 | (row % 4 + 4 * (col // 16)) << 8).astype(np.uint32)
    moments = []
    for wave in range(2):
        for trip in range(2):
            scores = np.where(
                col + 32 * trip > row + 16 * wave + 24, -np.inf, 2 * numbers.normal(size=row.shape)
            )
            values = torch.from_numpy(scores.astype(np.float32))
            where = ("scores", 31, Kind.REGISTER_TILE, 0, wave, trip)
            moments.append(Moment(*where, FP32, values, places, (1 << 64) - 1))
    return Moments(moments, "gfx950", "scores (line 31)", counted=True)


def layout(tile: str, **question: Any) -> Any:
    """A layout's figure, from a run of the library's code on the emulated device."""
    return figure_of(view_layout(tile, arch="gfx950", **question))


def examined(subject: str, off: float) -> Report:
    """An examination whose times lie around `off` of the reference's, more so the shorter they are."""
    names = (
        "gemm/bf16 m=1024",
        "activations/softmax rows=4096",
        "rotary/rope rows=512",
        "sampling/top_k rows=64",
    )
    times = {
        name: {
            "subject": {"us": us, "origin": "modelled"},
            "reference": {"us": us * (1 + off / us)},
            "text": "",
        }
        for name, us in zip(names, (210.0, 24.0, 8.5, 4.6), strict=True)
    }
    head = {"subject": subject, "reference": "emulated:gfx942,numerics=exact", "arch": "gfx942"}
    return Report(head, {"times": times})


def board(*, baseline: bool = False) -> Board:
    """A board after some runs of two kernels."""
    profiles = kept()
    hub, sample = Hub(), Board()
    hub.subscribe(sample.take)
    small, large, softmax = profiles["small"], profiles["large"], profiles["softmax"]
    for profile in (softmax, small):
        hub.publish("profile", profile.name, profile)
    if baseline:
        sample.pin()
    for result in (large.timing, softmax.timing):
        hub.publish("time", result.name, result)
    failure = {"kind": "run", "error": "AddressFault: lane 40 of wave 3 read past the end", "device": DEVICE}
    hub.publish("failed", GEMM, {**failure, "shape": small.shape})
    hub.publish("profile", large.name, large)
    for of_the_norm in (25.0, 18.0) if baseline else (18.0,):
        hub.publish("step", DEVICE, stepped(of_the_norm))
    return sample


def stepped(of_the_norm: float) -> StepProfile:
    """A training step of a layer whose norm takes so many microseconds."""
    spent = (
        ("mlp", "forward", "gemm/bf16", 50.9),
        ("self_attn", "forward", "attention/forward", 88.4),
        ("input_layernorm", "forward", "normalization/rmsnorm", of_the_norm),
        ("mlp", "backward", "gemm/bf16", 50.9),
        ("self_attn", "backward", "attention/backward", 424.2),
    )
    calls = [
        Call(f"model.layers.{layer}.{module}", phase, operator, {"rows": 8192}, 1)
        for layer in range(2)
        for module, phase, operator, _ in spent
    ]
    step = StepProfile(calls, DEVICE)
    us = {operator: microseconds for _, _, operator, microseconds in spent}
    times = {call.key: replace(timed(2048, us[call.operator]), name=call.operator) for call in calls}
    vars(step)["times"] = times
    return step


def card(make: Callable[[Board], View], *, baseline: bool) -> Any:
    """The figure of a dashboard's card."""
    return make(board(baseline=baseline)).figure


def _cards() -> list[Sample]:
    return [
        Sample(
            f"card-{dashboard_card.key}{suffix}",
            dashboard_card.key,
            partial(card, dashboard_card.make, baseline=pinned),
        )
        for dashboard_card in CARDS
        for suffix, pinned in (("", False), ("-baseline", True))
    ]


_SHARED = "st_bf<64, 64, st_16x32_s>"

SAMPLES: Sequence[Sample] = (
    Sample("time-modelled", TimeResult, lambda: figure_of(timed(2048, 26.5))),
    Sample("time-measured", TimeResult, lambda: figure_of(measured())),
    Sample("sweep", SweepResult, lambda: figure_of(swept())),
    Sample("sweep-shapes", SweepResult, lambda: figure_of(uneven())),
    Sample("profile", ProfileResult, lambda: figure_of(kept()["large"])),
    Sample("errors", VerifyResult, lambda: figure_of(verified(broken=False))),
    Sample("errors-broken", VerifyResults, lambda: figure_of(VerifyResults([verified(broken=True)]))),
    Sample("tuning", TuneResult, lambda: figure_of(tuned())),
    Sample("benchmark", BenchResult, lambda: figure_of(benchmark())),
    Sample("benchmark-bars", None, lambda: benchmarks.operator_bars(benchmark(), GEMM)),
    Sample("benchmark-lines", None, lambda: benchmarks.operator_lines(benchmark(), GEMM)),
    Sample("benchmark-published", None, lambda: benchmarks.analysis_figure(analyses()[0], list(benchmark()))),
    Sample("hardware", None, lambda: hardware.times_figure([examined("emulated:MI300X", 0.6)])),
    Sample(
        "hardware-beside",
        None,
        lambda: hardware.times_figure([examined("emulated:MI300X", 0.6), examined("emulated:MI325X", -0.9)]),
    ),
    Sample("dies", XcdMap, lambda: figure_of(dies(orders=1))),
    Sample("dies-orders", XcdMap, lambda: figure_of(dies(orders=2))),
    Sample("shown", Moments, lambda: figure_of(shown())),
    Sample("layout", LayoutResult, lambda: layout("rt_bf<32, 32, row_l, rt_16x32_s>"), True),
    Sample(
        "layout-access", LayoutResult, lambda: layout(_SHARED, access="load", register="rt_bf<16, 64>"), True
    ),
    *_cards(),
)
"""All figures; `tests/views/test_gallery.py` holds that none is missing."""
