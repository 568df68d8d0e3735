"""The clock under load: right for products and loads outside of its fit, and physically possible."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from workbench import targets
from workbench.profile import clock
from workbench.profile.clock import matrix_cost, settled_clock, sustained_clock
from workbench.profile.launch import DISPATCH_SECONDS, QUANTITIES
from workbench.targets import MI210, MI300X, MI325X, MI350X, MI355X


@pytest.mark.parametrize(("product", "relative"), [(MI325X, MI300X), (MI300X, MI325X)], ids=lambda p: p.name)
def test_one_products_clocks_follow_from_the_others_observations_and_its_watts(
    product: targets.Product, relative: targets.Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = replace(product, under_load=())
    monkeypatch.setattr(clock, "PRODUCTS", (unseen, relative))
    for seen in product.under_load:
        if seen.matrix_permille is not None:
            activity = {"mfma": seen.matrix_permille / 1000}
            assert sustained_clock(unseen, activity, kind=seen.kind) == pytest.approx(seen.clock_hz, rel=0.02)


def test_attention_on_mi355x_keeps_the_clocks_that_were_seen() -> None:
    for seen in MI355X.under_load:
        if seen.vector and seen.matrix_permille is not None:
            share = seen.matrix_permille / 1000
            clock = sustained_clock(MI355X, {"mfma": share, "valu": share}, kind="F16")
            assert clock == pytest.approx(seen.clock_hz, rel=0.04)
            assert clock < sustained_clock(MI355X, {"mfma": share}, kind="F16")


def test_a_power_limit_lowers_the_clock_but_an_idle_board_runs_at_its_peak() -> None:
    full = {"mfma": 0.9}
    assert sustained_clock(MI350X, full, kind="BF16") < sustained_clock(MI355X, full, kind="BF16")
    for product in targets.PRODUCTS:
        assert sustained_clock(product, {}) == product.clock_hz
        assert sustained_clock(product, {"hbm": 1.0, "valu": 0.1}) <= product.clock_hz
    assert sustained_clock(MI210, full) == MI210.clock_hz  # never measured under load


@pytest.mark.parametrize("product", [MI300X, MI325X, MI350X, MI355X], ids=lambda p: p.name)
@pytest.mark.parametrize("unit", ["mfma", "valu", "hbm"])
def test_more_work_never_raises_the_clock(product: targets.Product, unit: str) -> None:
    base = {"mfma": 0.8, "valu": 0.3, "hbm": 0.2}
    clocks = [sustained_clock(product, base | {unit: share / 20}, kind="F16") for share in range(21)]
    assert clocks == sorted(clocks, reverse=True)
    assert clocks[0] > clocks[-1]


def test_zeros_and_short_loads_are_fast() -> None:
    load = {"mfma": 0.83}
    data, zeros = (sustained_clock(MI300X, load, kind="F8", bits=bits) for bits in (1.0, 0.0))
    assert zeros / data == pytest.approx(1792 / 1188, rel=0.01)  # ROCm's blog, fp8 4096 cubed.
    times = [0.0, 1e-3, 0.05, 0.2, 12.0]
    clocks = [sustained_clock(MI300X, load, seconds, kind="F8") for seconds in times]
    assert clocks == sorted(clocks, reverse=True)
    assert clocks[0] == 2030e6
    assert clocks[-1] == pytest.approx(data)


def test_unmeasured_types_follow_from_relatives() -> None:
    # bf16 was measured on CDNA 3 only, where it costs less than fp16.
    bf16, fp16 = matrix_cost(MI355X, "BF16"), matrix_cost(MI355X, "F16")
    assert bf16 is not None
    assert fp16 is not None
    assert 0.8 < bf16 / fp16 < 1
    assert matrix_cost(MI355X, "I8") == matrix_cost(MI355X, "F8")
    assert matrix_cost(MI350X, "F6F4") == matrix_cost(MI355X, "F6F4")


def test_observations_are_data_like_any_other() -> None:
    assert pickle.loads(pickle.dumps(MI355X)) == MI355X
    assert "with vector work" in targets.document()


def test_every_quantity_of_a_launch_has_a_source() -> None:
    assert QUANTITIES["kernel"].seconds == 0 < QUANTITIES["events"].seconds < QUANTITIES["graph"].seconds
    assert all(len(quantity.source) >= 10 and quantity.description for quantity in QUANTITIES.values())
    # The time of the shortest kernels in a profiler includes it.
    assert 0 < DISPATCH_SECONDS < 1.8e-6


@pytest.mark.parametrize("waiting", [0.0, 0.2, 0.5])
def test_the_clock_settles_where_it_allows_the_activity_that_it_has(waiting: float) -> None:
    """A kernel that waits for memory, in seconds, for this part of its time at the peak clock."""

    def allowed(clock: float) -> float:
        busy = 1 / (1 + waiting / (1 - waiting) * clock / MI355X.clock_hz)
        return sustained_clock(MI355X, {"mfma": busy}, kind="BF16")

    peak = float(MI355X.clock_hz)
    settled = settled_clock(peak, allowed)
    assert allowed(settled) == pytest.approx(settled, rel=0.01)
    assert settled == allowed(peak) < peak if not waiting else settled <= peak


@pytest.mark.parametrize("share", [0.75, 0.8, 0.85])
def test_the_clock_settles_for_a_launch_that_memory_bounds_at_the_peak_alone(share: float) -> None:
    """Above this share of the peak clock, the result is the clock that memory needs; below, the one that the
    matrix cores need."""
    kink, peak = share * MI355X.clock_hz, float(MI355X.clock_hz)
    asked: list[float] = []

    def allowed(clock: float) -> float:
        asked.append(clock)
        return sustained_clock(MI355X, {"mfma": min(1.0, kink / clock)}, kind="BF16")

    settled = settled_clock(peak, allowed)
    assert settled in asked
    assert allowed(settled) == pytest.approx(settled, rel=0.01)


def test_a_clock_that_power_does_not_lower_settles_at_once() -> None:
    assert settled_clock(2.4e9, lambda _: 2.4e9) == 2.4e9
    assert settled_clock(2.4e9, lambda _: 2.0e9) == 2.0e9
