"""Memory traffic by level: of an emulated launch, of a GPU's counters, and uncollected."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import workbench as wb
from workbench.origin import Figure, Origin
from workbench.profile.machine import machine
from workbench.profile.metrics import derive
from workbench.views.figures.memory import traffic

SOURCE = """#include <hip/hip_runtime.h>
__global__ void copy(const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i];
}
"""


def result_of(**counters):
    figures = {name: Figure(value, "", Origin.MEASURED) for name, value in counters.items()}
    return SimpleNamespace(counters=figures, argument_bytes=1000, metrics=derive(figures, machine("MI355X")))


def table(view):
    return {row[0]: row[1] for row in view.rows}


def test_every_level_of_an_emulated_launch():
    raw = [torch.zeros(64 * 256 + 32) for _ in range(2)]
    x, out = (r[-r.data_ptr() % 128 // 4 :][: 64 * 256] for r in raw)
    module = wb.compile(SOURCE, arch="gfx950")
    result = wb.profile(module["copy"][64, 256], x, out)
    size = 64 * 256 * 4
    view = traffic(result, None)
    levels = table(view)
    assert {k: v for k, v in levels.items() if k != "lanes, read"} == {
        "LDS, read": 0,
        "LDS, written": 0,
        "lanes, written": size,
        "L1, 64 bytes an access": 2 * size,
        "L2, read": size,
        "L2, written": size,
        "Infinity Fabric, read": size,
        "Infinity Fabric, written": size,
        "HBM, read": size,
        "HBM, written": size,
        "L1 hit rate, %": pytest.approx(25),
        "L2 hit rate, %": 0,
    }
    assert "L2 hit rate 0%" in view.title
    assert set(view.origins) == {Origin.COUNTED, Origin.MODELLED}
    assert {row[0]: row[3] for row in view.rows}["L2, read"] == "modelled"
    assert {row[0]: row[3] for row in view.rows}["L2, written"] == "counted"


def test_counters_of_a_gpu():
    view = traffic(
        result_of(FETCH_SIZE=10, WRITE_SIZE=2, TCP_TCC_READ_REQ_sum=100, TCC_HIT_sum=3, TCC_MISS_sum=1), None
    )
    # HBM itself has no counter after the Infinity Cache: only its minimum is known.
    assert table(view) == {
        "L2, read": 6400,
        "Infinity Fabric, read": 10240,
        "Infinity Fabric, written": 2048,
        "HBM, at least (arguments once)": 1000,
        "L2 hit rate, %": 75,
    }
    assert view.title == "Memory traffic: L2 hit rate 75%"


def test_against_a_baseline():
    now, base = (
        result_of(FETCH_SIZE=10, TCC_HIT_sum=3, TCC_MISS_sum=1),
        result_of(FETCH_SIZE=20, TCC_HIT_sum=1, TCC_MISS_sum=1),
    )
    rows = {row[0]: row[2] for row in traffic(now, base).rows}
    assert rows["Infinity Fabric, read"] == "-50.0%"
    assert rows["L2 hit rate, %"] == "+50.0%"


def test_nothing_collected():
    assert table(traffic(result_of(), None)) == {"HBM, at least (arguments once)": 1000}
    assert traffic(None, None).rows == []
