"""Targets and products: figures agree with each other and with AMD's tables; a product is one record."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench import targets
from workbench.codeobject.decoder import forms
from workbench.errors import UsageError
from workbench.targets import Fact, Product, Target
from workbench.tiles.elements import torch_dtype

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


@pytest.mark.parametrize("record", [*targets.TARGETS, *targets.PRODUCTS], ids=lambda record: record.name)
def test_every_number_has_a_source(record: Target | Product) -> None:
    known = targets.facts(record)
    assert len(known) >= 9
    assert [name for name, fact in known.items() if len(fact.source) < 20] == []
    bare = [f.name for f in fields(record) if type(getattr(record, f.name)) in (int, float)]
    assert bare == []


def test_a_fact_computes_in_base_units_and_prints_as_stated() -> None:
    bandwidth = Fact(5.3, "TB/s", "a data sheet")
    assert (bandwidth, bandwidth.stated) == (5_300_000_000_000, "5.3 TB/s")
    assert (Fact(160, "KiB", ""), Fact(2100, "MHz", ""), Fact(304, "", "")) == (163840, 2_100_000_000, 304)
    again = pickle.loads(pickle.dumps(bandwidth))
    assert (again, again.stated, again.source) == (bandwidth, "5.3 TB/s", "a data sheet")


@pytest.mark.parametrize("product", targets.PRODUCTS, ids=lambda product: product.name)
def test_peaks_are_those_that_are_published(product: Product) -> None:
    published = PUBLISHED[product.name]
    peaks = {kind: (product.matrix_flops(kind) or 0) / 1e12 for kind in product.target.matrix_rates}
    # Tables round down to two digits from 2 PFLOP/s on: 2,516.6 is 2.5.
    assert peaks == {kind: pytest.approx(value, rel=0.007) for kind, value in published.items()}
    assert product.vector_flops / 1e12 == pytest.approx(VECTOR[product.name], rel=0.001)
    assert product.matrix_flops("F4") is None


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
    def differing(one: Product, other: Product) -> set[str]:
        return {f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)}

    assert differing(targets.MI355X, targets.MI350X) == {
        "name",
        "clock_hz",
        "board_power_watts",
        "under_load",
    }
    assert differing(targets.MI300X, targets.MI325X) == {
        *("name", "board_power_watts", "hbm_bytes", "hbm_bytes_per_second", "under_load")
    }


def test_names() -> None:
    assert targets.target("gfx942:sramecc+:xnack-") is targets.GFX942
    assert targets.product("AMD Instinct MI325X") is targets.MI325X
    assert targets.product("mi350x") is targets.MI350X
    assert [targets.default_product(name).name for name in targets.NAMES] == ["MI355X", "MI300X", "MI210"]
    with pytest.raises(UsageError, match=r"target 'gfx1100': expected one of gfx950, gfx942, gfx90a"):
        targets.target("gfx1100")
    with pytest.raises(UsageError, match=r"product 'B200': expected one of MI355X, .*"):
        targets.product("B200")


def test_fp8_is_where_the_instructions_are() -> None:
    for target in targets.TARGETS:
        opcodes = {form.opcode for form in forms(target.name).values()}
        has_them = any(re.search(r"_(fp8|bf8)(_|$)", opcode) for opcode in opcodes)
        assert has_them == (target.fp8 is not None) == ("F8" in target.matrix_rates), target.name
    assert targets.FNUZ.type_for("float8_e5m2") == "float8_e5m2fnuz"
    assert targets.OCP.type_for("float8_e5m2") == "float8_e5m2"
    assert targets.OCP.type_for("float16") is None
    with pytest.raises(UsageError, match="gfx90a has no instructions on 8-bit floats; gfx950, gfx942 have"):
        torch_dtype("fp8e4m3", "gfx90a")


@pytest.mark.parametrize("arch", targets.NAMES)
def test_a_kernel_reads_fp8_in_the_encoding_of_its_type(arch: str) -> None:
    source = """#include <hip/hip_fp8.h>
