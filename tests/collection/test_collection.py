"""Every function of the collection, in every order of its arguments, on both targets, against PyTorch."""

from __future__ import annotations

import os
import pkgutil
import random
import subprocess
import sys
import zlib
from importlib import import_module
from types import ModuleType

import pytest
import torch
from collection import cases as folder
from collection.case import Draw, Make, empty

from workbench import collection
from workbench.collection.calls import BoundFunction
from workbench.errors import ArgumentError
from workbench.targets import TILE_TARGETS

EVERY = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
SEED = os.environ["HIPKITTENS_TEST_SEED"]

CATEGORIES = {
    found.name: import_module(f"{folder.__name__}.{found.name}")
    for found in pkgutil.iter_modules(folder.__path__)
}
CASES: dict[str, Make] = {name: make for module in CATEGORIES.values() for name, make in module.CASES.items()}
SAMPLED = sorted(name for module in CATEGORIES.values() for name in getattr(module, "SAMPLED", ()))
SKIPPED = set() if EVERY else {*SAMPLED} - {*random.Random(SEED).sample(SAMPLED, 1)}
FUNCTIONS = {
    f"{module.name}.{function.name}": function
    for group in collection.records().values()
    for module in group
    for function in module.functions
}


def bound(name: str) -> BoundFunction:
    """A function by "module.function"; what is behind a colon tells cases of one function apart."""
    module, _, function = name.partition(":")[0].partition(".")
    found = getattr(getattr(collection, module), function)
    assert isinstance(found, BoundFunction)
    return found


def test_every_function_has_a_case() -> None:
    assert {name.partition(":")[0] for name in CASES} == set(FUNCTIONS)
    assert set(CATEGORIES) == set(collection.records())


def test_rows_are_those_of_the_collection() -> None:
    rows = [module.row for group in collection.records().values() for module in group]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(range(1, 72))


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", [name for name in CASES if name not in SKIPPED])
def test_against_pytorch(name: str, arch: str) -> None:
    function = bound(name)
    for turn, order in enumerate(function.record.all_orders):
        draw = Draw(arch)
        draw.generator.manual_seed(zlib.crc32(f"{SEED} {name} {turn}".encode()))
        case = CASES[name](draw)
        before = {k: v.clone() for k, v in case.arguments.items() if isinstance(v, torch.Tensor)}
        returned = function(*(case.arguments[argument] for argument in order), device=f"emulated:{arch}")
        if function.record.host is None:
            assert returned is None
        elif isinstance(case.returned, torch.Tensor):
            assert torch.equal(returned, case.returned)
        else:
            assert returned == case.returned
        for argument, wanted in case.expected.items():
            got = case.arguments[argument]
            if argument in case.exact:
                assert torch.equal(got.to(wanted.dtype), wanted), f"{argument} is {got}; expected {wanted}"
            else:
                torch.testing.assert_close(
                    got.double(),
                    wanted,
                    rtol=case.rtol,
                    atol=case.atol,
                    msg=lambda m, a=argument: f"{a}: {m}",
                )
        for argument, was in before.items():
            if argument not in case.expected:
                assert torch.equal(
                    case.arguments[argument].contiguous().view(-1).view(torch.uint8),
                    was.contiguous().view(-1).view(torch.uint8),
                ), f"{argument} has changed"


def test_an_order_that_cannot_be_told_apart_is_an_error() -> None:
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
    # Which of them is which makes no difference here.
    assert function.bind(a, b, b)["c"] is b


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 7}, r"N is 7; expected the 4 rows of x \(4, 8\), or its 8 columns"),
        ({"w": torch.zeros(9)}, r"rmsnorm_fwd.*w is float32 \(9,\); expected real \[D\] with D = 8"),
        ({"out": empty(4, 9)}, r"out is bfloat16 \(4, 9\)"),
        ({"eps": None}, "eps is None; expected float"),
        ({"epsilon": 1e-5}, "there is no argument 'epsilon'"),
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
