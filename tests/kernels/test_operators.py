"""Every operator of the library on every target, from its spec only: nothing here is specific to one."""

from __future__ import annotations

import os
import random
from typing import Any

import operator_cases as cases
import pytest
import torch

import workbench as wb
from workbench import targets
from workbench.errors import ArgumentError, ShapeError, WorkbenchError
from workbench.operators import KernelSpec, Range
from workbench.runtime import Device, device
from workbench.targets import LIBRARY_TARGETS, TILE_TARGETS

SEED = os.environ["HIPKITTENS_TEST_SEED"]

everywhere = pytest.mark.parametrize(
    ("name", "arch"), [(name, arch) for name in wb.kernels for arch in wb.kernels[name].targets]
)
on_tile_targets = pytest.mark.parametrize(
    ("name", "arch"), [(name, arch) for name in wb.kernels for arch in TILE_TARGETS]
)


def drawn_case(name: str, arch: str) -> tuple[KernelSpec, Device, tuple[cases.Shape, ...]]:
    """An operator with a device and the thin set of its shapes."""
    spec = wb.kernels[name]
    if arch not in spec.targets:
        pytest.skip(f"{name} is not for {arch}")
    if not cases.EVERY and not cases.has_turn(name, arch, SEED):
        pytest.skip(f"{name} is launched by another operator too, and takes turns on targets")
    shapes = cases.thin(spec, arch, SEED)
    assert shapes, f"{name} supports no small problem on {arch}"
    return spec, device(f"emulated:{arch}"), shapes


@everywhere
def test_results(name: str, arch: str) -> None:
    spec, where, shapes = drawn_case(name, arch)
    for shape in shapes:
        result = wb.verify(spec, shape=shape, device=where, seed=random.randrange(1000))
        assert result.passed, f"{shape}: {result}"


@everywhere
def test_hard_inputs(name: str, arch: str) -> None:
    spec, where, shapes = drawn_case(name, arch)
    if not spec.hard_inputs:
        pytest.skip(f"{name} names none")
    for hard in spec.hard_inputs:
        inputs = spec.make_inputs(shapes[0], device=where, hard=hard)
        result = wb.verify(spec, shape=shapes[0], inputs=inputs, device=where)
        assert not result.inputs_changed
        for output in result.outputs.values():
            # Element-wise bounds are made for values around one: where large numbers cancel, PyTorch's own
            # error is the measure.
            holds = output.flash_passed and not output.nonfinite_mismatches and not output.unwritten
            assert output.passed or holds, f"{hard}, {shapes[0]}: {result}"


@everywhere
def test_two_runs_are_equal_in_every_bit(name: str, arch: str) -> None:
    spec, where, shapes = drawn_case(name, arch)
    runs = []
    for _ in range(2):
        inputs = spec.make_inputs(shapes[0], seed=5, device=where)
        outputs, _ = spec.run(inputs, shape=shapes[0], device=where)
        runs.append({**outputs, **{name: inputs[name] for name in spec.mutates}})
    if reason := spec.implementation(shapes[0], arch=arch).spec.nondeterministic:
        pytest.skip(reason)
    for output, tensor in runs[0].items():
        assert torch.equal(_bits(tensor), _bits(runs[1][output])), f"{output} differs at {shapes[0]}"


