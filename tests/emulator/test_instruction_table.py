"""The page of instructions matches the registries and the opcode tables."""

from __future__ import annotations

import random

import pytest

from tests.codeobject.random_encodings import random_encoding
from tests.fuzz.streams import executable
from workbench.codeobject.decoder import decode_one
from workbench.codeobject.encodings_gfx11 import GENERATIONS, layouts
from workbench.codeobject.instructions import forms
from workbench.emulator import instruction_table
from workbench.emulator.native.ops import NATIVE
from workbench.emulator.semantics import NO_OPERATION, SEMANTICS
from workbench.emulator.semantics.executed import operation
from workbench.errors import CodeObjectError
from workbench.targets import NAMES, PARTIAL, TILE_TARGETS


@pytest.mark.parametrize("target", NAMES)
def test_every_mnemonic_has_one_state(target: str) -> None:
    entries = instruction_table.entries(target)
    assert {item.mnemonic for item in entries} == {form.mnemonic for form in forms(target).values()}
    assert len({item.mnemonic for item in entries}) == len(entries)
    for item in entries:
        assert bool(item.reason) == (item.state == "refused")


@pytest.mark.parametrize("target", NAMES)
def test_what_is_executed_can_be_translated(target: str) -> None:
    """Every form with random encodings that executes has some encodings that the translator accepts."""
    states = {item.mnemonic: item.state for item in instruction_table.entries(target)}
    generator = random.Random(1)
    never = []
    for (format_, number), form in forms(target).items():
        if states[form.mnemonic] != "executed" or form.opcode == "v_mfma_ld_scale_b32":
            continue
        for _ in range(500):
            try:
                instruction = decode_one(random_encoding(generator, format_, number, form), 0, 0, target)
            except CodeObjectError:
                continue
            if executable(instruction, target):
                break
        else:
            never.append(form.mnemonic)
    assert not never


@pytest.mark.parametrize("target", TILE_TARGETS)
def test_nothing_of_compute_is_refused(target: str) -> None:
    missing = [item.mnemonic for item in instruction_table.entries(target) if item.reason == "not yet"]
    assert not missing


@pytest.mark.parametrize("target", [record.name for record in PARTIAL])
def test_what_is_refused_has_a_reason(target: str) -> None:
    """Every refusal is recorded with its reason, but for what is to come."""
    graphics = {form.opcode for form in forms(target).values() if layouts(target)[form.format].named_only}
    refused = set(instruction_table.without_meaning(target)) - graphics
    without = {name for name in refused if instruction_table.refusal(target, name) == "not yet"}
    assert without <= {
        *(f"{space}_{access}_block" for space in ("global", "scratch") for access in ("load", "store")),
        *("global_load_addtid_b32", "global_store_addtid_b32", "s_add_pc_i64"),
    }


def test_registries_name_only_instructions_that_exist() -> None:
    opcodes = {form.opcode for target in NAMES for form in forms(target).values()}
    opcodes |= {name for name in NATIVE if name.startswith(("v_mfma_scale_", "v_wmma_scale"))}
    opcodes |= {operation(form) for target in GENERATIONS for form in forms(target).values()}
    unknown = (set(NATIVE) | set(SEMANTICS) | NO_OPERATION) - opcodes
    print(f"{len(unknown)} registered under names of other targets: {' '.join(sorted(unknown))}")
    assert len(unknown) < 10
