"""Operators of several launches, written in place, with variants, with optional and strided inputs."""

from __future__ import annotations

import dataclasses
import gc
import json

import pytest
import torch

import workbench as wb
from workbench.errors import ShapeError, UsageError, WorkbenchError
from workbench.operators import FlashRule, KernelSpec, Launch, Range, Step, Strided, Variant
from workbench.operators.launch_target import resolve

SUMS = """#include <hip/hip_runtime.h>
struct partial_globals { const float *x; float *partial; int n; };
__global__ void partial_sums(const partial_globals g) {
    const int chunk = g.n / static_cast<int>(gridDim.x * blockDim.x);
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = 0;
    for (int i = 0; i < chunk; i++) sum += g.x[at * chunk + i];
    g.partial[at] = sum;
}
template <int N> __global__ void total(const float *partial, float *out, float *count) {
    if (threadIdx.x != 0) return;
    float sum = 0;
    for (int i = 0; i < N; i++) sum += partial[i];
    out[0] = sum;
    count[0] += 1;
}
"""


def sums(**changes):
    """The sum of a vector in two launches; `count` counts the calls in place."""
    fields = {
        "name": "maps/sums",
        "source": SUMS,
        "parameters": {"n": Range(128, 4096, 128)},
        "shapes": [{"n": 256}],
        "inputs": lambda shape, generator: {
            "x": torch.randn(shape["n"], generator=generator),
            "count": torch.zeros(1),
        },
        "outputs": lambda shape, inputs: {"out": ((1,), torch.float32)},
        "reference": lambda x, count: (x.sum().reshape(1), count + 1),
        "shape_of": lambda x, count: {"n": x.numel()},
        "mutates": ("count",),
        "steps": [
            Step("partial", "partial_sums", lambda shape, arch: Launch(2, 64), arguments=partial_arguments),
            Step("total", "total<128>", lambda shape, arch: Launch(1, 64)),
        ],
        "workspace": lambda shape, inputs: {"partial": ((128,), torch.float32)},
        "tolerances": {"float32": (1e-5, 1e-4)},
    }
    return KernelSpec(**(fields | changes))


def partial_arguments(shape, tensors):
    return {"x": tensors["x"], "partial": tensors["partial"], "n": shape["n"]}


@pytest.fixture(scope="module")
def spec():
    return sums()


def test_steps_run_in_order(spec):
    x, count = torch.arange(256.0), torch.zeros(1)
    assert spec(x, count).item() == x.sum().item()
    spec(x, count)
    assert count.item() == 2
    _, records = spec.run({"x": x, "count": count})
    assert [record.kernel for record in records] == [
        each.kernel.info.name for each in spec.steps_of(arch="gfx950")
    ]


def test_verify_takes_outputs_and_what_is_written_in_place(spec):
    result = wb.verify(spec)
    assert result.passed, str(result)
    assert list(result.outputs) == ["out", "count"]
    assert result.inputs_changed == ()
    assert len(result.records) == 2
    count = torch.zeros(1)
    assert wb.verify(spec, inputs={"x": torch.ones(256), "count": count}).passed
    assert count.item() == 0  # a copy was written


def test_bounds_may_depend_on_the_shape():
    loose = sums(tolerances={"out": lambda shape: (1e-5, 1e-6 * shape["n"])})
    output = wb.verify(loose).outputs["out"]
    assert output.tolerance.atol == pytest.approx(256e-6)
    assert output.passed


def test_verify_sees_what_is_not_written_in_place(spec):
    idle = sums(source=SUMS.replace("count[0] += 1;", ""))
    result = wb.verify(idle)
    assert not result.passed
    assert [name for name, found in result.outputs.items() if not found.passed] == ["count"]


def test_verify_sees_workspace_that_no_step_writes(spec):
    """The second launch reads poison, not the values of an earlier run."""
    skipping = sums(steps=[spec.steps[1]])
    result = wb.verify(skipping)
    assert result.outputs["out"].nonfinite_mismatches == 1


def test_workspace_begins_with_its_value():
    added = SUMS.replace("g.partial[at] = sum;", "g.partial[at] += sum;")
    begun = sums(source=added, workspace=lambda shape, inputs: {"partial": ((128,), torch.float32, 0)})
    assert wb.verify(begun).passed
    assert wb.verify(begun, seed=2).passed


def test_time_profile_and_sanitize_take_every_step(spec):
    timed = wb.time(spec)
    assert [step.name for step in timed.steps] == ["maps/sums partial", "maps/sums total"]
    assert timed.median.value == pytest.approx(sum(step.median.value for step in timed.steps))
    assert timed.median.origin is wb.Origin.MODELLED
    profiled = wb.profile(spec)
    assert profiled.time.value == pytest.approx(sum(each.time.value for each in profiled))
    assert profiled.counters["SQ_WAVES"].value == sum(each["SQ_WAVES"].value for each in profiled) == 3
    assert "maps/sums total" in profiled._repr_html_()
    assert "maps/sums total" in timed._repr_html_()
    assert wb.sanitize(spec).passed


