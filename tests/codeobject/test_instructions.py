"""The records of opcodes: against published tables, and nobody else looks at the letters of an opcode."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from tests.codeobject.rows import row
from workbench.codeobject.instructions import CYCLES_OF_A_PASS, forms
from workbench.targets import NAMES

ROOT = Path(workbench.__file__).parent
PACKAGE = ROOT / "codeobject" / "instructions"
DATA = Path(__file__).parents[1] / "data" / "mfma.csv"


def test_matrix_instructions_are_as_published() -> None:
    """Shape and cycles, by AMD's matrix instruction calculator and LLVM's scheduling tests."""
    with DATA.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    for known in rows:
        matrix = row(known["instruction"], known["arch"]).record.matrix
        assert matrix is not None
        shape = tuple(int(known[name]) for name in ("M", "N", "K", "blocks"))
        assert (matrix.m, matrix.n, matrix.k, matrix.blocks) == shape, known["instruction"]
        assert matrix.sparse == (known["sparse"] == "True")
        small = {"cbsz": 4, "blgp": 4}
        assert CYCLES_OF_A_PASS * matrix.passes_with(small) == int(known["cycles"]), known["instruction"]
        if matrix.type_a == "f8f6f4":
            assert matrix.passes_with({}) == matrix.passes_with({"cbsz": 4}) == 2 * matrix.passes


@pytest.mark.parametrize("target", NAMES)
def test_widths_of_memory_are_those_of_the_data(target: str) -> None:
    """A lane's bytes are the dwords of its data register: an access of less than a dword takes one."""
    for form in forms(target).values():
        memory = form.record.memory
        data = [e.width for e in form.entries if e.field in ("vdata", "vdst", "vdata0", "sdata")]
        if memory is None or not memory.bytes or not data or memory.addresses == 0 or memory.to_lds:
            continue
        dwords = -(-memory.bytes // 4)
        wide = dwords * memory.addresses if form.entries[0].role == "=" else dwords
        compared = 2 * dwords if memory.access.name == "ATOMIC" else wide
        assert data[0] in (wide, compared), form.mnemonic


_NAMES = ("opcode", "mnemonic")
_LETTERS = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split")
_LETTERS += ("replace", "find", "index", "rsplit", "count", "strip")
_MATCHES = ("match", "fullmatch", "search", "findall", "sub", "split", "finditer")


def _is_opcode(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _NAMES
    return isinstance(node, ast.Name) and node.id in _NAMES


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _looks(tree: ast.AST) -> Iterator[ast.AST]:
    """Where code looks at the letters of an opcode."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if (_is_opcode(node.func.value) and node.func.attr in _LETTERS) or (
                node.func.attr in _MATCHES and any(_is_opcode(argument) for argument in node.args)
            ):
                yield node
        elif isinstance(node, ast.Subscript) and _is_opcode(node.value):
            yield node
        elif isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
            # `text in opcode`, and `opcode in text`; membership in a set of names is no look at letters.
            within = any(_is_opcode(right) for right in node.comparators)
            if within or (_is_opcode(node.left) and any(_is_text(right) for right in node.comparators)):
                yield node


@pytest.mark.parametrize(
    "code",
    [
        'i.opcode.startswith("v_")',
        'mnemonic.split("_")',
        '"_d16" in i.opcode',
        're.match("v_.*", opcode)',
        "PATTERN.fullmatch(i.opcode)",
        "opcode[:2]",
        'opcode in "abc"',
    ],
)
def test_a_look_at_letters_is_seen(code: str) -> None:
    assert list(_looks(ast.parse(code)))


def test_names_of_opcodes_may_be_compared() -> None:
    assert not list(
        _looks(ast.parse('i.opcode == "s_nop" or i.opcode in ("s_trap", "s_nop") or x in NATIVE'))
    )


def test_only_the_package_looks_at_letters() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        if PACKAGE not in path.parents
        for node in _looks(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found
