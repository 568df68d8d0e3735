"""Rules on facts with their fault and without: the finding, its place and its change.

test_advice.py tests the gain of a change in a launch.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.profile.faults import FAULTS
from workbench.codeobject.instructions import forms
from workbench.codeobject.occupancy import Occupancy
from workbench.launches import CacheCounts, Replayed
from workbench.origin import Figure, Origin
from workbench.profile.facts import Facts
from workbench.profile.rules import RULES
from workbench.profile.simulation.unit import REASONS, SPAN
from workbench.targets import GFX950

GROUPS = 4096
UNITS = 256


@cache
def form_of(opcode: str) -> Any:
    return next(form for form in forms("gfx950").values() if form.opcode == opcode)


def instruction(address: int, opcode: str) -> Any:
    return SimpleNamespace(
        address=address,
        opcode=opcode,
        record=form_of(opcode).record,
        modifiers={},
        form=form_of(opcode),
        format="",
        src=(),
        dst=(),
    )


def facts(
    code: dict[str, int] | None = None,
    *,
    stalls: dict[str, dict[int, float]] | None = None,
    counters: dict[str, float] | None = None,
    occupancy: Occupancy | None = None,
    caches: CacheCounts | None = None,
    blocks: tuple[tuple[int, ...], ...] = (),
    groups: int = GROUPS,
    arguments: int = 1 << 20,
    flops: int = 0,
) -> Facts:
    """A launch of 1,000 cycles: opcodes with their executions, and cycles of stalls by reason and place.

    The n-th opcode has the address 4 n; a number after "#" distinguishes two of the same opcode.
    """
    listed = [instruction(4 * i, name.partition("#")[0]) for i, name in enumerate(code or {})]
    counts = {4 * i: n for i, n in enumerate((code or {}).values())}
    passed = np.zeros((len(listed) + 8, len(REASONS)))
    for reason, by_address in (stalls or {}).items():
        for address, cycles in by_address.items():
            passed[address // 4, list(REASONS).index(reason)] = cycles
    program = SimpleNamespace(addresses=[4 * i for i in range(len(passed))])
    unit = SimpleNamespace(waves=[SimpleNamespace(start=0.0, end=1000.0)], stalls=passed, program=program)
    unit.spans = np.zeros(0, SPAN)
    run = SimpleNamespace(unit=unit, charged=lambda counts: {})
    model = SimpleNamespace(simulation=run, seconds=1e-4, overhead=1e-6)
    profile: Any = SimpleNamespace(
        model=model,
        again=SimpleNamespace(launch=SimpleNamespace(instructions={i.address: i for i in listed})),
        record=SimpleNamespace(
            counts=counts, grid=(groups, 1, 1), block=(256, 1, 1), steps=SimpleNamespace(blocks=blocks)
        ),
        counters={n: Figure(v, "", Origin.COUNTED, "test") for n, v in (counters or {}).items()},
        instructions=None,
        resources=SimpleNamespace(
            occupancy=occupancy or Occupancy(8, 8, "wave slots", 8), scratch=0, vgpr_spills=0
        ),
        machine=SimpleNamespace(compute_units=UNITS, target=GFX950),
        shape={},
        argument_bytes=arguments,
        work={"flops": flops},
        caches=Replayed((caches,), 1) if caches is not None else None,
    )
    return Facts(profile)


def look(key: str, facts: Facts) -> Any:
    return next(rule for rule in RULES if rule.key == key).look(facts)


def reads(l2_reads: int, l2_hits: int) -> CacheCounts:
    names = CacheCounts.__dataclass_fields__
    return CacheCounts(**{**dict.fromkeys(names, 0), "l2_reads": l2_reads, "l2_read_hits": l2_hits})


@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("registers", "vector registers"),
        ("scalars", "scalar registers"),
        ("lds-size", "LDS"),
        ("block-size", "work-group size"),
    ],
)
def test_what_limits_the_waves(key: str, limit: str) -> None:
    waiting = {"WAIT_MEMORY": {0: 300.0}}
    code = {"s_waitcnt": 10}
    seen = look(key, facts(code, stalls=waiting, occupancy=Occupancy(2, 1, limit, 8)))
    assert seen.change.waves_per_simd == 4
    assert seen.evidence["waves of a SIMD"].value == 2
    cured = {
        "another limit": facts(code, stalls=waiting, occupancy=Occupancy(2, 1, "wave slots", 8)),
        "nothing waits": facts(code, occupancy=Occupancy(2, 1, limit, 8)),
        "there are no more work-groups": facts(
            code, stalls=waiting, occupancy=Occupancy(2, 1, limit, 8), groups=UNITS
        ),
    }
    for why, twin in cured.items():
        assert look(key, twin) is None, why


@pytest.mark.parametrize(
    ("key", "reason", "opcode"),
    [
        ("lds-wait", "WAIT_LDS", "s_waitcnt"),
        ("scalar-wait", "WAIT_SCALAR", "s_waitcnt"),
        ("barriers", "AT_BARRIER", "s_barrier"),
        ("dependence", "DEPENDENCE", "v_add_f32"),
        ("lds-port", "LDS_PORT", "ds_read_b32"),
    ],
)
def test_what_waves_stand_before(key: str, reason: str, opcode: str) -> None:
    code = {opcode: 10, f"{opcode}#2": 10}
    seen = look(key, facts(code, stalls={reason: {0: 100.0, 4: 250.0}}))
    assert seen.address == 4, "the worse of the two"
    assert next(iter(seen.evidence.values())).value == 35.0
    changed = seen.change.independent if key == "dependence" else seen.change.without
    assert changed == {0, 4}
    assert look(key, facts(code, stalls={reason: {0: 50.0, 4: 50.0}})) is None, "a tenth is no matter"
    other = next(name for name in REASONS if name not in ("NONE", reason))
    assert look(key, facts(code, stalls={other: {4: 900.0}})) is None


def test_loads_of_few_bytes() -> None:
    narrow = {f"global_load_dword#{i}": 100 for i in range(8)}
    seen = look("narrow-loads", facts(narrow))
    assert seen.change.merged == ((0, 4, 8, 12), (16, 20, 24, 28)), "one of four stays"
    assert seen.address == 0
    wide = {f"global_load_dwordx4#{i}": 100 for i in range(8)}
    assert look("narrow-loads", facts(wide)) is None
    assert look("narrow-loads", facts({"global_load_dword": 100, **wide})) is None


def test_a_queue_is_shorter_for_wider_loads() -> None:
    narrow = {f"global_load_dword#{i}": 100 for i in range(4)}
    full = {"MEMORY_QUEUE": {4: 300.0}}
    seen = look("memory-queue", facts(narrow, stalls=full))
    assert (seen.address, seen.change.merged) == (4, ((0, 4, 8, 12),))
    assert look("memory-queue", facts(narrow)) is None
    wide = {f"global_load_dwordx4#{i}": 100 for i in range(4)}
    assert look("memory-queue", facts(wide, stalls=full)) is None, "they are as wide as they can be"


def test_bytes_that_are_loaded_again() -> None:
    seen = look("many-loads", facts(counters={"bytes_read": 8 << 20}))
    assert seen.change.l1_hit == 1.0
    assert seen.evidence["bytes read"].value == 8 << 20
    assert look("many-loads", facts(counters={"bytes_read": 1 << 20})) is None
    assert look("many-loads", facts(counters={"bytes_read": 8 << 20}, arguments=0)) is None


def test_an_order_of_tiles_that_l2_cannot_serve() -> None:
    much = {"bytes_read": 8 << 20}
    seen = look("tile-order", facts(counters=much, caches=reads(1000, 300)))
    assert seen.evidence["L2 hit rate"].value == 30.0
    assert seen.change.l2_hit > 0.3
    assert look("tile-order", facts(counters=much, caches=reads(1000, 900))) is None
    once = facts(counters={"bytes_read": 1 << 20}, caches=reads(1000, 0))
    assert look("tile-order", once) is None, "what is read once cannot hit"


def test_vector_instructions_in_a_loop_of_matrix_instructions() -> None:
    mfma = "v_mfma_f32_16x16x32_bf16"
    code = {"v_add_f32": 300, "v_exp_f32": 100, mfma: 100, "v_mul_f32": 999}
    seen = look("matrix-loop", facts(code, blocks=((0, 4, 8), (12,))))
    assert seen.change.without == {0, 4}, "not the block without matrix instructions"
    assert seen.evidence["MFMA"].value == 100
    assert seen.address == 0
    assert look("matrix-loop", facts(code, blocks=((8,), (0, 4, 12)))) is None
    assert look("matrix-loop", facts({"v_add_f32": 300}, blocks=((0,),))) is None


def test_products_of_matrices_without_matrix_cores() -> None:
    code = {"v_fma_f32": 800, "v_add_u32": 200}
    seen = look("no-matrix-cores", facts(code, flops=1 << 30))
    assert seen.change.without == {0}
    assert look("no-matrix-cores", facts(code, flops=1 << 30, counters={"SQ_INSTS_MFMA": 5})) is None
    assert look("no-matrix-cores", facts(code, flops=1 << 20)) is None, "each element is used once"
    assert look("no-matrix-cores", facts({"v_fma_f32": 100, "v_add_u32": 900}, flops=1 << 30)) is None


def test_integer_arithmetic_of_addresses() -> None:
    seen = look("addresses", facts({"v_mad_u64_u32": 40, "v_lshl_add_u64": 10, "v_add_f32": 50}))
    assert seen.change.without == {0, 4}
    assert seen.address == 0
    assert look("addresses", facts({"v_mad_u64_u32": 10, "v_add_f32": 90})) is None


def test_every_rule_has_a_fault_and_a_cured_twin() -> None:
    """Here, or as a kernel in test_advice.py or faults.py: add a new rule to one of them."""
    kernels = {
        *("conflicts", "loads-scattered", "stores-scattered", "transcendental", "conversions", "spills"),
        *("launch", "tail", "few-groups"),
        *(fault.rule for fault in FAULTS),
    }
    here = {
        *("registers", "scalars", "lds-size", "block-size", "lds-wait", "scalar-wait"),
        *("barriers", "dependence", "lds-port", "memory-queue", "narrow-loads"),
        *("many-loads", "tile-order", "matrix-loop", "no-matrix-cores", "addresses"),
    }
    assert {rule.key for rule in RULES} == kernels | here
