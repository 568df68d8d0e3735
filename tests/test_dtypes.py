"""Data types: one row each, equal to PyTorch's, and no other table of them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from workbench import dtypes, targets
from workbench.dtypes import TYPES, DataType
from workbench.kernel.parameters import torch_dtypes

ROOT = Path(__file__).resolve().parents[1]

OF_PYTORCH = [dtype for dtype in TYPES if dtypes.of_torch(dtype.torch[0]) is dtype and dtype.name != "bool"]

NAMES = {"fp8"}.union(*((t.name, t.format, t.short, t.cpp, t.qualified, *t.torch, *t.spelled) for t in TYPES))

OTHER_NAMES = {Path("workbench/emulator/native/ops/matrix.py"): "the instruction set's names of its operands"}
"""Tables whose keys only look like names of types."""


@pytest.mark.parametrize("dtype", OF_PYTORCH, ids=lambda dtype: dtype.name)
def test_numbers_are_pytorchs(dtype: DataType) -> None:
    info = torch.finfo(dtype.dtype) if dtype.exponent else torch.iinfo(dtype.dtype)
    assert (dtype.largest, dtype.lowest, dtype.bits) == (info.max, info.min, info.bits)
    if dtype.exponent:
        # Not by eps: PyTorch's is wrong for float8_e5m2fnuz.
        codes = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[dtype.bits]
        after_one = (torch.ones(1, dtype=dtype.dtype).view(codes) + 1).view(dtype.dtype)
        assert after_one.double().item() == 1 + 2.0**-dtype.mantissa
        assert 1 + dtype.exponent + dtype.mantissa == dtype.bits


@pytest.mark.parametrize("dtype", [t for t in dtypes.MICROSCALED if t.bits < 8], ids=lambda dtype: dtype.name)
def test_largest_of_small_floats_follows_from_their_bits(dtype: DataType) -> None:
    """The OCP microscaling specification: no code is an infinity or NaN."""
    top = (1 << dtype.exponent) - 1 - ((1 << dtype.exponent - 1) - 1)
    assert dtype.largest == (2 - 2.0**-dtype.mantissa) * 2.0**top


def test_every_name_has_one_meaning() -> None:
    for field in ("name", "short"):
        assert len({getattr(dtype, field) for dtype in TYPES}) == len(TYPES)
    for dtype in TYPES:
        # Only 8-bit floats of the tile library depend on the target, and char has no defined sign.
        for name in set(dtype.spelled) - {"char"}:
            assert all(other.format == dtype.format for other in dtypes.spelled(f"const kittens::{name}"))
        assert dtype.encoding in (None, dtypes.OCP.name, dtypes.FNUZ.name)
    assert dtypes.of_torch(torch.uint8) is dtypes.UINT8
    assert dtypes.of_torch(torch.complex64) is None


@pytest.mark.parametrize("arch", targets.TILE_TARGETS)
def test_what_elements_may_be_in(arch: str) -> None:
    encoding = targets.target(arch).fp8_encoding
    for dtype in TYPES:
        for name in dtype.spelled:
            expected = dtype.torch
            if name == dtype.cpp and dtype.encoding:
                expected = (encoding.e4m3 if dtype.format == "e4m3" else encoding.e5m2).torch
            # A plain char is neither signed nor unsigned.
            assert torch_dtypes(name, arch) == (("int8", "uint8") if name == "char" else expected)
    # Four 6-bit floats are in three bytes, and a user's own int8 may be a vector of eight.
    assert torch_dtypes("fp6e2m3_4", arch) == torch_dtypes("int8", arch) == ()


def test_it_needs_no_pytorch() -> None:
    code = "import sys, workbench.dtypes; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def _is_torchs(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node).startswith("torch.") and node.attr in NAMES


def _is_name(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in NAMES


def _is_number(node: ast.expr, kinds: tuple[type, ...] = (int, float)) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, kinds)


def _is_said_of_a_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        # Two floats are an operator's bounds, not properties of a type.
        bounds = all(_is_number(element, (float,)) for element in node.elts)
        return not bounds and all(map(_is_said_of_a_type, node.elts))
    return _is_name(node) or _is_torchs(node) or _is_number(node)


def _tables(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            rows = zip(node.keys, node.values, strict=True)
            if sum(_is_name(key) and _is_said_of_a_type(value) for key, value in rows) > 1:
                yield node
        elif isinstance(node, ast.Tuple | ast.List | ast.Set) and sum(map(_is_torchs, node.elts)) > 1:
            yield node


def test_no_other_module_keeps_a_table_of_types() -> None:
    files = [path for folder in ("workbench", "kernels") for path in (ROOT / folder).rglob("*.py")]
    tables = [
        f"{path.relative_to(ROOT)}:{table.lineno}: {ast.unparse(table)[:80]}"
        for path in files
        if path.relative_to(ROOT) not in OTHER_NAMES
        for table in _tables(ast.parse(path.read_text()))
    ]
    assert not tables, "make these of workbench.dtypes:\n" + "\n".join(tables)


def test_tables_are_recognised() -> None:
    for text in (
        "{'bf16': torch.bfloat16, 'fp16': torch.float16}",
        "{'bf16': 'bf16', 'fp16': 'half'}",
        "{'e2m3': (6, 2, 3), 'e3m2': (6, 3, 2)}",
        "{'e2m3': 7.5, 'e3m2': 28.0}",
        "(torch.float8_e4m3fn, torch.float8_e4m3fnuz)",
    ):
        assert list(_tables(ast.parse(text))), text
    assert not list(_tables(ast.parse("{'float16': (1e-2, 5e-3), 'bfloat16': (1.6e-2, 4e-2)}")))
