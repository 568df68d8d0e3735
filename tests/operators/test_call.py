"""Plans of calls: after the second like call others use its plan, with the results of the first."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import workbench as wb
from workbench.errors import ArgumentError, KernelFault
from workbench.kernel import recording
from workbench.operators import Choice, Index, KernelSpec, Launch, Range

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void add(const float *x, const float *y, float *out, float by) {
    int astray = x[0] > 1e6f ? 1 << 12 : 0;
    out[threadIdx.x] = x[threadIdx.x] + by * y[threadIdx.x + astray];
}
"""


def added(**changes):
    fields = {
        "name": "maps/added",
        "source": SOURCE,
        "entry": "add",
        "launch": lambda shape, arch: Launch(1, shape["n"]),
        "parameters": {"n": Range(1, 64), "kind": Choice((0,))},
        "shapes": [{"n": 8}],
        "inputs": lambda shape, generator: {name: torch.ones(shape["n"]) for name in "xy"},
        "outputs": lambda shape, inputs: {"out": ((shape["n"],), torch.float32)},
        "reference": lambda x, y, by=2.0: x + by * y,
        "arguments": lambda shape, t: {**t, "x": t["x"].reshape(-1), "y": t["y"].view(-1)},
        "shape_of": lambda x, y, by: {"n": x.numel()},
    }
    return KernelSpec(**(fields | changes))


def plans(spec):
    return list(spec.calls.plans.values())


def called(spec, x, y, **numbers):
    got = spec(x, y, **numbers)
    assert torch.equal(got, spec.reference(x, y, **numbers))
    return got


def test_calls_by_a_plan_have_tensors_and_numbers_of_their_own():
    spec = added()
    results = []
    for n in range(4):
        x, y = torch.arange(8.0) + n, torch.arange(16.0)[n : n + 8]
        results.append((called(spec, x, y), x, y))
    assert [plan is not None for plan in plans(spec)] == [True]
    for out, x, y in results:
        assert torch.equal(out, x + 2 * y)
    x = torch.arange(8.0)
    for by in (3.0, 3.0, 3.0, 2.0):
        called(spec, x, x + 1, by=by)
    called(spec, x, x)  # one piece of memory for two arguments
    called(spec, x.flip(0), x)
    called(spec, torch.arange(5.0), torch.arange(5.0))
    assert all(plan is not None for plan in plans(spec))


def test_what_depends_on_values_has_no_plan():
    spec = added(
        arguments=lambda shape, t: {**t, "by": float(t["x"][0])},
        reference=lambda x, y: x + x[0] * y,
        shape_of=lambda x, y: {"n": x.numel()},
    )
    for n in range(4):
        called(spec, torch.arange(8.0) + n, torch.ones(8))
    assert plans(spec) == [None]


def test_a_source_that_changes_ends_the_plan(tmp_path):
    file = tmp_path / "added.cpp"
    file.write_text(SOURCE)
    spec = added(source="added.cpp", folder=tmp_path)
    x, y = torch.arange(8.0), torch.ones(8)
    for _ in range(3):
        called(spec, x, y)
    file.write_text(SOURCE.replace("x[threadIdx.x] +", "x[threadIdx.x] -"))
    for _ in range(4):
        assert torch.equal(spec(x, y), x - 2 * y)


def test_launches_by_a_plan_are_recorded_watched_and_stopped():
    spec = added()
    x, y = torch.arange(8.0), torch.ones(8)
    for _ in range(3):
        called(spec, x, y)
    with recording() as launches:
        called(spec, x, y)
    assert launches[0][1].kwargs["y"].data_ptr() == y.data_ptr()
    with wb.sanitizing() as watch:
        called(spec, x, y)
    assert watch.launches == 1
    assert watch.passed
    # The nearest argument is named, which depends on their addresses.
    with pytest.raises(KernelFault, match=r"argument '\w+' \(float32 tensor 8\)"):
        spec(torch.full((8,), 1e7), y)
    called(spec, x, y)


CHOSEN = """#include <hip/hip_runtime.h>
extern "C" __global__ void chosen(const float *x, const long *at, float *out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = x[at[threadIdx.x]];
}
"""


def chosen(**changes):
    fields = {
        "name": "maps/chosen",
        "source": CHOSEN,
        "entry": "chosen",
        "inputs": lambda shape, generator: {"x": torch.ones(8), "at": torch.arange(shape["n"])},
        "reference": lambda x, at: x[at],
        "arguments": lambda shape, t: {**t, "n": shape["n"]},
        "shape_of": lambda x, at: {"n": at.numel()},
        "tensors": {"x": "fp32[values]", "at": "int64[n]", "out": "fp32[n]"},
        "indexes": {"at": Index("values")},
    }
    return added(**(fields | changes))


def test_calls_with_integers_have_a_plan_and_look_at_every_index():
    spec = chosen()
    x = torch.arange(8.0)
    for n in range(4):
        at = torch.tensor([n, 7 - n, 2])
        assert torch.equal(spec(x + n, at), (x + n)[at])
    assert [plan is not None for plan in plans(spec)] == [True]
    with pytest.raises(ArgumentError, match=r"at\[1\] is 8; expected an index from 0 to 7"):
        spec(x, torch.tensor([0, 8, 1]))


@pytest.mark.parametrize(
    "read",
    [
        {"shape_of": lambda x, at: {"n": int(at[0])}},
        {"shape_of": lambda x, at: {"n": at.tolist()[0]}},
        {"arguments": lambda shape, t: {**t, "n": t["at"].tolist()[0]}},
        {"outputs": lambda shape, given: {"out": ((4 + given["at"].tolist()[0],), torch.float32)}},
    ],
    ids=["shape", "shape, as a list", "arguments", "outputs"],
)
def test_integers_whose_values_are_read_have_no_plan(read):
    spec = chosen(**read)
    for n in (3, 2, 4, 3):
        at = torch.tensor([n, 1, 5, 2])
        assert torch.equal(spec(torch.arange(8.0), at)[: at[0]], at[: at[0]].float())
    assert plans(spec) in ([], [None])


def test_a_plan_needs_no_compiler_of_pytorchs():
    """Importing it takes longer than most calls; notebooks and scripts rarely use it."""
    program = (
        "import sys, torch, workbench as wb\n"
        "for _ in range(3):\n"
        "    wb.kernels['activations/relu'](torch.ones(3, 65))\n"
        "assert any(wb.kernels['activations/relu'].calls.plans.values())\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
