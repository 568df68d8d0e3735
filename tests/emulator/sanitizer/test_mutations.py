"""A sample of the mutants of the library's machine code: each is reported or proven to be the same kernel.

All of them: python -m tests.emulator.sanitizer.mutations
"""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from tests.emulator.sanitizer.mutations import Subject  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

KERNELS = ("gemm/bf16:ping_pong", "gemm/bf16:interleave", "normalization/rmsnorm")
SAMPLE = {"wait": 3, "barrier": 3, "nop": 1}
"""Mutants of each kernel, by kind."""


@pytest.mark.parametrize("name", KERNELS)
def test_mutants_are_reported_or_equivalent(name: str) -> None:
    arch = random.choice(TILE_TARGETS)
    subject = Subject(name, arch)
    assert subject.order is not None
    mutants = []
    for kind, count in SAMPLE.items():
        there = [mutant for mutant in subject.mutants if mutant.kind == kind]
        mutants += random.sample(there, min(count, len(there)))
    assert mutants
    for mutant in mutants:
        outcome = subject.outcome(mutant)
        where = f"{name} on {arch} at {mutant.address:#x}: {mutant.change}"
        assert outcome.reported or outcome.equivalent or outcome.not_run, f"{where}: not reported"
        assert not (outcome.reported and outcome.equivalent), f"{where}: {outcome.reported} without a fault"