def test_sanitize_names_the_step_at_fault(spec):
    past = sums(source=SUMS.replace("out[0] = sum", "out[1] = sum"))
    report = wb.sanitize(past)
    assert [finding.category for finding in report.findings] == ["out of bounds"]


def test_one_kernel_where_there_are_two(spec):
    with pytest.raises(UsageError, match="has 2 steps, partial, total"):
        spec.kernel(arch="gfx950")
    with pytest.raises(UsageError, match="has 2 steps, partial, total; expected a module"):
        wb.verify(spec.steps_of(arch="gfx950")[0].kernel, spec)
    module = wb.compile(SUMS + "template __global__ void total<128>(const float *, float *, float *);")
    assert wb.verify(module, spec).passed


def test_a_step_that_is_not_needed():
    always = Step("partial", "partial_sums", lambda shape, arch: Launch(2, 64), arguments=partial_arguments)
    never = dataclasses.replace(always, name="never", when=lambda shape, arch: shape["n"] > 256)
    spec = sums(steps=[always, never, sums().steps[1]])
    assert [each.step.name for each in spec.steps_of({"n": 256})] == ["partial", "total"]
    assert [each.step.name for each in spec.steps_of({"n": 512})] == ["partial", "never", "total"]


SCALE = """#include <hip/hip_runtime.h>
struct globals { const float *x; const float *globals; float *out; int n, stride; };
template <int TIMES> __global__ void scale(const globals globals) {
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (at >= globals.n) return;
    const float bias = globals.globals != nullptr ? globals.globals[at] : 0.0f;
    globals.out[at] = TIMES * globals.x[at * globals.stride] + bias;
}
"""