__global__ void widen(const __hip_fp8_e4m3 *x, const __hip_fp8_e4m3_fnuz *y, float *out) {
  out[threadIdx.x] = float(x[threadIdx.x]);
  out[threadIdx.x + 256] = float(y[threadIdx.x]);
}"""
    codes = torch.arange(256, dtype=torch.uint8)
    x, y, out = codes.view(torch.float8_e4m3fn), codes.view(torch.float8_e4m3fnuz), torch.zeros(512)
    wb.compile(source, arch=arch)["widen"][1, 256](x, y, out)
    assert torch.equal(out.nan_to_num(1000), torch.cat((x.float(), y.float())).nan_to_num(1000))


def test_the_page_is_what_the_records_say() -> None:
    page = Path(__file__).parents[1] / "docs" / "targets.md"
    assert page.read_text(encoding="utf-8") == targets.document(), "run python -m workbench.targets"


MI999X = replace(
    targets.MI300X,
    name="MI999X",
    compute_units=Fact(16, "", "made up for a test"),
    clock_hz=Fact(1000, "MHz", "made up for a test"),
    hbm_bytes=Fact(32, "GiB", "made up for a test"),
)


@pytest.fixture
def with_another_product(monkeypatch: pytest.MonkeyPatch) -> Product:
    monkeypatch.setattr(targets, "PRODUCTS", (*targets.PRODUCTS, MI999X))
    return MI999X


def test_a_new_product_is_one_record(with_another_product: Product) -> None:
    from workbench.emulator.hip.devices import properties
    from workbench.emulator.node.device import Node
    from workbench.profile.machine import hierarchy, machine

    ordinal = len(targets.PRODUCTS) - 1
    found = Node().devices[ordinal].product
    assert found is with_another_product
    known = properties(found, ordinal)
    assert known["name"] == b"AMD Instinct MI999X"
    assert known["gcnArchName"].startswith(b"gfx942")
    assert (known["multiProcessorCount"], known["clockRate"]) == (16, 1_000_000)
    assert known["totalGlobalMem"] == 32 << 30
    assert machine(known["name"].decode()) is with_another_product
    assert hierarchy(machine("MI999X")).units == 2
    assert targets.default_product("gfx942").name == "MI300X"


def test_a_kernel_on_another_product_of_its_target() -> None:
    """The same code and counts; the clock of the product that was named."""
    kernel = wb.compile("__global__ void one(float *x) { x[threadIdx.x] += 1; }", arch="gfx950")["one"]
    usual, slower = (
        wb.time(kernel[256, 256], torch.zeros(256), device=f"emulated:{name}")
        for name in ("MI355X", "MI350X")
    )
    assert (usual.device, slower.device) == ("emulated:gfx950", "emulated:mi350x")
    assert slower.median.source == "timing model of MI350X"
    assert slower.model.parts["valu"] == pytest.approx(usual.model.parts["valu"] * 2400 / 2200)
    assert slower.model.parts["hbm"] == usual.model.parts["hbm"]


def test_addresses_in_lds_by_the_isa_guides() -> None:
    """Loads to LDS: M0[15:2] with 64 KiB (ISA guides, 'Memory buffer load to LDS'), M0[17:2] with 160 KiB."""
    masks = {known.name: known.lds_address_mask for known in targets.TARGETS}
    assert masks == {"gfx90a": 0xFFFC, "gfx942": 0xFFFC, "gfx950": 0x3FFFC}


def test_code_asks_targets_for_facts_and_not_for_their_names() -> None:
    package = Path(wb.__file__).parent
    by_name = re.compile(r"""[!=]= ["']gfx|["']gfx\w+["'] [!=]=|target [!=]= 0x""")
    sources = [path for suffix in ("py", "c", "h") for path in package.rglob(f"*.{suffix}")]
    assert len(sources) > 200
    found = [
        f"{path.relative_to(package)}:{number}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "node_modules" not in path.parts and by_name.search(line)
    ]
    assert found == []
