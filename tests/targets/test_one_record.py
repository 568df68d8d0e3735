"""A target is one record: code outside targets/ names no target, and assumes no lanes or wait counters.

Names in comments and documentation, and in longer texts such as examples in messages, do no harm: only a
whole string, or a name of Python, decides something.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

WORKBENCH = Path(__file__).resolve().parents[2] / "workbench"
FACTS = WORKBENCH / "targets"
TABLES = WORKBENCH / "codeobject/instructions/isa"

_TARGET = re.compile(r"(emulated:)?gfx[1-9]\w+|CDNA\d|RDNA\d|(MI\d\d\d\w?)", re.IGNORECASE)
_ANY_TARGET = re.compile(r"gfx[1-9]|[CR]DNA\d|MI\d\d\d", re.IGNORECASE)
_NAMES = re.compile(r"GFX\d\w+|CDNA\d\w*")
_COUNTERS = re.compile(r"\b(vm|lgkm|exp|vs|load|store|ds|km|sample|bvh|async|tensor)cnt\b")
_LANES = re.compile(r"targets\.WAVE|\bWAVE\b|abi\.(MAX_)?LANES")

TARGET_NAMES = {
    "codeobject/encodings_gfx11.py": "a record for each target's encodings, as the manuals have them",
    "codeobject/immediates_gfx11.py": "names of registers and messages, by generation",
    "codeobject/waits.py": "prints gfx9's s_waitcnt, all of whose counters are in one field",
    "emulator/kfd/counters.py": "a record for each counter, with its event's numbers on two targets",
    "emulator/sanitizer/hazard_rules.py": "each rule is a record of LLVM's, with its counts by target",
    "emulator/sanitizer/hazard_rules_gfx11.py": "the same, of later targets",
    "lab/operations.py": "a heading for the headers' folder of names that HipKittens has for one target",
    "profile/counters.py": "a record for each counter, with the targets on which rocprofv3 has it",
    "tiles/bank_conflicts.py": "pairs of layouts that are not meant for narrow types, by target",
    "views/gallery/samples.py": "samples of figures",
}
"""Files that may name a target, and why."""

COUNTER_NAMES = {
    "audit/patches.py": "repairs of HipKittens' sources for CDNA, as assembly",
    "codeobject/immediates_gfx11.py": "fields of gfx11's s_waitcnt by name",
    "hardware/microbenchmarks.py": "assembly that measures CDNA",
    "profile/loop_rules.py": "advice in words, which the notebooks explain",
}
"""Files whose texts may name a wait counter."""

WAVE_SIZES = {
    "codeobject/decoder.py": "for code of gfx11 and later whose kernel nobody names",
    "codeobject/decoder_gfx11.py": "the same",
    "emulator/native/__init__.py": "the default library, for what concerns the process",
    "emulator/node/faults.py": "masks in words, of waves of any size",
    "emulator/node/hostcall.py": "packets have room for 64 lanes whatever the wave size (rocclr)",
    "emulator/native/ops/matrix.py": "matrix instructions of CDNA",
    "kernel/compiler_trial.py": "items of a trial of compilers for CDNA",
    "operators/rowwise.py": "launches of kernels that are for CDNA alone",
}
"""Files that may use a wave size without a target."""

LANES_IN_C = {
    "emulator/native/ops/crosslane.h": "DS_SWIZZLE moves lanes in groups of 32, whatever the wave size",
    "emulator/native/run/wave.h": "cache lines of 64 bytes",
}
"""C files of the emulated device in which 64 or 32 may mean lanes."""


@cache
def _sources() -> dict[str, str]:
    paths = (
        path
        for path in sorted(WORKBENCH.rglob("*.py"))
        if FACTS not in path.parents and TABLES not in path.parents
    )
    return {str(path.relative_to(WORKBENCH)): path.read_text() for path in paths}


def _parsed(pattern: re.Pattern[str]) -> Iterator[tuple[str, ast.Module]]:
    """Sources in which a pattern occurs; to parse the others would take most of the time."""
    return ((path, ast.parse(text)) for path, text in _sources().items() if pattern.search(text))


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and content of each string that is not documentation."""
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr


def _without_reason(places: list[str], allowed: dict[str, str]) -> list[str]:
    return [place for place in places if place.partition(":")[0] not in allowed]


def _named_targets() -> list[str]:
    places = []
    for path, tree in _parsed(_ANY_TARGET):
        places += [f"{path}:{line} {text!r}" for line, text in _texts(tree) if _TARGET.fullmatch(text)]
        places += [f"{path}:{line} {name}" for line, name in _names(tree) if _NAMES.fullmatch(name)]
    return places


def _named_counters() -> list[str]:
    found = (
        f"{path}:{line} {text[:40]!r}"
        for path, tree in _parsed(_COUNTERS)
        for line, text in _texts(tree)
        if _COUNTERS.search(text)
    )
    return list(found)


def _wave_sizes() -> list[str]:
    places = []
    for path, tree in _parsed(_LANES):
        text = ast.unparse(tree)
        places += [f"{path}: {match[0]}" for match in _LANES.finditer(text)]
    return places


CHECKS = {
    "targets": (_named_targets, TARGET_NAMES),
    "wait counters": (_named_counters, COUNTER_NAMES),
    "wave sizes": (_wave_sizes, WAVE_SIZES),
}


@pytest.mark.parametrize("what", CHECKS)
def test_python_asks_the_record(what: str) -> None:
    search, allowed = CHECKS[what]
    places = search()
    assert not _without_reason(places, allowed), f"{what} belong into workbench/targets"
    unused = set(allowed) - {place.partition(":")[0] for place in places}
    assert not unused, f"{unused} name no {what} any more: take them off the list"


# A number of lanes in a loop, a modulus, a shift or an index, which HK_LANES should be.
_LOOP = re.compile(
    r"\b(lane|l)\b\s*(<|<=|%|\+=|&)\s*(64|63|32|31)\b|%\s*64\b|\[64\]\s*__attribute__|>> 63 - lane"
)


def test_c_takes_the_number_of_lanes_from_its_build() -> None:
    folder = WORKBENCH / "emulator/native"
    # Matrix instructions and their operands have 64 lanes in their layouts.
    sources = [
        path
        for path in sorted(folder.rglob("*.[ch]"))
        if not path.name.startswith("matrix") and path.name != "lds_transpose.c"
    ]
    assert len(sources) > 40
    places = [
        f"{path.relative_to(WORKBENCH)}:{number} {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _LOOP.search(re.sub(r"/\*.*?\*/", "", line))
    ]
    assert not _without_reason(places, LANES_IN_C)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('x = "gfx1201"', 1),
        ('x = "for gfx1201 alone"', 0),
        ('def f():\n    """gfx950"""', 0),
        ("x = GFX950", 1),
        ('x = {"CDNA4": 1}', 1),
    ],
)
def test_what_counts_as_naming_a_target(source: str, expected: int) -> None:
    tree = ast.parse(source)
    texts = [text for _, text in _texts(tree) if _TARGET.fullmatch(text)]
    assert len(texts) + len([name for _, name in _names(tree) if _NAMES.fullmatch(name)]) == expected
