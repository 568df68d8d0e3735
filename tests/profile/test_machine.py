"""The products' constants in the timing model."""

from __future__ import annotations

import pytest

from workbench.errors import WorkbenchError
from workbench.profile.machine import hierarchy, machine, memory_latency_cycles
from workbench.targets import MI300X, MI325X, MI355X


def test_a_product_is_found_by_hips_name_or_by_its_target() -> None:
    assert machine("AMD Instinct MI325X", "gfx942") is MI325X
    # The name that rocprofv3 gives on machines without a product name.
    assert machine("AMD Radeon Graphics", "gfx950") is MI355X
    with pytest.raises(WorkbenchError, match="product 'B200': expected one of MI355X, MI300X"):
        machine("B200", "sm_100")


def test_unpublished_inputs_of_the_model() -> None:
    with pytest.raises(WorkbenchError, match=r"memory latency of MI210 \(gfx90a\); it works for MI355X"):
        machine("AMD Instinct MI210", "gfx90a")


def test_cycles_and_caches() -> None:
    assert memory_latency_cycles(MI300X) == pytest.approx(218e-9 * 2.1e9)
    caches = hierarchy(MI300X)
    assert (caches.xcds, caches.units) == (8, 38)
    assert (caches.l1_bytes, caches.l2_bytes, caches.mall_bytes) == (32 << 10, 4 << 20, 256 << 20)
