"""Records of opcodes against published tables; no other code names opcodes or parses their names."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import workbench
from tests.codeobject.rows import row
from workbench.codeobject.instructions import MATRICES, Trait, forms
from workbench.targets import NAMES

ROOT = Path(workbench.__file__).parent
PACKAGE = ROOT / "codeobject" / "instructions"
MEANINGS = (PACKAGE, ROOT / "emulator" / "semantics", ROOT / "emulator" / "native" / "ops")
"""Folders that may name opcodes: those of their records and of their semantics."""

SOURCES = (ROOT / "targets", ROOT / "emulator" / "instruction_table.py")
"""Figures that say what they were measured with; the table of opcodes, with reasons why some are refused."""

DATA = Path(__file__).parents[1] / "data" / "mfma.csv"


def test_matrix_instructions_are_as_published() -> None:
    """Shape and cycles, by AMD's matrix instruction calculator and LLVM's scheduling tests."""
    with DATA.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    for published in rows:
        matrix = row(published["instruction"], published["arch"]).record.matrix
        assert matrix is not None
        shape = tuple(int(published[name]) for name in ("M", "N", "K", "blocks"))
        assert (matrix.m, matrix.n, matrix.k, matrix.blocks) == shape, published["instruction"]
        assert matrix.sparse == (published["sparse"] == "True")
        small = {"cbsz": 4, "blgp": 4}
        assert matrix.cycles_with(small) == int(published["cycles"]), published["instruction"]
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


_ATTRIBUTES = ("opcode", "mnemonic", "format", "base_format", "pipeline")
_NAMES = ("opcode", "mnemonic")
_LETTERS = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split")
_LETTERS += ("replace", "find", "index", "rsplit", "count", "strip", "lstrip", "rstrip", "translate")
_MATCHES = ("match", "fullmatch", "search", "findall", "sub", "split", "finditer")
_SAME_TEXT = ("lower", "upper", "casefold", "get", "pop", "items", "keys", "values")


class _Letters:
    """Follows texts of instructions (names of opcodes, encodings, pipelines) through a function or module. A
    name assigned from a text, or from an element of a collection of texts, is a text too.
    """

    def __init__(self, tree: ast.AST) -> None:
        self.nodes = list(_own_nodes(tree))
        self.names = set(_NAMES)
        before = 0
        while len(self.names) != before:
            before = len(self.names)
            for node in self.nodes:
                self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and self.is_text(node.value):
            for target in node.targets:
                self._names_of(target)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.For | ast.comprehension):
            value = node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
            if value is not None and self.is_text(value):
                self._names_of(node.target)

    def _names_of(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.names.add(target.id)
        elif isinstance(target, ast.Tuple) and target.elts:
            # (opcode, count): the first of a pair, as in a mapping's items.
            self._names_of(target.elts[0])

    def is_text(self, node: ast.expr) -> bool:
        """True for an expression that is a text of an instruction, or a collection of such texts."""
        match node:
            case ast.Attribute():
                return node.attr in _ATTRIBUTES
            case ast.Name():
                return node.id in self.names
            case ast.NamedExpr():
                return self.is_text(node.value)
            case ast.Call(func=ast.Attribute() as method):
                return method.attr in _SAME_TEXT and self.is_text(method.value)
            case ast.Call(func=ast.Name(id="str" | "sorted" | "set" | "list" | "tuple" | "Counter")):
                return any(self.is_text(argument) for argument in node.args)
            case ast.JoinedStr():
                return any(
                    self.is_text(part.value) for part in node.values if isinstance(part, ast.FormattedValue)
                )
            case ast.IfExp():
                return self.is_text(node.body) or self.is_text(node.orelse)
            case ast.DictComp():
                return self.is_text(node.key)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self.is_text(node.elt)
            case _:
                return False

    def looks(self) -> Iterator[ast.AST]:
        """Nodes that parse a text of an instruction."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if (self.is_text(node.func.value) and node.func.attr in _LETTERS) or (
                    node.func.attr in _MATCHES and any(self.is_text(argument) for argument in node.args)
                ):
                    yield node
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice | ast.Constant):
                if self.is_text(node.value):
                    yield node
            elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
                # `text in opcode` and `opcode in text`; membership in a set of names is something else.
                within = any(
                    isinstance(right, ast.Attribute) and self.is_text(right) for right in node.comparators
                )
                within |= _is_text(node.left) and any(self.is_text(right) for right in node.comparators)
                if within or (self.is_text(node.left) and any(_is_text(right) for right in node.comparators)):
                    yield node


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function or module without those of the functions in it."""
    for child in ast.iter_child_nodes(tree):
        yield child
        if not isinstance(child, ast.FunctionDef):
            yield from _own_nodes(child)


def _looks(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a tree that parse a text of an instruction."""
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]
    return (node for scope in scopes for node in _Letters(scope).looks())


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
        'name = i.opcode\nname.startswith("v_")',
        'for name in {i.opcode for i in code}:\n    name.endswith("_b32")',
        'f"{i.mnemonic} "[:3]',
        '[n for n, count in Counter(i.opcode for i in code).items() if n.startswith("s_")]',
        "(n := i.form.opcode).upper()[:2]",
        'i.format.startswith("VOP")',
        'i.record.pipeline.split("_")',
        'text = i.opcode if i else ""\n"mfma" in text',
    ],
)
def test_a_look_at_letters_is_seen(code: str) -> None:
    assert list(_looks(ast.parse(code)))


