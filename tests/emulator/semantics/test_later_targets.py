"""Lane-wise and scalar instructions of later targets: the cases of gfx9, under each target's own names.

A case's meaning is exact arithmetic that was written for gfx9. It holds for a later instruction if that has
the same meaning by the opcode table, which this checks by executing it.
"""

from __future__ import annotations

import random as python_random
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
import pytest
import test_packed
import test_scalar
import test_transcendental
import test_vector
from assembler import assembled

from workbench.codeobject.instructions import forms

WAVES = {"gfx1100": 64, "gfx1201": 64, "gfx1250": 32}
"""Lanes of a wave: 64 where the target has a choice, so that texts of gfx9 are its own."""

END = b"\x00\x00\xb0\xbf"


@cache
def opcodes_by_meaning(target: str) -> Mapping[str, list[str]]:
    """A later target's opcodes by gfx9's name for them."""
    result: dict[str, list[str]] = {}
    for form in forms(target).values():
        if form.meaning and form.opcode not in (known := result.setdefault(form.meaning, [])):
            known.append(form.opcode)
    return result


def texts(text: str, target: str) -> list[str]:
    """A text of gfx9 in the target's words, for each of its opcodes with that meaning."""
    mnemonic, _, operands = text.partition(" ")
    opcode = re.sub(r"_e(32|64)$", "", mnemonic)
    if WAVES[target] == 32:
        # Masks have one register.
        masks = r"vcc|s\[(\d+):\d+\]" if opcode.startswith("v_") else "$^"
        operands = re.sub(masks, lambda match: f"s{match[1]}" if match[1] else "vcc_lo", operands)
    suffixes = dict.fromkeys((mnemonic[len(opcode) :], ""))
    return [
        f"{name}{suffix} {operands}"
        for name in opcodes_by_meaning(target).get(opcode, ())
        for suffix in suffixes
    ]


def encoded(texts: Sequence[str], target: str) -> Mapping[str, bytes]:
    """Machine code of the texts that the target has."""
    features = ["+wavefrontsize64", "-wavefrontsize32"] if WAVES[target] == 64 else []
    answers = zip(texts, assembled(texts, target, features), strict=True)
    return {text: answer[1] for text, answer in answers if answer}


@pytest.mark.parametrize("target", WAVES)
def test_instructions_mean_what_those_of_gfx9_do(target: str, machine, values, random_exec) -> None:
    random = np.random.default_rng(seed := python_random.randrange(1 << 32))
    print(f"seed {seed}")
    vector = partial(test_vector.check, values=values, random_exec=random_exec, keep=True)
    packed = partial(test_packed.check_packed, values=values)
    function = partial(test_transcendental.check, values=values)
    cases = [
        *((case.text, case, vector) for case in test_vector.CASES),
        *((case.text, case, test_scalar.check) for case in test_scalar.CASES),
        *((test_packed.packed_text(case), case, packed) for case in test_packed.PACKED),
        *((test_transcendental.text(*case), case, function) for case in test_transcendental.CASES),
    ]
    here = {text: texts(text, target) for text, _, _ in cases}
    codes = encoded([text for there in here.values() for text in there], target)
    pairs = [(text, case, check) for name, case, check in cases for text in here[name] if text in codes]
    assert len({text.split()[0] for text, _, _ in pairs}) > 400
    runs = machine.build_code([codes[text] + END for text, _, _ in pairs], target, lanes=WAVES[target])
    wrong = []
    for (text, case, check), run in zip(pairs, runs, strict=True):
        try:
            check(case, machine.State(lanes=WAVES[target]), run=run, random=random)
        except AssertionError as failure:
            wrong.append(f"{text}: {str(failure).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
