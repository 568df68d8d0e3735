"""Operators in PyTorch: schema, fake tensors, torch.compile, gradients, writes in place."""

from __future__ import annotations

import pytest
import torch

from workbench.errors import WorkbenchError
from workbench.operators import Choice, KernelRegistry, KernelSpec, Launch, Range

LIBRARY = '''
from __future__ import annotations
import torch
from workbench.operators import KernelSpec, Launch, Range

SOURCE = """#include <hip/hip_runtime.h>
__global__ void cube(const float *x, float *y, float *dxdy, int n) {
    const int at = static_cast<int>(threadIdx.x);
    if (at < n) y[at] = x[at] * x[at] * x[at];
    if (at < n) dxdy[at] = 3 * x[at] * x[at];
}
__global__ void cube_backward(const float *dxdy, const float *dy, float *dx, int n) {
    const int at = static_cast<int>(threadIdx.x);
    if (at < n) dx[at] = 10 * dxdy[at] * dy[at];
}
"""

def common(**more):
    return dict(
        source=SOURCE,
        parameters={"n": Range(1, 256)},
        shapes=[{"n": 8}],
        launch=lambda shape, arch: Launch(1, 256),
        arguments=lambda shape, tensors: {**tensors, "n": shape["n"]},
        **more,
    )
'''

FORWARD = """
from ..references.common import *
def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x**3, 3 * x**2
spec = KernelSpec(
    name="maps/cube", entry="cube", reference=reference, backward="maps/cube_backward",
    inputs=lambda shape, generator: {"x": torch.randn(shape["n"], generator=generator)},
    outputs=lambda shape, inputs: {name: ((shape["n"],), torch.float32) for name in ("y", "dxdy")},
    shape_of=lambda x: {"n": x.numel()}, **common(),
)
"""

BACKWARD = """
from ..references.common import *
def reference(dxdy: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    return 10 * dxdy * dy
spec = KernelSpec(
    name="maps/cube_backward", entry="cube_backward", reference=reference,
    inputs=lambda shape, generator: {
        name: torch.randn(shape["n"], generator=generator) for name in ("dxdy", "dy")
    },
    outputs=lambda shape, inputs: {"dx": ((shape["n"],), torch.float32)},
    shape_of=lambda dxdy, dy: {"n": dxdy.numel()}, **common(),
)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    root = tmp_path_factory.mktemp("library")
    for name, text in (
        ("references/common", LIBRARY),
        ("maps/cube", FORWARD),
        ("maps/cube_backward", BACKWARD),
    ):
        path = root / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return KernelRegistry(root)


def scaled(x: torch.Tensor, factor: float = 2.0, bias: torch.Tensor | None = None) -> torch.Tensor:
    return factor * x if bias is None else factor * x + bias


def counted(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return seen + x


def scale(**changes):
    fields = {
        "name": "maps/scale",
        "source": """#include <hip/hip_runtime.h>
