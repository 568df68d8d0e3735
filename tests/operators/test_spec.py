"""KernelSpec, shape parameters and the registry; nothing is compiled here."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from workbench import runtime
from workbench.errors import ArgumentError, LaunchError, ShapeError, UnknownKernel, UsageError, WorkbenchError
from workbench.operators import Choice, KernelRegistry, KernelSpec, Launch, Range, Tolerance
from workbench.operators.tensors import name_results


def make(**changes):
    fields = {
        "name": "maps/scale",
        "source": "scale.cpp",
        "entry": "scale",
        "parameters": {"n": Range(64, 1024, 64, default=128), "dtype": Choice(("bf16", "fp32"))},
        "shapes": [{"n": 256}, {"n": 1024, "dtype": "fp32"}],
        "inputs": lambda shape, generator: {"x": torch.randn(shape["n"], generator=generator)},
        "outputs": lambda shape, inputs: {"out": ((shape["n"],), inputs["x"].dtype)},
        "reference": lambda x, factor=2.0: x * factor,
        "launch": lambda shape, arch: Launch(shape["n"] // 64, 64),
        "shape_of": lambda x, factor: {"n": x.numel()},
        "flops": lambda shape: shape["n"],
        "bytes": lambda shape: 8 * shape["n"],
    }
    return KernelSpec(**(fields | changes))


def test_launch_fills_dimensions():
    launch = Launch(4, (8, 2), 16)
    assert (launch.grid, launch.block, launch.dynamic_shared) == ((4, 1, 1), (8, 2, 1), 16)


@pytest.mark.parametrize("grid", [0, (1, 2, 3, 4), (), (1, -1)])
def test_launch_refuses_bad_dimensions(grid):
    with pytest.raises(LaunchError, match="grid is"):
        Launch(grid, 64)


def test_range_and_choice():
    r = Range(64, 256, 64)
    assert [v for v in range(300) if v in r] == [64, 128, 192, 256]
    assert (r.first, str(r)) == (64, "64 to 256 in steps of 64")
    assert "fp32" in Choice(("bf16", "fp32"))
    assert Choice((1, 2), default=2).first == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Range(5, 1), r"Range\(5, 1, 1\); expected integers low, high and step with low <= high"),
        (lambda: Range("a", 1), r"Range\('a', 1, 1\); expected integers"),
        (lambda: Range(1, 5, 0), r"Range\(1, 5, 0\); expected"),
        (
            lambda: Range(64, 128, 64, default=65),
            "the default 65 is not a value of .*; expected 64 to 128 in",
        ),
        (lambda: Choice([]), r"Choice\(\[\]\); expected a sequence of one value or more"),
        (lambda: Choice("bf16"), r"Choice\('bf16'\); expected a sequence"),
        (lambda: Choice((1, 2), default=3), "the default 3 is not a value of"),
        (
            lambda: Tolerance(math.nan, math.nan),
            r"Tolerance\(rtol=nan, .*; expected rtol and atol of 0 or more",
        ),
        (lambda: Tolerance(-1, 0), "rtol=-1"),
        (lambda: Tolerance(0, "a"), "atol='a'"),
        (lambda: Tolerance(0, 0, share=2), "share from 0 to 1"),
    ],
)
def test_what_no_value_could_meet_is_refused(make, said):
    with pytest.raises(UsageError, match=said):
        make()


def test_shape_defaults_and_errors():
    spec = make()
    assert spec.shape() == {"n": 256, "dtype": "bf16"}
    assert spec.shape({"dtype": "fp32"}) == {"n": 128, "dtype": "fp32"}
    with pytest.raises(ShapeError, match="no shape parameter 'm'; it has n, dtype"):
        spec.shape(m=3)
    with pytest.raises(ShapeError, match="n is 100; supported is 64 to 1024 in steps of 64"):
        spec.shape(n=100)
    with pytest.raises(ShapeError, match="n is None; supported is 64"):
        spec.shape(n=None)


@pytest.mark.parametrize("flag", [True, np.True_])
def test_true_is_no_number(flag):
    """The value of a flag is 0 or 1."""
    parameters = {"m": Range(1, 8), "waves": Choice((1, 2, 4)), "causal": Choice((0, 1))}
    spec = make(parameters=parameters, shapes=[])
    with pytest.raises(ShapeError, match="m is True; supported is 1 to 8"):
        spec.shape(m=flag)
    with pytest.raises(ShapeError, match="waves is True; supported is one of 1, 2, 4"):
        spec.shape(waves=flag)
    assert [type(value) for value in spec.shape(causal=flag).values()] == [int] * 3
    assert spec.shape(causal=flag)["causal"] == 1


@pytest.mark.parametrize("fraction", [128.5, np.float32(128.5), torch.tensor(128.5), "128"])
def test_a_fraction_or_a_text_is_no_integer(fraction):
    with pytest.raises(ShapeError, match=r"n is .*128.*; supported is 64 to 1024"):
        make().shape(n=fraction)


@pytest.mark.parametrize("whole", [128, np.int32(128), torch.tensor(128)])
def test_integers_of_any_kind_become_pythons(whole):
    assert type(make().shape(n=whole)["n"]) is int


def test_check_sees_the_target():
    def check(shape, arch):
        if arch == "gfx942" and shape["n"] > 512:
            raise ShapeError("too large for gfx942")

    spec = make(check=check)
    assert spec.shape(n=1024, arch="gfx950")["n"] == 1024
    with pytest.raises(ShapeError, match="too large"):
        spec.shape(n=1024, arch="gfx942")


def test_bind_takes_the_reference_signature():
    spec = make()
    x = torch.ones(64)
    assert spec.bind(x)["factor"] == 2.0
    assert spec.bind(x=x, factor=3.0)["factor"] == 3.0
    with pytest.raises(ArgumentError, match=r"maps/scale\(x, factor=2.0\)"):
        spec.bind(x, y=1)


@pytest.mark.parametrize(
    ("arch", "dtype", "largest"),
    [
        ("gfx950", torch.float8_e4m3fn, [3.0, -448.0, 240.0]),
        ("gfx942", torch.float8_e4m3fnuz, [3.0, -240.0, 240.0]),
        # No instructions on 8-bit floats: HIP's functions convert every encoding in software.
        ("gfx90a", torch.float8_e4m3fn, [3.0, -448.0, 240.0]),
    ],
)
def test_fp8_inputs_come_in_the_target_s_format(arch, dtype, largest):
    values = torch.tensor([3.0, -448.0, 240.0]).to(torch.float8_e4m3fn)
    spec = make(inputs=lambda shape, generator: {"x": values})
    got = spec.make_inputs(device=runtime.device(f"emulated:{arch}"))["x"]
    assert got.dtype == dtype
    assert got.float().tolist() == largest


def test_inputs_repeat_with_the_seed_and_outputs_are_poisoned():
    spec = make(outputs=lambda shape, inputs: {"out": ((4,), torch.bfloat16), "index": ((3,), torch.int32)})
    device = runtime.device("emulated:gfx950")
    first = spec.make_inputs(seed=7, device=device)
    assert torch.equal(first["x"], spec.make_inputs(seed=7, device=device)["x"])
    assert not torch.equal(first["x"], spec.make_inputs(seed=8, device=device)["x"])
    outputs = spec.make_outputs(spec.shape(), first, poison=True)
    assert outputs["out"].isnan().all()
    assert (outputs["index"] == torch.iinfo(torch.int32).min).all()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2])
def test_poison_of_8_bit_floats_is_nan(dtype):
    spec = make(outputs=lambda shape, inputs: {"out": ((4,), dtype)})
    outputs = spec.make_outputs(spec.shape(), {}, poison=True)
    assert outputs["out"].float().isnan().all()


def test_work():
    assert make().work({"n": 64}) == {"flops": 64, "bytes": 512}
    assert make(flops=None).work() == {"bytes": 2048}


def test_name_results():
    a, b = torch.ones(1), torch.zeros(1)
    assert name_results(a, ["out"], "k") == {"out": a}
    assert name_results((a, b), ["p", "q"], "k") == {"p": a, "q": b}
    assert list(name_results({"q": b, "p": a}, ["p", "q"], "k")) == ["p", "q"]
    with pytest.raises(WorkbenchError, match="returned 1 values; expected one tensor for each of p, q"):
        name_results((a,), ["p", "q"], "k")


SPEC = """
from workbench.operators import *
import torch
spec = KernelSpec(name="{name}", source="scale.cpp", entry="k", parameters={{}}, shapes=[{{}}],
    inputs=lambda shape, generator: {{}}, outputs=lambda shape, inputs: {{}}, reference=lambda: (),
    launch=lambda shape, arch: Launch(1, 64), shape_of=lambda: {{}})
