"""Functions of the collection, in every order of their arguments, against PyTorch."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from types import ModuleType

import collection_document as document
import pytest
import torch
from collection.case import empty
from collection.runner import CASES, CATEGORIES, SAMPLED, run

from workbench import collection
from workbench.collection.calls import BoundFunction
from workbench.errors import ArgumentError
from workbench.targets import TILE_TARGETS

EVERY = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
SEED = os.environ["HIPKITTENS_TEST_SEED"]

SKIPPED = set() if EVERY else {*SAMPLED} - {*random.Random(SEED).sample(SAMPLED, 1)}
# The kernels are tested on both targets as operators; the calling code is the same.
TURNS = [
    (name, arch)
    for name in CASES
    if name not in SKIPPED
    for arch in (TILE_TARGETS if EVERY else [random.Random(f"{SEED} {name}").choice(TILE_TARGETS)])
]
FUNCTIONS = {
    f"{module.name}.{function.name}": function
    for group in collection.records().values()
    for module in group
    for function in module.functions
}


def test_every_function_has_a_case() -> None:
    assert {name.partition(":")[0] for name in CASES} == set(FUNCTIONS)
    assert set(CATEGORIES) == set(collection.records())


def test_rows_are_those_of_the_collection() -> None:
    rows = [module.row for group in collection.records().values() for module in group]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(range(1, 72))


@pytest.mark.parametrize(("name", "arch"), TURNS)
def test_against_pytorch(name: str, arch: str) -> None:
    run(name, arch, SEED)


def test_an_ambiguous_order_is_an_error() -> None:
    from workbench.collection.record import Function

    matrix = "fp32 [M M]"
    function = BoundFunction(
        "some_tk", Function(name="f", arguments={"a": matrix, "b": matrix, "c": matrix}, orders=["a c b"])
    )
    a, b, c = (torch.zeros(2, 2) for _ in range(3))
    with pytest.raises(
        ArgumentError, match=r"some_tk\.f\(a, b, c\).*also fit.*\(a, c, b\).*b, c can't be told"
    ):
        function(a, b, c)
    with pytest.raises(ArgumentError, match="expected fp32"):
        function(a, b, torch.zeros(2, 3))
    assert function.bind(a, c=c, b=b)["b"] is b
    # Their order does not matter here.
    assert function.bind(a, b, b)["c"] is b


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 7}, r"N is 7; expected the 4 rows of x \(4, 8\), or its 8 columns"),
        ({"w": torch.zeros(9)}, r"rmsnorm_fwd.*w is float32 \(9,\); expected real \[D\] with D = 8"),
        ({"out": empty(4, 9)}, r"out is bfloat16 \(4, 9\)"),
        ({"eps": None}, "eps is None; expected float"),
        ({"epsilon": 1e-5}, "unknown argument 'epsilon'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(change: dict[str, object], message: str) -> None:
    x = torch.zeros(4, 8, dtype=torch.bfloat16)
    arguments = {"x": x, "w": x[0], "out": empty(4, 8), "eps": 1e-5, "N": 4, **change}
    with pytest.raises(ArgumentError, match=message):
        collection.rmsnorm_tk.rmsnorm_fwd(**arguments)


def test_outputs_of_another_dtype_and_layout_are_converted_into() -> None:
    a, b = torch.randn(20, 16).bfloat16(), torch.randn(24, 16).bfloat16()
    c = torch.full((24, 20), float("nan")).T
    collection.gemm_a16w16_tk.dispatch(a, b, c)
    torch.testing.assert_close(c, (a.double() @ b.double().T).float(), rtol=1.6e-2, atol=5e-2)


def test_modules_are_found_and_missing_ones_named() -> None:
    assert isinstance(collection.rmsnorm_tk, ModuleType)
    assert "rmsnorm_tk" in dir(collection)
    assert "also taken" in str(collection.gemm_a8w8_tk.dispatch.__doc__).lower()
    with pytest.raises(AttributeError, match="no module 'rmsnorm'"):
        collection.rmsnorm  # noqa: B018


def test_installed_modules_are_imported_by_their_names() -> None:
    text = (
        "from workbench import collection; collection.install(); import rmsnorm_tk, torch\n"
        "x = torch.ones(2, 128).bfloat16(); out = torch.zeros_like(x)\n"
        "rmsnorm_tk.rmsnorm_fwd(x, x[0], out, 1e-5, 128); assert (out == 1).all(), out"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_the_page_has_the_modules_and_cases_that_there_are() -> None:
    text = document.page(document.stored())
    assert all(f"`{row.module}`" in text for row in document.rows())
    assert "71 of 71 modules are here" in text