@on_tile_targets
def test_gradients_by_kernels(name: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients of some inputs against autograd of the reference in float64; twice, with equal bits."""
    spec, where, shapes = drawn_case(name, arch)
    if spec.backward is None:
        pytest.skip(f"{name} is differentiated by autograd of its reference")
    monkeypatch.setenv("HIPKITTENS_DEVICE", where.name)
    inputs = spec.make_inputs(shapes[0], seed=random.randrange(1000), device=where)
    leaves = [n for n, v in inputs.items() if isinstance(v, torch.Tensor) and v.dtype.is_floating_point]
    if isinstance(spec.backward, str):
        # Tables of angles, for instance, have no gradient.
        leaves = [n for n in leaves if f"d{n}" in wb.kernels[spec.backward].output_names]
    if not leaves:
        pytest.skip(f"{shapes[0]} has nothing but integers, which have no gradient")
    names = random.sample(leaves, random.randint(1, len(leaves)))
    results = spec(**{**inputs, **{n: inputs[n].clone().requires_grad_() for n in names}})
    results = (
        results if isinstance(results, dict) else dict(zip(spec.operator.outputs, (results,), strict=True))
    )
    generator = torch.Generator().manual_seed(random.randrange(1000))
    # Gradients of 8-bit numbers are of 8 bits too, and sums of hundreds of products have to fit.
    size = 1 / 64 if any(inputs[n].dtype.itemsize == 1 for n in names) else 1.0
    upstream = {
        output: (size * torch.randn(t.shape, generator=generator)).to(t)
        for output, t in results.items()
        if t.requires_grad
    }
    # Kernels round what they make to 16 bits; PyTorch does too, or computes in the float32 of scales. How
    # large its largest error is depends on chance if few elements decide it.
    narrow = any(t.dtype.itemsize == 2 for t in results.values())

    def through(
        function: Any, arguments: dict[str, Any], upstream: dict[str, torch.Tensor] = upstream
    ) -> dict[str, torch.Tensor]:
        tensors = {n: arguments[n].detach().clone().requires_grad_() for n in names}
        results = function(**{**arguments, **tensors})
        if isinstance(results, torch.Tensor):
            results = (results,)
        if not isinstance(results, dict):
            results = dict(zip(spec.operator.outputs, results, strict=True))
        # A sum beside a norm, for example, does not depend on the weights, and its reference says so.
        reached = {output: grad for output, grad in upstream.items() if results[output].requires_grad}
        grads = torch.autograd.grad(
            [results[output] for output in reached],
            list(tensors.values()),
            [grad.to(results[output].dtype) for output, grad in reached.items()],
        )
        return dict(zip(names, grads, strict=True))

    runs = [through(spec, inputs) for _ in range(2)]
    for leaf in names:
        assert torch.equal(_bits(runs[0][leaf]), _bits(runs[1][leaf])), f"d{leaf} differs at {shapes[0]}"
    result = wb.verify(lambda **given: runs[0], lambda **given: through(spec.reference, given), inputs=inputs)
    truth = None
    for leaf, output in result.outputs.items():
        # Bounds by element are made for values around one, and gradients are sums over whole matrices:
        # PyTorch's own error is the measure.
        holds = output.flash_passed and not output.nonfinite_mismatches and not output.unwritten
        if narrow and not holds:
            truth = truth or through(spec.reference, {n: _wide(v) for n, v in inputs.items()})
            error = (runs[0][leaf].double() - truth[leaf]).abs().max()
            largest = truth[leaf].abs().max()
            if truth[leaf].numel() == 1:
                # A sum may cancel, but its rounding errors do not: the bound depends on its possible size.
                for _ in range(3):
                    other = {
                        n: size * torch.randn(t.shape, generator=generator).to(t) for n, t in upstream.items()
                    }
                    wide = {n: _wide(v) for n, v in inputs.items()}
                    largest = max(largest, through(spec.reference, wide, other)[leaf].abs().max())
            holds = bool(error <= 2**-6 * largest)
        assert output.passed or holds, f"{shapes[0]}, gradients of {', '.join(names)}: {result}"


@on_tile_targets
def test_sanitizer_finds_nothing(name: str, arch: str) -> None:
    spec, where, shapes = drawn_case(name, arch)
    same = [s for s in shapes if cases.instance(spec, s, arch) == cases.instance(spec, shapes[0], arch)]
    least = min(same, key=lambda shape: cases.cost(spec, shape))
    result = wb.sanitize(spec, shape=least, device=where)
    assert result.passed, f"{least}: {result}"


@on_tile_targets
def test_wrong_tensors_are_refused(name: str, arch: str) -> None:
    """Another dtype, no dimensions, another device: an error that names the argument, and nothing runs."""
    spec, where, shapes = drawn_case(name, arch)
    inputs = spec.make_inputs(shapes[0], device=where)
    for argument, tensor in inputs.items():
        if not isinstance(tensor, torch.Tensor):
            continue
        for wrong in (tensor.to(torch.complex64), tensor.flatten()[0].clone(), tensor.to("meta")):
            if tensor.dim() == 0 and wrong.shape == tensor.shape and wrong.device == tensor.device:
                continue
            if wrong.is_meta and len(_tensors(inputs)) == 1:
                # A call on meta alone gives meta.
                continue
            with pytest.raises(ArgumentError) as caught:
                spec(**{**inputs, argument: wrong}, device=where)
            assert argument in str(caught.value), f"the message does not name {argument!r}: {caught.value}"


@pytest.mark.parametrize("name", list(wb.kernels))
def test_a_scalar_is_no_tensor_of_one_element(name: str) -> None:
    """For any shape: each size as small as possible, alone and with the others."""
    spec, where = wb.kernels[name], device(f"emulated:{wb.kernels[name].targets[0]}")
    sizes = {key: each.low for key, each in spec.parameters.items() if isinstance(each, Range)}
    for changed in (sizes, *({key: low} for key, low in sizes.items())):
        try:
            inputs = spec.make_inputs({**spec.shapes[0], **changed}, device=where)
            spec.shape_of(**inputs)
        except (WorkbenchError, RuntimeError, ValueError):
            # Sizes that contradict each other, so that no inputs exist.
            continue
        for argument, tensor in inputs.items():
            if isinstance(tensor, torch.Tensor) and tensor.numel() == 1 and tensor.dim() > 0:
                with pytest.raises(ArgumentError, match=argument):
                    spec(**{**inputs, argument: tensor.flatten()[0].clone()}, device=where)


@on_tile_targets
def test_is_an_operator_of_pytorch(name: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.library.opcheck` accepts it, and `torch.compile` takes a call without a graph break."""
    monkeypatch.setenv("HIPKITTENS_DEVICE", f"emulated:{arch}")
    spec, where, shapes = drawn_case(name, arch)
    inputs = spec.make_inputs(shapes[0], device=where)
    checks = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if all(v.dtype.itemsize > 1 or v.dtype is torch.bool for v in _tensors(inputs)):
        # PyTorch's comparison of inputs before and after does not take 8-bit floats.
        checks.append("test_schema")
    copies = {k: _copy(v) for k, v in inputs.items()}
    torch.library.opcheck(spec.operator.overload, (), copies, test_utils=checks)
    torch.compiler.reset()  # compilations of other operators count as this one's
    whole = torch.compile(lambda given: spec(**given), fullgraph=True, backend="eager")
    got = whole({k: _copy(v) for k, v in inputs.items()})
    expected = spec(**{k: _copy(v) for k, v in inputs.items()})
    for a, b in zip(_tensors(got), _tensors(expected), strict=True):
        assert a.shape == b.shape
        if not spec.nondeterministic:
            assert torch.equal(_bits(a), _bits(b))


@pytest.mark.skipif(not cases.EVERY, reason="with HIPKITTENS_TEST_ALL")
@everywhere
def test_every_setting(name: str, arch: str, subtests: pytest.Subtests) -> None:
    spec, where, _ = drawn_case(name, arch)
    for shape in (cases.whole if cases.EVERY == 1 else cases.part)(spec, arch, SEED):
        takers = [spec.variant(v) for v, variant in spec.variants.items() if variant.takes(shape, arch)]
        takers = [spec, *(taker for taker in takers if arch in taker.targets)]
        for taker in takers if cases.EVERY == 1 else [random.choice(takers)]:
            with subtests.test(name=taker.name, shape=str(shape)):
                result = wb.verify(taker, shape=shape, device=where)
                assert result.passed, f"{shape}: {result}"
        with subtests.test(shape=str(shape)):
            if arch in TILE_TARGETS and cases.cost(spec, shape) <= cases.SMALL / 10:
                report = wb.sanitize(spec, shape=shape, device=where)
                assert report.passed, f"{shape}: {report}"


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _wide(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else value


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    # A row of one element may have any stride, even one that no other type's view supports.
    return tensor.reshape(-1).contiguous().view(torch.uint8)


def _tensors(result: Any) -> list[torch.Tensor]:
    values = result.values() if isinstance(result, dict) else [result]
    return [value for value in values if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("arch", LIBRARY_TARGETS)
def test_no_launch_wants_more_shared_memory_than_its_target_has(arch: str) -> None:
    """Checks every implementation of every operator, at its own shapes and at drawn sizes of its settings."""
    room = int(targets.target(arch).lds_bytes) * 1024
    draw, seen = random.Random(SEED), 0
    for spec in (spec for spec in wb.kernels.values() if arch in spec.targets):
        settings = cases.settings(spec)
        some = settings if len(settings) <= 40 else draw.sample(settings, 40)
        sizes = [
            {n: cases.size(p, most, draw) for n, p in spec.parameters.items() if isinstance(p, Range)}
            for most in (700.0, 1e5)
        ]
        shapes = [*spec.shapes, *some, *({**setting, **draw.choice(sizes)} for setting in some)]
        for implementation in (spec, *map(spec.variant, spec.variants)):
            for parameters in shapes:
                try:
                    shape = implementation.shape(parameters, arch=arch)
                    steps = implementation.implementation(shape, arch=arch).steps
                except ShapeError:
                    continue
                for step in steps:
                    lds = step.launch(shape, arch).dynamic_shared
                    assert lds <= room, f"{implementation.name} {step.name} {shape}: {lds} of {room} bytes"
                    seen += lds > 0
    assert seen > (1000 if arch in TILE_TARGETS else 100)
