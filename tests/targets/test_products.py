"""Products agree with each other and with AMD's tables; a product is one record."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

import workbench as wb
from workbench import targets
from workbench.errors import UsageError
from workbench.targets import Fact, Product, products

# Dense peaks in TFLOP/s and TOPS as AMD's tables print them: MI350 Series microarchitecture
# (rocm.docs.amd.com, reference/gpu-arch/mi350.html), CDNA 3 white paper table 2, CDNA 2 white paper.
CDNA3 = {"F64": 163.4, "F32": 163.4, "XF32": 653.7, "F16": 1307.4, "BF16": 1307.4, "F8": 2614.9, "I8": 2614.9}
PUBLISHED = {
    "MI355X": {"F64": 78.6, "F32": 157.3, "F16": 2500, "BF16": 2500, "F8": 5000, "I8": 5000, "F6F4": 10000},
    "MI350X": {"F64": 72.1, "F32": 144.2, "F16": 2300, "BF16": 2300, "F8": 4600, "I8": 4600, "F6F4": 9200},
    "MI300X": CDNA3,
    "MI325X": CDNA3,
    "MI210": {"F64": 45.3, "F32": 45.3, "F16": 181.0, "BF16": 181.0, "I8": 181.0},
}
VECTOR = {"MI355X": 157.3, "MI350X": 144.2, "MI300X": 163.4, "MI325X": 163.4, "MI210": 45.3}


@pytest.mark.parametrize("product", targets.PRODUCTS, ids=lambda product: product.name)
def test_peaks_are_those_that_are_published(product: Product) -> None:
    published = PUBLISHED[product.name]
    peaks = {kind: (product.matrix_flops(kind) or 0) / 1e12 for kind in product.target.matrix_rates}
    # Tables round down to two digits from 2 PFLOP/s on: 2,516.6 is 2.5.
    assert peaks == {kind: pytest.approx(value, rel=0.007) for kind, value in published.items()}
    assert product.vector_flops / 1e12 == pytest.approx(VECTOR[product.name], rel=0.001)
    assert product.matrix_flops("F4") is None


# As reports cite AMD: fp32 of the vector units, and fp16 of the matrix units.
RADEON = {
    "RX 9070 XT": (48.7, 194.6),
    "RX 7900 XTX": (61.4, 122.8),
    "RX 7600": (21.75, 43.5),
}


@pytest.mark.parametrize("name", RADEON)
def test_peaks_of_radeon_products_are_those_of_reports(name: str) -> None:
    product = targets.product(name)
    peaks = product.vector_flops / 1e12, (product.matrix_flops("F16") or 0) / 1e12
    for peak, published in zip(peaks, RADEON[name], strict=True):
        assert peak == pytest.approx(published, rel=0.002)


# Gbit/s of a data line: GDDR6 of the cards, LPDDR5X of the processors.
DATA_RATES = {
    "RX 9070 XT": 20,
    "RX 7900 XTX": 20,
    "W7900": 18,
    "RX 7800 XT": 19.5,
    "RX 7600": 18,
    "780M": 7.5,
    "8060S": 8,
}


@pytest.mark.parametrize("name", DATA_RATES)
def test_bandwidth_is_that_of_the_bus(name: str) -> None:
    product = targets.product(name)
    assert product.hbm_bytes_per_second * 8 == DATA_RATES[name] * 10**9 * product.hbm_bus_bits


def test_caches_and_registers_agree_with_sizes_of_the_whole() -> None:
    for product in targets.PRODUCTS:
        unit = product.target
        assert product.units_per_xcd * product.xcds == product.compute_units
        # 512 KiB of vector and 12.5 KiB of scalar registers a compute unit (AMD GPU specifications).
        assert 4 * unit.wave_size * unit.vgprs * unit.simds == 512 << 10
        assert 4 * unit.sgprs * unit.simds == 12.5 * 1024
        assert unit.lds_bytes % unit.lds_granule == 0
    # CDNA 3 white paper's text, and CDNA 2's footnote 4 for one die.
    assert targets.MI300X.l2_bytes_per_second == pytest.approx(34.4e12, rel=0.001)
    assert targets.MI210.l2_bytes_per_second == pytest.approx(6.96e12, rel=0.001)


def test_products_differ_where_they_should() -> None:
    def differing(first: Product, other: Product) -> set[str]:
        return {f.name for f in fields(first) if getattr(first, f.name) != getattr(other, f.name)}

    assert differing(targets.MI355X, targets.MI350X) == {
        "name",
        "clock_hz",
        "board_power_watts",
        "under_load",
    }
    assert differing(targets.MI300X, targets.MI325X) == {
        *("name", "board_power_watts", "hbm_bytes", "hbm_bytes_per_second", "under_load")
    }


def test_products_by_name() -> None:
    assert targets.product("AMD Instinct MI325X") is targets.MI325X
    assert targets.product("mi350x") is targets.MI350X
    assert [targets.default_product(name).name for name in targets.NAMES] == ["MI355X", "MI300X", "MI210"]
    with pytest.raises(UsageError, match=r"product 'B200': expected one of MI355X, .*"):
        targets.product("B200")


MI999X = replace(
    targets.MI300X,
    name="MI999X",
    compute_units=Fact(16, "", "made up for a test"),
    clock_hz=Fact(1000, "MHz", "made up for a test"),
    hbm_bytes=Fact(32, "GiB", "made up for a test"),
)


@pytest.fixture
def with_another_product(monkeypatch: pytest.MonkeyPatch) -> Product:
    for module in (targets, products):
        monkeypatch.setattr(module, "PRODUCTS", (*targets.PRODUCTS, MI999X))
    return MI999X


def test_a_new_product_is_one_record(with_another_product: Product) -> None:
    from workbench.emulator.hip.devices import properties
    from workbench.emulator.node.device import Node
    from workbench.profile.machine import hierarchy, machine

    ordinal = len(targets.PRODUCTS) - 1
    product = Node().devices[ordinal].product
    assert product is with_another_product
    attributes = properties(product, ordinal)
    assert attributes["name"] == b"AMD Instinct MI999X"
    assert attributes["gcnArchName"].startswith(b"gfx942")
    assert (attributes["multiProcessorCount"], attributes["clockRate"]) == (16, 1_000_000)
    assert attributes["totalGlobalMem"] == 32 << 30
    assert machine(attributes["name"].decode()) is with_another_product
    assert hierarchy(machine("MI999X")).units == 2
    assert targets.default_product("gfx942").name == "MI300X"


def test_a_kernel_on_another_product_of_its_target() -> None:
    """A product of the same target has the same code and counts, and its own clock."""
    kernel = wb.compile(
        "#include <hip/hip_runtime.h>\n__global__ void one(float *x) { x[threadIdx.x] += 1; }", arch="gfx950"
    )["one"]
    usual, slower = (
        wb.time(kernel[256, 256], torch.zeros(256), device=f"emulated:{name}")
        for name in ("MI355X", "MI350X")
    )
    assert (usual.device, slower.device) == ("emulated:gfx950", "emulated:mi350x")
    assert slower.median.source == "timing model of MI350X"
    assert slower.model.parts["valu"] == pytest.approx(usual.model.parts["valu"] * 2400 / 2200)
    assert slower.model.parts["hbm"] == usual.model.parts["hbm"]
