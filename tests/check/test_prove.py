"""Proofs by schedules: each kind of fault has one that is small and repeats, and right kernels have none."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
import torch

import workbench as wb
from tests.emulator.sanitizer.seeded import CASES, HEAD
from workbench.check.schedules import Proof, prove
from workbench.errors import UsageError
from workbench.schedules import parsed
from workbench.targets import TILE_TARGETS

FAULTS = (
    "vmcnt",
    "lgkmcnt",
    "scalar_load_out_of_order",
    "load_to_lds_published",
    "lds_overwritten_before_read",
    # As in HipKittens' GEMM of MXFP8: neither a wait nor a barrier between a read and the load over it.
    "lds_overwritten_by_a_load_of_the_same_wave",
    "lds_read_after_write",
    "lds_write_after_read",
    "global_between_groups",
    "global_sum_without_atomic",
    "data_after_the_flag",
    "lds_flag_before_a_load_to_lds",
)
"""Seeded faults of waits and races, each with a schedule that changes a result."""

RIGHT = ("lds_read_after_write", "load_to_lds_published", "data_after_the_flag", "global_sum_without_atomic")
"""Cases that are right without their fault."""


@cache
def seeded(arch: str, fault: bool) -> wb.Module:
    cases = [f"namespace {name} {{\n{CASES[name].source}\n}}" for name in dict.fromkeys((*FAULTS, *RIGHT))]
    define = ["FAULT"] if fault else []
    return wb.compile(HEAD + "\n".join(cases), arch=arch, define=define, name="schedules.hip")


def runner(name: str, arch: str, fault: bool) -> Callable[[], list[torch.Tensor]]:
    case = CASES[name]
    kernel = seeded(arch, fault)[f"{name}::k"]

    def run() -> list[torch.Tensor]:
        values, out = torch.arange(case.elements, dtype=torch.float32), torch.zeros(case.elements)
        launch = wb.Launch(case.grid, case.block)
        kernel.launch(launch, (values, out), {}, device=wb.device(f"emulated:{arch}"))
        return [values, out]

    return run


def count_of_deviations(text: str) -> int:
    """Instructions that a schedule names; 0 for one that orders whole turns."""
    schedule = parsed(text)
    assert not any((s.kind or s.percent) for s in (schedule.hold, schedule.late)), text
    return len(schedule.hold.addresses) + len(schedule.late.addresses)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_small_proof_that_repeats(
    name: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner(name, arch, fault=True)
    plain = run()
    proof = prove(run)
    assert proof is not None
    assert proof.differences > 0
    assert proof.tried <= 32
    assert count_of_deviations(proof.schedule) <= 2, proof
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HIPKITTENS_THREADS", threads)
        with wb.schedule(proof.schedule):
            results.append(run())
    assert all(torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(*results, strict=True))
    differing = sum(
        int((a.view(torch.int32) != b.view(torch.int32)).sum())
        for a, b in zip(results[0], plain, strict=True)
    )
    assert differing == proof.differences
    monkeypatch.setenv("HIPKITTENS_SCHEDULE", proof.schedule)
    assert all(
        torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(run(), results[0], strict=True)
    )


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_has_no_proof(name: str, arch: str) -> None:
    seed = random.randrange(1000)
    print("seed", seed)
    assert prove(runner(name, arch, fault=False), seed=seed) is None


def test_a_search_out_of_time_tries_one_schedule_and_makes_none_smaller() -> None:
    assert prove(runner("vmcnt", "gfx950", fault=False), seconds=0) is None
    proof = prove(runner("vmcnt", "gfx950", fault=True), seconds=0)
    # Late loads are tried first.
    assert proof is not None
    assert (proof.schedule, proof.tried) == ("late=all", 1)


LIBRARY = (
    ("gemm/bf16:ping_pong", {"m": 256, "n": 256, "k": 192}, "gfx950"),
    ("attention/forward", {"batch": 1, "queries": 128, "keys": 128, "heads": 2, "heads_kv": 1}, "gfx950"),
    ("normalization/rmsnorm", {"rows": 33, "cols": 1024}, "gfx942"),
)


@pytest.mark.parametrize(("name", "shape", "arch"), LIBRARY)
def test_kernels_of_the_library_do_not_depend_on_schedules(
    name: str, shape: dict[str, int], arch: str
) -> None:
    seed = random.randrange(1000)
    print("seed", seed)
    spec, device = wb.kernels[name], wb.device(f"emulated:{arch}")
    full = spec.shape(shape, arch=arch)

    def run() -> list[torch.Tensor]:
        inputs = spec.make_inputs(full, seed=3, device=device)
        outputs = spec.make_outputs(full, inputs)
        spec.run(inputs, outputs, shape=full, device=device)
        return list(outputs.values())

    plain = run()
    with wb.schedule("plain"):
        in_order = run()
    assert all(torch.equal(a, b) for a, b in zip(plain, in_order, strict=True))
    assert prove(run, tries=16, seed=seed) is None


def test_the_stepper_follows_a_schedule() -> None:
    run = runner("vmcnt", "gfx950", fault=True)
    proof = prove(run)
    assert proof is not None
    case = CASES["vmcnt"]
    values, out = torch.arange(case.elements, dtype=torch.float32), torch.zeros(case.elements)
    launch = seeded("gfx950", True)["vmcnt::k"][case.grid, case.block]
    [late] = parsed(proof.schedule).late.addresses
    registers = {}
    for text in (None, proof.schedule):
        stepper = wb.step(launch, values, out, schedule=text, device="emulated:gfx950").to_address(late)
        [result] = stepper.instructions[0].dst
        stepper.step()
        registers[text] = stepper.v(result.index, torch.float32).clone()
    # In the plain order the load has come after its instruction, and under the schedule not yet.
    assert torch.equal(registers[None], torch.arange(64.0))
    assert not torch.equal(registers[proof.schedule], registers[None])
    assert not torch.equal(out, torch.zeros_like(out))


def test_what_is_no_run() -> None:
    count = iter(range(100))
    run = runner("vmcnt", "gfx950", fault=False)
    with pytest.raises(UsageError, match="two runs in the plain order differ"):
        prove(lambda: [*run(), torch.tensor([next(count)])])
    # Results that change by themselves, but not in the first runs.
    with pytest.raises(UsageError, match="two runs in the plain order differ"):
        prove(lambda: [*run(), torch.tensor([next(count) > 6])])
    with pytest.raises(UsageError, match="launched nothing"):
        prove(lambda: [torch.zeros(1)])
    with pytest.raises(UsageError, match="returned NoneType; expected a sequence of tensors"):
        prove(lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(UsageError, match="a int among its outputs"):
        prove(lambda: [1])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="tries is 0"):
        prove(run, tries=0)


def test_the_words_of_a_proof() -> None:
    assert str(Proof("late=0x10", 3, 8, 1)) == "under schedule 'late=0x10' 3 of 8 results differ"
    assert "the launch fails: AddressFault" in str(Proof("late=0x10", 0, 8, 1, fault="AddressFault: ..."))
