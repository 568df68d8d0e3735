"""Derived metrics: values by hand, origins, and missing counters."""

from __future__ import annotations

import pytest

from workbench.origin import Figure, Origin
from workbench.profile.machine import machine
from workbench.profile.metrics import GPU_COUNTERS, METRICS, TIME, derive

GPU = machine("MI355X")


def figures(origin=Origin.MEASURED, **values):
    return {name: Figure(value, "", origin) for name, value in values.items()}


def test_by_hand():
    metrics = derive(
        figures(
            **{TIME: 10.0},
            # Half of 10 us on 1024 matrix cores of 2.4 GHz.
            SQ_VALU_MFMA_BUSY_CYCLES=0.5 * 10e-6 * 2.4e9 * 1024,
            SQ_INSTS_VALU_MFMA_MOPS_BF16=1e9 / 512,
            TCC_HIT_sum=300,
            TCC_MISS_sum=100,
            SQ_LDS_BANK_CONFLICT=25,
            SQ_LDS_IDX_ACTIVE=125,
            FETCH_SIZE=30000,
            WRITE_SIZE=10000,
            SQ_INSTS_VALU_FMA_F32=1000,
            MeanOccupancyPerCU=6,
        ),
        GPU,
    )
    value = {name: m.figure.value for name, m in metrics.items() if m.figure is not None}
    assert value["MFMA utilisation"] == pytest.approx(50)
    assert value["MFMA rate"] == pytest.approx(100)
    assert metrics["MFMA rate"].peak == pytest.approx(2516.6, rel=1e-4)
    assert value["L2 hit rate"] == 75
    assert value["LDS conflict rate"] == 25
    assert value["memory bandwidth"] == pytest.approx(40000 * 1024 / 10e-6 / 1e12)
    assert metrics["memory bandwidth"].share == pytest.approx(4.096 / 8)
    assert value["VALU rate"] == pytest.approx(1000 * 128 / 10e-6 / 1e12)
    assert value["occupancy achieved"] == 1.5
    assert value["arithmetic intensity, HBM"] == pytest.approx((1e9 + 128000) / (40000 * 1024))
    assert {m.figure.origin for m in metrics.values() if m.figure} == {Origin.MEASURED}


def test_levels_of_memory_by_hand():
    metrics = derive(
        figures(
            **{TIME: 10.0},
            TCP_TOTAL_CACHE_ACCESSES_sum=1e6,
            TCP_TCC_READ_REQ_sum=3e5,
            TCP_TCC_WRITE_REQ_sum=1e5,
            TCC_REQ_sum=4e5,
            FETCH_SIZE=30000,
            WRITE_SIZE=10000,
            hbm_bytes_read=2e7,
            hbm_bytes_written=1e7,
        ),
        GPU,
    )
    value = {name: m.figure.value for name, m in metrics.items() if m.figure is not None}
    assert value["L1 bandwidth"] == pytest.approx(6.4)
    assert metrics["L1 bandwidth"].peak == pytest.approx(64 * 256 * 2.4e9 / 1e12)
    assert value["L1 hit rate"] == pytest.approx(60)
    assert value["L2 bandwidth"] == pytest.approx(5.12)
    assert value["Infinity Fabric bandwidth"] == pytest.approx(4.096)
    # Not published for CDNA4; MI300X has one.
    assert metrics["Infinity Fabric bandwidth"].peak is None
    on_mi300x = derive(figures(**{TIME: 10.0}, FETCH_SIZE=1, WRITE_SIZE=0), machine("MI300X"))
    assert on_mi300x["Infinity Fabric bandwidth"].peak == pytest.approx(17.2)
    # Bytes of HBM, if known, rather than those of the cache before it.
    assert value["memory bandwidth"] == pytest.approx(3.0)


def test_atomics_are_misses_of_l1_where_they_were_collected():
    counters = figures(TCP_TOTAL_CACHE_ACCESSES_sum=100, TCP_TCC_READ_REQ_sum=20, TCP_TCC_WRITE_REQ_sum=0)
    assert derive(counters, GPU)["L1 hit rate"].figure.value == 80
    counters |= figures(TCP_TCC_ATOMIC_WITH_RET_REQ_sum=5, TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum=5)
    assert derive(counters, GPU)["L1 hit rate"].figure.value == 70


def test_missing_is_not_zero():
    metrics = derive({}, GPU)
    assert len(metrics) == len(METRICS)
    assert all(m.figure is None for m in metrics.values())
    assert str(metrics["L2 hit rate"]) == "L2 hit rate: not collected"
    half = derive(figures(TCC_HIT_sum=3), GPU)
    assert half["L2 hit rate"].figure is None


def test_a_rate_of_nothing_is_no_rate():
    """Without accesses there is no hit rate."""
    idle = {
        "TCC_HIT_sum": 0,
        "TCC_MISS_sum": 0,
        "TCP_TOTAL_CACHE_ACCESSES_sum": 0,
        "TCP_TCC_READ_REQ_sum": 0,
        "TCP_TCC_WRITE_REQ_sum": 0,
        "SQ_LDS_IDX_ACTIVE": 0,
        "SQ_LDS_BANK_CONFLICT": 0,
        "bytes_read": 0,
        "bytes_written": 0,
        "scalar_bytes": 0,
        "lds_bytes_read": 0,
        "lds_bytes_written": 0,
        "SQ_INSTS_VALU_FMA_F32": 1,
        "SQ_INSTS_VALU_MFMA_MOPS_BF16": 0,
    }
    metrics = derive(figures(**{TIME: 1.0}, **idle), GPU)
    rates = ("L2 hit rate", "L1 hit rate", "LDS conflict rate", "coalescing")
    for name in (*rates, "arithmetic intensity, L2", "arithmetic intensity, LDS"):
        assert str(metrics[name]) == f"{name}: nothing to count"
    assert metrics["L1 bandwidth"].figure.value == 0


def test_the_weakest_origin_wins():
    counters = figures(Origin.COUNTED, SQ_INSTS_VALU_MFMA_MOPS_BF16=100, argument_bytes=1000)
    counters |= figures(Origin.COUNTED, SQ_INSTS_VALU_FMA_F32=0)
    counters |= figures(Origin.MODELLED, **{TIME: 1.0})
    metrics = derive(counters, GPU)
    assert metrics["arithmetic intensity, HBM"].figure.origin is Origin.COUNTED
    assert metrics["MFMA rate"].figure.origin is Origin.MODELLED


def test_the_peak_of_mixed_types():
    """The harmonic mean of the types' peaks, weighted by operations."""
    mixed = figures(**{TIME: 1.0}, SQ_INSTS_VALU_MFMA_MOPS_BF16=100, SQ_INSTS_VALU_MFMA_MOPS_F8=100)
    assert derive(mixed, GPU)["MFMA rate"].peak == pytest.approx(2 / (1 / 2516.6 + 1 / 5033.2), rel=1e-4)


def test_every_row_says_where_it_comes_from():
    names = [m.name for m in METRICS]
    assert len(set(names)) == len(names)
    assert all(m.doc and m.text and m.source for m in METRICS)
    assert "TCC_HIT_sum" in GPU_COUNTERS