"""


def test_registry(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "scale.py").write_text(SPEC.format(name="maps/scale"))
    (folder / "scale.cpp").write_text("// the source\n")
    registry = KernelRegistry(tmp_path)
    assert list(registry) == ["maps/scale"]
    assert "maps/scale" in registry
    assert repr(registry) == "<1 kernels>\n  maps: scale"
    assert "maps/scale()" in registry._repr_html_()
    spec = registry["maps/scale"]
    assert spec is registry["maps/scale"]
    assert spec.read_source() == "// the source\n"
    for wrong in ("maps/scael", "scale"):
        with pytest.raises(UnknownKernel, match="did you mean maps/scale"):
            registry[wrong]
    with pytest.raises(KeyError, match="no name is near it; there are 1, of the categories maps"):
        registry["zzzzzz"]
    for wrong in (5, None):
        assert wrong not in registry
        with pytest.raises(UnknownKernel, match=f"got {wrong}; expected a kernel's name"):
            registry[wrong]


def test_specs_share_references(tmp_path):
    for folder in ("maps", "references", "families"):
        (tmp_path / folder).mkdir()
    (tmp_path / "references" / "scaling.py").write_text("def scale(x, factor=2.0):\n    return factor * x\n")
    (tmp_path / "maps" / "scale.py").write_text(
        "from ..references.scaling import scale\n"
        + SPEC.format(name="maps/scale").replace("reference=lambda: ()", "reference=scale")
    )
    registry = KernelRegistry(tmp_path)
    assert list(registry) == ["maps/scale"]
    assert registry["maps/scale"].reference(3.0) == 6.0


def test_registry_refuses_a_spec_of_another_name(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "scale.py").write_text(SPEC.format(name="maps/other"))
    with pytest.raises(WorkbenchError, match="names itself 'maps/other'"):
        KernelRegistry(tmp_path)["maps/scale"]
