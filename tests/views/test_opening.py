"""Buttons of a table that open the stepper: clicks, tables without buttons, errors."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
import torch

import workbench as wb
from tests.step.test_journeys import HASTY, HEAD, TRANSPOSED
from workbench.check.results import Diagnosis
from workbench.errors import UsageError
from workbench.step.provenance import Provenance
from workbench.views import opening, sanitizer, verify

DOUBLED = """#include "kittens.cuh"
using namespace kittens;
struct globals {
    gl<bf16, 1, 1, -1, 1024> x, out;
    gl<bf16, 1, 1, 1, 1024> weight;
    float eps;
};
__global__ __launch_bounds__(256) void doubled(const globals g) {
    using shape = rt_rows_s<bf16, 1024>;
    rt_bf<1, 1024, row_l, shape> x;
    const int row = blockIdx.x * 4 + warpid();
    load(x, g.x, {0, 0, row, 0});
    add(x, x, x);
    store(g.out, x, {0, 0, row, 0});
}
"""


@pytest.fixture
def presented(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records tables with what their buttons open, instead of displaying them."""
    displayed: list[Any] = []

    def display(table: Any, _text: str, key: str = "", opens: Any = None) -> None:
        displayed.append((str(table), key, opens))

    for view in (sanitizer, verify):
        monkeypatch.setattr(view, "display_opening", display)
        monkeypatch.setattr(view, "display_table", display)
    return displayed


def test_a_finding_opens_the_stepper_before_its_instruction(presented: list[Any]) -> None:
    kernel = wb.compile(HASTY, name="hasty.hip")["hasty"]
    result = wb.sanitize(kernel[1, 64], torch.randn(64), torch.zeros(64))
    sanitizer.present(result)
    ((table, key, opens),) = presented
    assert re.findall(r'data-wb-open="([^"]*)" hidden', table) == [f"{key}:0"]
    stepper = opens(0)
    assert stepper.instruction.address == result.findings[0].pc
    # In another process nothing can be launched again, and the table explains how.
    sanitizer.present(pickle.loads(pickle.dumps(result)))
    assert "data-wb-open" not in presented[1][0]
    assert "wb.step(..., at=result.findings[0])" in presented[1][0]


def test_a_wrong_number_opens_where_it_comes_from(presented: list[Any]) -> None:
    kernel = wb.compile(HEAD + TRANSPOSED, name="product.hip")["product"]
    inputs = {name: torch.randn(1, 1, 32, 32).bfloat16() for name in "ab"}
    inputs["c"] = torch.zeros(1, 1, 32, 32)
    result = wb.verify(kernel[1, 64], lambda a, b: a @ b.mT, inputs=inputs, outputs=("c",))
    verify.present(result)
    ((table, key, opens),) = presented
    # A further button diagnoses the fault.
    assert table.count(f'data-wb-open="{key}:') == len(result.worst.first[: verify.BUTTONS]) + 1
    provenance = opens(1)
    assert isinstance(provenance, Provenance)
    assert provenance.at == tuple(result.worst.first[1].index)
    assert "b[0, 0, 0:32, 1]" in provenance.sources
    right = wb.verify(kernel[1, 64], lambda a, b: a @ b, inputs=inputs, outputs=("c",))
    assert right.passed
    assert right.again is None, "nothing keeps the tensors of a launch that is right"


def test_a_click_asks_whose_fault_a_wrong_number_is(presented: list[Any]) -> None:
    widgets = pytest.importorskip("ipywidgets")
    doubled = "__global__ void doubled(const int *in, int *out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }"
    kernel = wb.compile(f"#include <hip/hip_runtime.h>\n{doubled}")["doubled"]
    inputs = {"in": torch.arange(64, dtype=torch.int32), "out": torch.zeros(64, dtype=torch.int32)}
    result = wb.verify(
        kernel[1, 64], lambda **arguments: 3 * arguments["in"], inputs=inputs, outputs=("out",)
    )
    verify.present(result)
    ((table, key, opens),) = presented
    assert f'data-wb-open="{key}:{verify.BUTTONS}"' in table
    opened = opens(verify.BUTTONS)
    assert isinstance(opened, Diagnosis)
    links = opening._opener_class()(key=key)
    box = widgets.VBox([links])
    links.answer(box, lambda _: opened)
    links._handle_custom_msg({"open": verify.BUTTONS}, [])
    assert "wrong at -O1 as well as at -O3" in box.children[1].value


@pytest.mark.parametrize("with_inputs", [False, True])
def test_of_a_kernel_with_a_spec(with_inputs: bool, presented: list[Any]) -> None:
    module = wb.compile(DOUBLED, name="doubled.hip")
    spec = wb.kernels["normalization/rmsnorm"]
    shape = {"rows": 4, "cols": 1024}
    inputs = {"x": torch.randn(4, 1024).bfloat16(), "weight": torch.randn(1024).bfloat16()}
    result = wb.verify(module, spec, **({"inputs": inputs} if with_inputs else {"shape": shape}))
    verify.present(result)
    provenance = presented[0][2](0)
    row, column = provenance.at
    assert provenance.value == pytest.approx(result.worst.first[0].got)
    assert [int(n) // 1024 for n in provenance.elements["x"]] == [row] * len(provenance.elements["x"])
    assert row * 1024 + column in provenance.elements["x"]


def test_errors_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    widgets = pytest.importorskip("ipywidgets")
    links = opening._opener_class()(key=opening.new_key())
    sent: list[Any] = []
    monkeypatch.setattr(links, "send", sent.append)
    box = widgets.VBox([links])

    def opens(number: int) -> Any:
        raise (UsageError("no such element"), AssertionError("unforeseen"))[number]

    links.answer(box, opens)
    for number in range(2):
        links._handle_custom_msg({"open": number}, [])
    assert [message["error"] for message in sent] == ["no such element", "AssertionError('unforeseen')"]
    assert box.children == (links,)