def test_opcodes_may_be_compared() -> None:
    assert not list(
        _looks(
            ast.parse(
                "i.opcode == other.opcode or i.opcode in NATIVE\n"
                "names = {i.opcode for i in code}\ni.opcode in names\ncounts[i.opcode] + table[name]"
            )
        )
    )


def _found_outside(rooms: tuple[Path, ...], look: Callable[[ast.AST], Iterator[ast.AST]]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        if not set(rooms) & {path, *path.parents}
        for node in look(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_only_records_and_meanings_look_at_letters() -> None:
    """Meanings may tell halves and scales by an opcode's name; what else depends on one is in its record."""
    assert not _found_outside((*MEANINGS, *SOURCES), _looks)


@cache
def _opcodes() -> frozenset[str]:
    encodings = (form for target in NAMES for form in forms(target).values())
    return frozenset(MATRICES).union(*((form.opcode, form.mnemonic) for form in encodings))


_FAMILY = re.compile(r"(v|s|ds|t?buffer|global|flat|scratch)_\S*")


def _is_pattern(text: str) -> bool:
    """True for a regular expression that matches opcodes."""
    if not _FAMILY.fullmatch(text) or text.isidentifier():
        return False
    try:
        pattern = re.compile(text)
    except re.error:
        return False
    return any(pattern.fullmatch(opcode) for opcode in _opcodes())


def _names(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that name opcodes: a text of nothing but names, a pattern of names, a name made of parts.

    Sentences may name them.
    """
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(id(part) for part in node.values)
            head = node.values[0].value if node.values and isinstance(node.values[0], ast.Constant) else ""
            if _FAMILY.fullmatch(str(head)) and any(name.startswith(str(head)) for name in _opcodes()):
                yield node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            words = node.value.split()
            if words and (all(word in _opcodes() for word in words) or _is_pattern(node.value)):
                yield node


@pytest.mark.parametrize(
    "code",
    [
        '_SCALES = "v_mfma_ld_scale_b32"',
        'i.opcode == "s_nop"',
        '{"s_branch", "s_endpgm"}',
        'frozenset("s_branch s_endpgm".split())',
        '{"buffer_inv": 1}',
        'i.mnemonic == "v_add_f32_e32"',
        'frozenset(f"v_cvt_{each}" for each in ("f32_i32", "i32_f32"))',
        'PATTERN = re.compile(r"v_cvt_.*|v_mul_(lo|hi)_u32")',
    ],
)
def test_names_are_seen(code: str) -> None:
    assert list(_names(ast.parse(code)))


def test_sentences_may_name_opcodes() -> None:
    assert not list(
        _names(ast.parse('"waits (s_nop)"; f"s_nop {n}"; x["flat_load"]; "v_scale"; "s_nop or s_sleep"'))
    )


def test_only_records_and_meanings_name_opcodes() -> None:
    """Other code reads an instruction's record."""
    assert not _found_outside((*MEANINGS, *SOURCES), _names)


@pytest.mark.parametrize("name", ["v_cvt_f32_i32", "v_cvt_pk_bf16_f32", "v_cvt_scalef32_pk_fp4_f32"])
def test_every_conversion_is_one(name: str) -> None:
    assert Trait.CONVERTS in row(name, "gfx950").record.traits