__global__ void scale(const float *x, const float *bias, float *out, float factor, int n) {
    const int at = static_cast<int>(threadIdx.x);
    if (at < n) out[at] = factor * x[at] + (bias != nullptr ? bias[at] : 0.0f);
}
__global__ void count(const float *x, float *seen) { seen[threadIdx.x] += x[threadIdx.x]; }
""",
        "entry": "scale",
        "launch": lambda shape, arch: Launch(1, shape["n"]),
        "parameters": {"n": Range(1, 256), "bias": Choice((0, 1))},
        "shapes": [{"n": 64}],
        "inputs": lambda shape, generator: {"x": torch.randn(shape["n"], generator=generator)},
        "outputs": lambda shape, inputs: {"out": ((shape["n"],), torch.float32)},
        "reference": scaled,
        "shape_of": lambda x, factor, bias: {"n": x.numel(), "bias": int(bias is not None)},
        "arguments": lambda shape, tensors: {**tensors, "n": shape["n"]},
    }
    return KernelSpec(**(fields | changes))


def count(**changes):
    """seen += x, in place."""
    return scale(
        name="maps/count",
        entry="count",
        reference=counted,
        shape_of=lambda x, seen: {"n": x.numel()},
        inputs=lambda shape, generator: {"x": torch.ones(shape["n"]), "seen": torch.zeros(shape["n"])},
        outputs=lambda shape, inputs: {},
        mutates=("seen",),
        arguments=None,
        **changes,
    )


@pytest.fixture(scope="module")
def spec():
    return scale()


def test_schema(spec, library):
    schema = str(spec.operator.overload._schema)
    assert schema.endswith("(Tensor x, float factor=2., Tensor? bias=None) -> Tensor")
    assert str(count().operator.overload._schema).endswith("(Tensor x, Tensor(a!) seen) -> ()")
    assert library["maps/cube"].operator.outputs == ("y", "dxdy")


def test_a_signature_without_annotations():
    bare = scale(reference=lambda x, factor=2.0, bias=None: factor * x)
    with pytest.raises(WorkbenchError, match="parameter 'x' of its reference is annotated nothing"):
        _ = bare.operator


def test_opcheck(spec, library):
    x = torch.randn(64)
    torch.library.opcheck(spec.operator.overload, (x,))
    torch.library.opcheck(spec.operator.overload, (x.requires_grad_(), 3.0, torch.ones(64)))
    torch.library.opcheck(count().operator.overload, (torch.ones(64), torch.zeros(64)))
    torch.library.opcheck(library["maps/cube"].operator.overload, (torch.randn(8, requires_grad=True),))


@pytest.mark.parametrize(
    "positive",
    [
        lambda x: x[(x > 0).nonzero().flatten()],
        lambda x: torch.tensor([max(each, 0.0) for each in x.tolist()]),
        lambda x: torch.from_numpy(x.numpy().clip(0)),
    ],
    ids=["size", "list", "numpy"],
)
def test_inputs_that_look_at_their_values(positive):
    """Fake tensors have no values; lists of experts' tokens have the drawn number of ids."""
    drawn = scale(
        inputs=lambda shape, generator: {"x": positive(torch.randn(shape["n"], generator=generator))}
    )
    assert drawn.operator.outputs == ("out",)
    torch.library.opcheck(drawn.operator.overload, (torch.randn(64),))


def test_inputs_that_fail():
    def inputs(shape, generator):
        raise RuntimeError("no numbers today")

    with pytest.raises(RuntimeError, match="no numbers today"):
        _ = scale(inputs=inputs).operator


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiles_as_a_whole(backend):
    fresh, seen = scale(), torch.zeros(64)
    counting = count()

    def function(x, seen):
        counting(x, seen)
        return fresh(x, bias=seen) * 2

    x = torch.randn(64)
    got = torch.compile(function, fullgraph=True, backend=backend)(x, seen)
    torch.testing.assert_close(got, 6 * x)
    torch.testing.assert_close(seen, x)


def test_compiled_code_tells_specs_apart():
    """A spec's names are constants in compiled code, so a call with another spec needs other code."""
    twice = scale()
    three = scale(source=twice.source.replace("factor * x", "3.0f * factor * x"))
    compiled = torch.compile(lambda spec, x: spec(x), fullgraph=True, backend="eager")
    x = torch.randn(64)
    for spec, factor in ((twice, 2), (three, 6), (twice, 2)):
        torch.testing.assert_close(compiled(spec, x), factor * x)


def test_gradient_by_autograd_of_the_reference(spec):
    x, bias = torch.randn(64, requires_grad=True), torch.randn(64, requires_grad=True)
    spec(x, 3.0, bias).square().sum().backward()
    expected = 2 * (3 * x + bias)
    torch.testing.assert_close(x.grad, 3 * expected)
    torch.testing.assert_close(bias.grad, expected)
    assert "gradient by autograd of the reference" in repr(spec)


def test_gradient_by_another_operator(library):
    """Ten times the true one: it is the kernel that `backward` names, not autograd of the reference."""
    cube = library["maps/cube"]
    x = torch.randn(8, requires_grad=True)
    outputs = cube(x)
    outputs["y"].sum().backward()
    torch.testing.assert_close(x.grad, 30 * x.detach() ** 2)
    assert not outputs["dxdy"].requires_grad  # maps/cube_backward has no gradient for it
    assert "gradient by maps/cube_backward" in repr(cube)
    compiled = torch.compile(lambda x: cube(x)["y"], fullgraph=True, backend="aot_eager")
    again = x.detach().clone().requires_grad_()
    compiled(again).sum().backward()
    torch.testing.assert_close(again.grad, x.grad)


def test_what_is_written_in_place_comes_back():
    counting, seen = count(), torch.zeros(64)
    assert counting(torch.ones(64), seen) is seen
    assert (seen == 1).all()
    assert "writes seen in place" in repr(counting)
