"""Comparison of a kernel with a reference in higher precision.

Outputs are poisoned before the launch, so elements that the kernel does not write cannot pass; `compare` says
how they are compared.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from workbench.approximation import Approximation, seeds_of
from workbench.approximation import approximate as approximately
from workbench.check import verified_operators
from workbench.check.compare import compare
from workbench.check.diagnosis import diagnose as diagnosed
from workbench.check.exactness import CATEGORY, need, needing_exactness
from workbench.check.references import same_precision, widened
from workbench.check.repeated import effect_of
from workbench.check.results import VerifyResult, VerifyResults
from workbench.check.sanitizer import finding_at
from workbench.errors import UsageError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module, device_of, digest_of, recording, resolve_device
from workbench.kernel.packed import is_expanded
from workbench.numerics import numerics as numerics_of_devices
from workbench.operators import Bounds, KernelSpec, Shape, kernels
from workbench.operators.launch_target import Request
from workbench.operators.tensors import name_results, poisoned, poisoned_memory
from workbench.origin import Origin
from workbench.progress import Steps, track
from workbench.runtime import Device, with_numerics

if TYPE_CHECKING:
    import torch

VerifyTarget = KernelSpec | Kernel | Module | Launcher | Callable[..., Any] | str
VerifyReference = KernelSpec | Callable[..., Any] | str | None
VerifyInputs = Mapping[str, Any] | Callable[["torch.Generator"], Mapping[str, Any]]
_Results = VerifyResult | VerifyResults


@dataclass(frozen=True, slots=True)
class _VerifyRequest:
    """The arguments of `verify`, by the names of its parameters."""

    target: VerifyTarget
    reference: VerifyReference
    shape: Shape | None
    shapes: Sequence[Shape] | str | None
    inputs: VerifyInputs | None
    outputs: Sequence[str]
    seed: int
    tolerance: Bounds | None
    device: Device | str | None
    numerics: str | Sequence[str] | None


@overload
def verify(
    target: VerifyTarget,
    reference: VerifyReference = None,
    *,
    shape: Shape | None = None,
    shapes: None = None,
    inputs: VerifyInputs | None = None,
    outputs: Sequence[str] = (),
    seed: int = 0,
    tolerance: Bounds | None = None,
    device: Device | str | None = None,
    numerics: str | None = None,
    approximate: bool | int = False,
    diagnose: bool = False,
) -> VerifyResult: ...
@overload
def verify(
    target: VerifyTarget,
    reference: VerifyReference = None,
    *,
    shape: Shape | None = None,
    shapes: Sequence[Shape] | str,
    inputs: VerifyInputs | None = None,
    outputs: Sequence[str] = (),
    seed: int = 0,
    tolerance: Bounds | None = None,
    device: Device | str | None = None,
    numerics: str | Sequence[str] | None = None,
    approximate: bool | int = False,
    diagnose: bool = False,
) -> VerifyResults: ...
@overload
def verify(
    target: VerifyTarget,
    reference: VerifyReference = None,
    *,
    shape: Shape | None = None,
    shapes: Sequence[Shape] | str | None = None,
    inputs: VerifyInputs | None = None,
    outputs: Sequence[str] = (),
    seed: int = 0,
    tolerance: Bounds | None = None,
    device: Device | str | None = None,
    numerics: list[str] | tuple[str, ...],
    approximate: bool | int = False,
    diagnose: bool = False,
) -> VerifyResults: ...
@overload
def verify(
    target: VerifyTarget,
    reference: VerifyReference = None,
    *,
    shape: Shape | None = None,
    shapes: Sequence[Shape] | str | None = None,
    inputs: VerifyInputs | None = None,
    outputs: Sequence[str] = (),
    seed: int = 0,
    tolerance: Bounds | None = None,
    device: Device | str | None = None,
    numerics: str | Sequence[str] | None = None,
    approximate: bool | int = False,
    diagnose: bool = False,
) -> VerifyResult | VerifyResults: ...
def verify(
    target: VerifyTarget,
    reference: VerifyReference = None,
    *,
    shape: Shape | None = None,
    shapes: Sequence[Shape] | str | None = None,
    inputs: VerifyInputs | None = None,
    outputs: Sequence[str] = (),
    seed: int = 0,
    tolerance: Bounds | None = None,
    device: Device | str | None = None,
    numerics: str | Sequence[str] | None = None,
    approximate: bool | int = False,
    diagnose: bool = False,
) -> VerifyResult | VerifyResults:
    """Runs a kernel on fresh inputs and compares its outputs with PyTorch's.

    Four forms:
        `verify(spec)`: a KernelSpec or its name, at `shape`, or at each of `shapes` (`"all"`: the spec's).
        `verify(kernel, spec)`: another kernel, such as `mod["rmsnorm"]` or a Module with one kernel, run with
            the launch, the inputs and the reference of `spec`.
        `verify(function, reference, inputs=...)`: any function of tensors that returns tensors, against
            another, such as one that launches Triton's kernels; `inputs` is a dict by parameter name, or a
            function of a seeded `torch.Generator` that returns one. Tensors from `torch.empty` and similar
            functions inside `function` are poisoned.
        `verify(kernel[grid, block], reference, inputs=..., outputs=("out",))`: a launch, of Triton's kernels
            (`kernel[grid]`) too. `inputs` has all arguments by name, and `outputs` names those that the
            launch writes; the reference takes the others that it has parameters for. If the reference has a
            parameter for an output, the kernel reads it first: both start from its content in `inputs`.

    Args:
        target: the spec or its name, the kernel, its module, or the function.
        reference: the reference of `target`, if that is no spec: a spec, its name, or a function.
        shape, shapes: one or several problems, sizes by parameter name; without both, the default.
        inputs: tensors and numbers by name instead of the spec's fresh ones.
        outputs: names of the arguments that a launch writes, or one name; they are poisoned first.
        seed: seed of the inputs; equal seeds give equal inputs.
        tolerance: element-wise bounds instead of the spec's, or those of the dtype (`TOLERANCES`).
        device: a device or its name; None for the default device.
        numerics: "exact" or "fast" arithmetic of an emulated device's matrix instructions (docs/numerics.md),
            or several to verify with each; None for the device's own.
        approximate: if it passes, run it again with errors that hardware's v_rcp, v_exp and similar
            instructions may make (`workbench.approximation`): a seed, or True for a few seeds; `.inexact`
            names the instructions that must be exact.
        diagnose: if it fails, compile the same kernels at -O1 and run them again: `.diagnosis` says whether
            the compiler or the kernel is wrong.

    Returns:
        a VerifyResult; VerifyResults for `shapes` or several `numerics`. `.passed` is True if every check
        passed.

    Raises:
        UsageError: the arguments fit none of the forms, or exclude each other; `shapes` is empty;
            `approximate` is no seed.
        ShapeError: a shape that the spec does not support.
        DeviceError: the device has no such numerics.
    """
    seeds = seeds_of(approximate, "approximate")
    # A string is a sequence of letters, and in one argument a name.
    names = (outputs,) if isinstance(outputs, str) else outputs
    request = _VerifyRequest(
        target, reference, shape, shapes, inputs, names, seed, tolerance, device, numerics
    )
    result = _verify(request)
    if not result.passed:
        return _explained(result, request, diagnose)
    for draw in seeds:
        erring = _approximate(request, draw)
        if not erring.passed:
            return erring
    return result


def _approximate(request: _VerifyRequest, seed: int) -> _Results:
    """The verification with errors of transcendental instructions; if it fails, with those at fault."""

    def run(errors: Approximation) -> _Results:
        with approximately(errors):
            return _verify(request)

    with recording() as launches:
        result = run(Approximation(seed))
    for _, last in launches:
        last.device.check_observes("results with errors that hardware may make")
    if result.passed:
        return result
    kernels = [kernel for kernel, _ in launches]
    with hub.muted():
        sites = needing_exactness(kernels, seed, lambda errors: not run(errors).passed)

    def named(wrong: VerifyResult) -> VerifyResult:
        worst = wrong.worst
        effect = "the result is wrong"
        if worst.first:
            effect = effect_of(worst.name, worst.first[0], worst.mismatches, worst.error.numel())
        findings = [finding_at(k.module, CATEGORY, need((k, pc), seed, effect), pc) for k, pc in sites]
        return dataclasses.replace(wrong, inexact=tuple(findings))

    if isinstance(result, VerifyResult):
        return named(result)
    return VerifyResults(
        [verification if verification.passed else named(verification) for verification in result]
    )


def _explained(result: _Results, request: _VerifyRequest, diagnose: bool) -> _Results:
    """Results that can diagnose their failures later, or that are diagnosed now."""
    if isinstance(result, VerifyResult):
        return _blamed(result, request, diagnose)
    single = partial(dataclasses.replace, request, shapes=None, numerics=None)
    return VerifyResults(
        [
            _blamed(
                verification, single(shape=verification.shape or None, device=verification.device), diagnose
            )
            for verification in result
        ]
    )


def _blamed(result: VerifyResult, request: _VerifyRequest, diagnose: bool) -> VerifyResult:
    """The result of a request, which can diagnose its failure later, or is diagnosed now."""
    if result.passed or result.inputs_changed:
        return result

    def again() -> VerifyResult:
        repeated = _verify(request)
        assert isinstance(repeated, VerifyResult)
        return repeated

    if diagnose:
        return dataclasses.replace(result, diagnosis=diagnosed(again))
    return dataclasses.replace(result, retry=partial(diagnosed, again))


def _verify(request: _VerifyRequest) -> _Results:
    if request.numerics is not None:
        return _with_numerics(request, request.numerics)
    target, reference, inputs = request.target, request.reference, request.inputs
    if isinstance(target, str):
        target = kernels[target]
    if isinstance(reference, str):
        reference = kernels[reference]
    spec = (
        target if isinstance(target, KernelSpec) else reference if isinstance(reference, KernelSpec) else None
    )
    if spec is None:
        return _verify_callable(target, reference, inputs, request.outputs, request.seed, request.tolerance)
    kernel = None if target is spec else target
    if kernel is not None and not isinstance(kernel, (Kernel, Module)):
        raise UsageError(
            f"verify: got {type(kernel).__name__} to run with {spec.name}; expected a Kernel or a Module"
        )
    if inputs is not None and callable(inputs):
        raise UsageError(
            "verify: inputs is a function; expected a dict of tensors by name, as a spec is given"
        )
    shape, shapes = request.shape, request.shapes
    run = partial(
        _verify_spec, spec, kernel, seed=request.seed, tolerance=request.tolerance, device=request.device
    )
    if shapes is None:
        with hub.failures("verify", spec.name, shape=shape):
            return run(shape, inputs)
    if isinstance(shapes, str):
        if shapes != "all":
            raise UsageError(f'verify: shapes is {shapes!r}; expected a list of shapes, or "all"')
        shapes = spec.shapes
    if isinstance(shapes, Mapping) or not shapes:
        raise UsageError(f'verify: shapes is {shapes!r}; expected a list of at least one shape, or "all"')
    if shape is not None or inputs is not None:
        other = "shape" if shape is not None else "inputs"
        raise UsageError(f"verify: shapes and {other} are given; expected one of them")
    results = []
    for problem in track(shapes, f"verify {spec.name}", total=len(shapes)):
        with hub.failures("verify", spec.name, shape=problem):
            results.append(run(problem, alone=False))
    return VerifyResults(results)


def _with_numerics(request: _VerifyRequest, choices: str | Sequence[str]) -> _Results:
    """`verify` with each choice of numerics."""
    device = request.device
    results: list[VerifyResult] = []
    for choice in [choices] if isinstance(choices, str) else choices:
        with numerics_of_devices(choice):
            where = with_numerics(resolve_device(device), choice) if device is not None else None
            verified = _verify(dataclasses.replace(request, numerics=None, device=where))
        if isinstance(choices, str):
            return verified
        results += [verified] if isinstance(verified, VerifyResult) else verified
    if not results:
        raise UsageError("verify: numerics is empty; expected 'exact', 'fast' or both")
    return VerifyResults(results)


def _verify_callable(
    target: Any,
    reference: Any,
    inputs: VerifyInputs | None,
    outputs: Sequence[str],
    seed: int,
    tolerance: Bounds | None,
) -> VerifyResult:
    """Verifies a function against another, or a launch against a function, without a spec."""
    if isinstance(target, (Kernel, Module)):
        raise UsageError(
            f"verify: got {target.name} alone; expected a spec with it, which says its inputs, such as "
            'wb.verify(kernel, "gemm/bf16")'
        )
    if hasattr(type(target), "__getitem__") and hasattr(target, "arg_names"):
        name = getattr(target, "__name__", type(target).__name__)
        raise UsageError(
            f"verify: {name} is launched with a grid; give {name}[grid] with inputs= and outputs=, or a "
            "function that launches it and returns what it wrote"
        )
    if not callable(target) or not callable(reference) or inputs is None:
        raise UsageError(
            f"verify: got {type(target).__name__} and {type(reference).__name__}; expected a KernelSpec, "
            "a kernel with a KernelSpec, or two functions with inputs="
        )
    if outputs or isinstance(target, Launcher):
        return _verify_launch(target, reference, inputs, outputs, seed, tolerance)
    return _verify_function(target, reference, inputs, seed, tolerance)


def _verify_spec(
    spec: KernelSpec,
    code: Kernel | Module | None,
    shape: Shape | None,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int,
    tolerance: Bounds | None,
    device: Device | str | None,
    alone: bool = True,
) -> VerifyResult:
    arch = code.arch if code is not None and device is None else None
    where = device_of((), arch) if device is None else resolve_device(device)
    with Steps(f"verify {spec.name}", 4, visible=alone) as steps:
        if inputs is not None:
            bound = {k: v.clone() if k in spec.mutates else v for k, v in spec.bind(**inputs).items()}
            full = spec.shape(shape if shape is not None else spec.shape_of(**bound), arch=where.arch)
        else:
            full = spec.shape(shape, arch=where.arch)
            bound = spec.make_inputs(full, seed=seed, device=where)
        steps("reference")
        implementation = spec.implementation(full, arch=where.arch, code=code)
        prepared = implementation.prepared()
        outputs = implementation.make_outputs(bound, poison=True)
        before = {k: v.clone() for k, v in bound.items() if _is_tensor(v)}
        wide = spec.expected(widened(bound), outputs)
        same, note = same_precision(spec.native or spec.reference, bound, list(wide), spec.name)
        steps("run")
        with hub.muted():
            _, records = spec.run(bound, outputs, shape=full, code=code, device=where, poison=True)
        steps("compare")
        got = {**outputs, **{name: bound[name] for name in spec.mutates}}
        comparisons = {
            name: compare(
                got[name],
                wide[name],
                name=name,
                pytorch=same.get(name),
                tolerance=tolerance or _tolerance_of(spec, full, name, got[name].dtype),
                note=note,
                rule=spec.flash_rule.get(name),
                numerics=where.numerics,
            )
            for name in wide
        }
        changed = tuple(k for k, v in before.items() if k not in got and not _same_bits(v, bound[k]))
        steps("done")
    result = VerifyResult(
        code.name if code is not None else spec.name,
        full,
        where.name,
        seed,
        comparisons,
        changed,
        records,
        digest_of(step.kernel for step in prepared),
        _origin(where),
    )
    if code is None and result.passed:
        verified_operators.note(spec, where.arch, where.name)
    if not result.passed:
        options = {"spec": spec if code is not None else None, "seed": seed, "device": where}
        again = Request(code or spec, (), inputs or {}, options if inputs else {**options, "shape": full})
        result = dataclasses.replace(result, again=again)
    return _told(spec.name, result, spec.name)


def _verify_launch(
    launch: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: VerifyInputs,
    outputs: Sequence[str],
    seed: int,
    tolerance: Bounds | None,
) -> VerifyResult:
    """A launch as a function that returns its outputs."""
    arguments = _made(inputs, seed)
    tensors = [name for name, value in arguments.items() if _is_tensor(value)]
    if not outputs or not set(outputs) <= set(tensors):
        raise UsageError(
            f"verify: outputs is {outputs!r}; expected the names of the tensors that the launch writes, some "
            f"of {', '.join(tensors)}"
        )
    parameters = inspect.signature(reference).parameters.values()
    every = any(p.kind is p.VAR_KEYWORD for p in parameters)
    taken = {p.name for p in parameters}
    in_place = taken & set(outputs)
    written = {n: _twin(arguments[n]) if n in in_place else poisoned(_twin(arguments[n])) for n in outputs}
    read = {name: value for name, value in arguments.items() if name not in written or name in in_place}

    def wanted(**passed: Any) -> Any:
        return reference(**{name: value for name, value in passed.items() if every or name in taken})

    wanted.__name__ = getattr(reference, "__name__", "")

    def launched(**passed: Any) -> Mapping[str, Any]:
        for name in in_place:
            written[name].copy_(passed.pop(name))
        launch(**passed, **written)
        return written

    result = _verify_function(launched, wanted, read, seed, tolerance, of_launch=True)
    if not result.records:
        raise UsageError("verify: nothing was launched; without outputs= two functions are compared")
    if result.passed:
        return result
    return dataclasses.replace(result, again=Request(launch, (), {**read, **written}))


def _twin(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, since a launch may get them as numbers."""
    import torch

    if is_expanded(tensor):
        return tensor.clone()
    twin = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return twin.copy_(tensor.detach())


def _origin(device: Device) -> Origin:
    return Origin.COUNTED if device.observes else device.origin


def _told(name: str, result: VerifyResult, reference: str) -> VerifyResult:
    """Itself, after it was published under a name, with the reference's name ("" for one that has none)."""
    summary = {
        "passed": result.passed,
        "shape": result.shape,
        "device": result.device,
        "code": result.code,
        "reference": reference,
    }
    hub.publish("verify", name, summary)
    return result


def _made(inputs: VerifyInputs, seed: int) -> dict[str, Any]:
    import torch

    return dict(inputs(torch.Generator().manual_seed(seed)) if callable(inputs) else inputs)


def _verify_function(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: VerifyInputs,
    seed: int,
    tolerance: Bounds | None,
    *,
    of_launch: bool = False,
) -> VerifyResult:
    """Compares what two functions return; launches determine the device of the result, and it is published.

    Args:
        of_launch: True if the function only launches a kernel, after which the result is named.
    """
    arguments = _made(inputs, seed)
    before = {k: v.clone() for k, v in arguments.items() if _is_tensor(v)}
    with recording() as launches, poisoned_memory():
        result = function(**arguments)
    if isinstance(result, Mapping):
        names = list(result)
    elif isinstance(result, (tuple, list)):
        names = [f"out{i}" for i in range(len(result))]
    else:
        names = ["out"]
    function_name = getattr(function, "__name__", type(function).__name__)
    got = name_results(result, names, function_name)
    clean = {**arguments, **before}
    wide = name_results(reference(**widened(clean)), names, "reference")
    same, note = same_precision(reference, clean, names, "reference")
    comparisons = {
        name: compare(
            got[name], wide[name], name=name, pytorch=same.get(name), tolerance=tolerance, note=note
        )
        for name in names
    }
    changed = tuple(k for k, v in before.items() if not _same_bits(v, arguments[k]))
    if not launches:
        where = next((str(t.device) for t in got.values()), "cpu")
        return VerifyResult(function_name, {}, where, seed, comparisons, changed)
    kernel, last = launches[-1]
    verified = VerifyResult(
        kernel.name if of_launch else function_name,
        {},
        last.device.name,
        seed,
        comparisons,
        changed,
        tuple(each.record for _, each in launches),
        digest_of(each for each, _ in launches),
        _origin(last.device),
    )
    return _told(verified.name, verified, getattr(reference, "__name__", "").replace("<lambda>", "a lambda"))


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    import torch

    view = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(a.dtype.itemsize)
    if view is None:
        return bool(torch.equal(a, b))
    return bool(torch.equal(a.contiguous().view(view), b.contiguous().view(view)))


def _tolerance_of(spec: KernelSpec, shape: Shape, name: str, dtype: Any) -> Bounds | None:
    for key in (name, dtype, str(dtype).removeprefix("torch.")):
        bounds = spec.tolerances.get(key)
        if bounds is not None:
            return bounds(shape) if callable(bounds) else bounds
    return None