def scale(**changes):
    """out = 2 x + bias; the bias is optional, a member has the name of the parameter, x may be strided."""
    fields = {
        "name": "maps/scale",
        "source": SCALE,
        "entry": "scale<2>",
        "launch": lambda shape, arch: Launch(-(-shape["n"] // 64), 64),
        "parameters": {"n": Range(1, 1024), "bias": wb.Choice((0, 1))},
        "shapes": [{"n": 100}, {"n": 70, "bias": 1}],
        "inputs": lambda shape, generator: {
            "x": torch.randn(shape["n"], 3, generator=generator)[:, 1],
            "bias": torch.randn(shape["n"], generator=generator) if shape["bias"] else None,
        },
        "strided": ("x",),
        "outputs": lambda shape, inputs: {"out": ((shape["n"],), torch.float32)},
        "reference": lambda x, bias=None: 2 * x + (0 if bias is None else bias),
        "shape_of": lambda x, bias: {"n": x.shape[0], "bias": int(bias is not None)},
        "arguments": lambda shape, tensors: {
            "x": Strided(tensors["x"]),
            "globals": tensors["bias"],
            "out": tensors["out"],
            "n": shape["n"],
            "stride": tensors["x"].stride(0),
        },
    }
    return KernelSpec(**(fields | changes))


def test_optional_and_strided_inputs():
    spec = scale()
    assert wb.verify(spec, shapes="all").passed
    assert wb.sanitize(spec).passed
    x = torch.randn(100, 5)[:, 4]
    torch.testing.assert_close(spec(x), 2 * x)
    torch.testing.assert_close(spec(x, bias=torch.ones(100)), 2 * x + 1)


def test_gradients_by_a_reference_that_looks_at_values_compile():
    """Tracing has no values for `tolist`; the reference's autograd is an operator that is not traced."""

    def reference(x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        rows = {place: 2 * x[place] for place in x.detach().argsort().tolist()}
        return torch.stack([rows[place] for place in range(len(x))]) + (0 if bias is None else bias)

    spec = scale(name="maps/listed", reference=reference)
    x, bias = torch.randn(10, requires_grad=True), torch.randn(10, requires_grad=True)

    def squares(x, bias):
        return (spec(x, bias) ** 2).sum()

    for call in (squares, torch.compile(squares, fullgraph=True, backend="aot_eager")):
        grads = torch.autograd.grad(call(x, bias), (x, bias))
        torch.testing.assert_close(grads[1], 2 * (2 * x + bias).detach())
        torch.testing.assert_close(grads[0], 2 * grads[1])


def test_a_view_is_guarded_to_its_own_end():
    """The memory of a strided view reaches to its last element and not beyond."""
    spec = scale(
        arguments=lambda shape, tensors: {**scale().arguments(shape, tensors), "stride": 6},
    )
    with pytest.raises(wb.KernelFault, match="past the end of argument 'x'"):
        spec(torch.randn(100, 5)[:, 4])


def test_views_are_copied_where_the_kernel_does_not_take_them():
    x = torch.randn(100, 5)[:, 4]
    for claimed in ((), ("x",)):
        plain = scale(
            name="maps/copied",
            strided=claimed,
            arguments=lambda shape, tensors: {**scale().arguments(shape, tensors), "x": tensors["x"]},
        )
        torch.testing.assert_close(plain(x), 2 * x)
        torch.testing.assert_close(plain(x[:1].expand(100)), 2 * x[:1].expand(100))
    with wb.kernel.recording() as launches:
        scale()(x)
    assert launches[0][1].kwargs["x"].tensor.data_ptr() == x.data_ptr()


def test_variants_by_fit_by_table_and_by_name(tmp_path, monkeypatch):
    table = tmp_path / "maps" / "scale.json"
    table.parent.mkdir()
    monkeypatch.setenv("HIPKITTENS_TUNING", str(tmp_path))
    table.write_text(json.dumps({"gfx950": [[{"n": 64}, "any"], [{"n": 300}, "small"]]}))
    spec = scale(
        entry=None,
        launch=None,
        variants={
            "small": Variant(lambda shape, arch: shape["n"] <= 128, entry="scale<2>", launch=scale().launch),
            "any": Variant(
                lambda shape, arch: shape["n"] < 1000,
                source=SCALE.replace("TIMES *", "2 *"),
                entry="scale<3>",
                launch=lambda shape, arch: Launch(-(-shape["n"] // 256), 256),
            ),
        },
    )
    picked = {n: spec.variant_name({"n": n}, arch="gfx950") for n in (64, 100, 300)}
    # The table names "small" for 300, which does not fit.
    assert picked == {64: "any", 100: "small", 300: "any"}
    assert spec.variant_name({"n": 64}, arch="gfx942") == "small"
    assert spec.kernel({"n": 300}).name == "scale<3>"
    assert wb.verify(spec, shapes=[{"n": 64}, {"n": 100}]).passed
    forced = spec.variant("any")
    assert forced.name == "maps/scale:any"
    assert forced.kernel({"n": 100}).name == "scale<3>"
    assert wb.verify(forced, shape={"n": 100}).passed
    with pytest.raises(ShapeError, match=r"none of its variants \(small, any\) takes n=1000, bias=0"):
        spec(torch.zeros(1000))
    with pytest.raises(UsageError, match="no variant 'other'; it has 'small', 'any'"):
        spec.variant("other")


def test_flash_rule_of_an_output():
    reason = "rounds twice"
    spec = scale(flash_rule={"out": FlashRule(reason)})
    output = wb.verify(spec).outputs["out"]
    assert output.flash_passed is None
    assert reason in str(output)
    wider = wb.verify(scale(flash_rule={"out": FlashRule(reason, factor=5)})).outputs["out"]
    assert wider.flash_bound is not None
    assert wider.flash_factor == 5


def test_native_is_what_errors_are_compared_with():
    spec = scale(native=lambda x, bias: 2 * x + 0.5)
    assert wb.verify(spec).outputs["out"].pytorch_error == pytest.approx(0.5, abs=1e-6)


def test_hard_inputs():
    spec = scale(hard_inputs={"large": lambda shape, generator: {"x": torch.full((shape["n"],), 1e30)}})
    assert (spec.make_inputs(hard="large")["x"] == 1e30).all()
    with pytest.raises(UsageError, match="no hard inputs 'small'; it has 'large'"):
        spec.make_inputs(hard="small")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"entry": None}, "entry and launch belong together"),
        ({"entry": None, "launch": None}, "nothing to launch; expected entry and launch, steps or variants"),
        ({"steps": sums().steps}, "entry and steps are given"),
        ({"mutates": ("y",)}, "mutates names 'y', which is not an input; the inputs are x, bias"),
    ],
)
def test_specs_that_do_not_hold_together(changes, says):
    with pytest.raises(WorkbenchError, match=says):
        scale(**changes)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("activations/silu", {"rows": 8, "cols": 264, "dtype": "fp32"}),
        (
            "rotary/fused_qkv_split_qk_rope",
            {"heads": 6, "queries": 2, "tokens": 8, "dim": 64, "turned": 64},
        ),
    ],
)
def test_an_operator_keeps_no_tensors_alive(name, shape):
    """The same for a verification and a modelled time: a model calls hundreds of instances."""
    spec = wb.kernels[name]
    gc.collect()
    before = {id(each) for each in gc.get_objects() if type(each) is torch.Tensor}
    inputs = spec.make_inputs(spec.shape(shape))
    out = spec(**inputs)
    del inputs, out
    wb.verify(name, shape=shape)
    assert wb.time(name, shape=shape).median.value > 0
    gc.collect()
    left = [each for each in gc.get_objects() if type(each) is torch.Tensor and id(each) not in before]
    assert not [each.shape for each in left]


def test_a_target_has_the_arguments_of_its_launch():
    """A replay, which uses a launch's tensors, finds them while its target exists."""
    shape = {"heads": 6, "queries": 2, "tokens": 8, "dim": 64, "turned": 64}
    target = resolve("rotary/fused_qkv_split_qk_rope", shape=shape)
    target.run(None)
    kernel = target.kernel
    assert kernel.last is not None
    assert set(kernel.last.kwargs) >= {"qkv", "q", "k", "v"}
    assert isinstance(kernel.last.kwargs["q"], (torch.Tensor, dict))
    del target
    gc.collect()
    assert kernel.last.kwargs == {}
    with pytest.raises(UsageError, match="launch it once before"):
        resolve(kernel)
