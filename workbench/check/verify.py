"""Comparison of a kernel with a reference in higher precision.

Two checks, both shown. Element by element: |got - wanted| <= atol + rtol * |wanted|, with bounds by dtype.
And the rule of FlashAttention's tests (github.com/Dao-AILab/flash-attention, tests/test_flash_attn.py): the
largest error against the high-precision reference is at most twice that of PyTorch computing in the same
precision, which needs no bound picked by hand. Outputs are poisoned before the launch, so what the kernel
does not write cannot pass, and NaN or infinity where the reference has none (or the other way round) never
passes.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError, VerificationError
from workbench.events import hub
from workbench.progress import Steps, track
from workbench.spec.spec import KernelSpec, Shape, Tolerance, name_results

if TYPE_CHECKING:
    import torch

    from workbench.kernel.module import Kernel, Module
    from workbench.runtime import Device, LaunchRecord

TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-7, 1e-7),
    "float32": Tolerance(1.3e-5, 1e-5),
    "float16": Tolerance(1e-2, 1e-3),
    "bfloat16": Tolerance(1.6e-2, 1e-2),
    "float8_e4m3fn": Tolerance(1.25e-1, 2e-2),
    "float8_e4m3fnuz": Tolerance(1.25e-1, 2e-2),
    "float8_e5m2": Tolerance(2.5e-1, 2e-2),
    "float8_e5m2fnuz": Tolerance(2.5e-1, 2e-2),
}
"""Bounds of the element-wise check by the output's dtype; a dtype that is not here (integers) must be equal.

The relative bounds are PyTorch's own (torch.testing.assert_close) in 64 bits and bfloat16, ten times those in
32 bits and float16, and a unit in the last place in 8 bits; the absolute ones leave room for cancellation in
sums of values around one.
"""

FLASH_FACTOR = 2.0
"""How many times PyTorch's error is allowed by the FlashAttention rule."""

_WIDE_ELEMENTS = 1 << 27
"""Up to this many input elements the reference computes in float64, above in float32, to bound memory."""

_FIRST = 8
"""How many mismatches a result lists."""


@dataclass(frozen=True)
class Mismatch:
    """One element that differs too much."""

    index: tuple[int, ...]
    got: float
    wanted: float

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.index))}]: got {self.got:.6g}, wanted {self.wanted:.6g}"


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    Attributes:
        name: the output.
        shape, dtype: of the output, such as (64, 128) and "bfloat16".
        tolerance: the element-wise bounds; zero where equality is wanted.
        max_error, mean_error: of |got - wanted| over the elements that are finite in both.
        max_relative_error: of |got - wanted| / |wanted| where wanted is not zero.
        mismatches: elements outside the tolerance, NaN and Inf mismatches included.
        nonfinite_mismatches: elements where one of the two is NaN or infinite and the other is not the same.
        unwritten: elements that still hold the poison (NaN, where the reference has none).
        first: the first mismatches in memory order.
        pytorch_error: largest error of PyTorch in the same precision; None where it does not apply.
        flash_bound: largest error that the FlashAttention rule allows; None where it does not apply.
        note: why a check does not apply.
        error: |got - wanted| as a float32 tensor, infinite at NaN and Inf mismatches, for the heat map.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    tolerance: Tolerance
    max_error: float
    mean_error: float
    max_relative_error: float
    mismatches: int
    nonfinite_mismatches: int
    unwritten: int
    first: tuple[Mismatch, ...]
    pytorch_error: float | None
    flash_bound: float | None
    note: str
    error: torch.Tensor = field(repr=False, compare=False)

    @property
    def elementwise_passed(self) -> bool:
        return self.mismatches == 0

    @property
    def flash_passed(self) -> bool | None:
        """Whether the FlashAttention rule holds; None where it does not apply."""
        if self.flash_bound is None:
            return None
        return self.nonfinite_mismatches == 0 and self.max_error <= self.flash_bound

    @property
    def passed(self) -> bool:
        return self.elementwise_passed and self.flash_passed is not False

    def __str__(self) -> str:
        count = 1
        for d in self.shape:
            count *= d
        text = (
            f"{self.name} {tuple(self.shape)} {self.dtype}: {'passed' if self.passed else 'FAILED'}; "
            f"max error {self.max_error:.3g}, mean {self.mean_error:.3g}; "
            f"{self.mismatches:,} of {count:,} outside "
            f"rtol {self.tolerance.rtol:g} atol {self.tolerance.atol:g}"
        )
        if self.flash_bound is not None and self.pytorch_error is not None:
            verdict = "holds" if self.flash_passed else "BROKEN"
            text += f"; FlashAttention rule {verdict}: {self.max_error:.3g} <= {FLASH_FACTOR:g} x PyTorch's"
            text += f" {self.pytorch_error:.3g}"
        elif self.note:
            text += f"; {self.note}"
        if self.unwritten:
            text += f"; {self.unwritten:,} elements NaN or never written"
        if self.first:
            text += "; first: " + "; ".join(str(m) for m in self.first[:3])
        return text


@dataclass(frozen=True)
class VerifyResult:
    """What `verify` found for one shape.

    Attributes:
        name: kernel or spec.
        shape: the problem size; empty for a plain callable.
        device: name of the device.
        seed: seed of the inputs.
        outputs: comparison by output name.
        inputs_changed: inputs that the kernel overwrote.
        record: the launch; None for a plain callable.
        code: `Module.digest` of what ran; "" for a plain callable.
    """

    name: str
    shape: Shape
    device: str
    seed: int
    outputs: Mapping[str, Comparison]
    inputs_changed: tuple[str, ...] = ()
    record: LaunchRecord | None = field(default=None, repr=False, compare=False)
    code: str = ""

    @property
    def passed(self) -> bool:
        """Both checks hold for every output, and no input was overwritten."""
        return not self.inputs_changed and all(c.passed for c in self.outputs.values())

    @property
    def worst(self) -> Comparison:
        """The output to look at first: one that failed, and of these the one with the largest error."""
        return max(self.outputs.values(), key=lambda c: (not c.passed, c.nonfinite_mismatches, c.max_error))

    @property
    def max_error(self) -> float:
        """Largest absolute difference from the reference, over all outputs."""
        return max(c.max_error for c in self.outputs.values())

    @property
    def mean_error(self) -> float:
        """Mean absolute difference of the output in which it is largest."""
        return max(c.mean_error for c in self.outputs.values())

    @property
    def mismatches(self) -> int:
        """Elements outside the tolerance, of all outputs together."""
        return sum(c.mismatches for c in self.outputs.values())

    @property
    def first(self) -> tuple[Mismatch, ...]:
        """The first elements outside the tolerance of the worst output, in memory's order."""
        return self.worst.first

    @property
    def figure(self) -> Any:
        """Heat map of the worst output's error, a plotly Figure."""
        from workbench.views.errors import error_map

        return error_map(self)

    def check(self) -> VerifyResult:
        """Itself where it passed.

        Raises:
            VerificationError: it did not; the message says where.
        """
        if not self.passed:
            raise VerificationError(str(self))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        size = ", ".join(f"{k}={v}" for k, v in self.shape.items())
        head = f"{self.name}{f' ({size})' if size else ''} on {self.device}, seed {self.seed}: "
        lines = [head + ("passed" if self.passed else "FAILED")]
        lines += [f"  {c}" for c in self.outputs.values()]
        lines += [f"  input {name} was overwritten" for name in self.inputs_changed]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _html([self])


class VerifyResults(Sequence[VerifyResult]):
    """Results of several shapes."""

    def __init__(self, results: Sequence[VerifyResult]) -> None:
        self._results = tuple(results)

    @property
    def passed(self) -> bool:
        return all(r.passed for r in self._results)

    @property
    def figure(self) -> Any:
        """Heat map of the worst shape's error."""
        return max(self._results, key=lambda r: (not r.passed, r.max_error)).figure

    def check(self) -> VerifyResults:
        """Itself where all passed.

        Raises:
            VerificationError: one did not.
        """
        if not self.passed:
            raise VerificationError("\n".join(str(r) for r in self._results if not r.passed))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        found = self._results[index]
        return VerifyResults(found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[VerifyResult]:
        return iter(self._results)

    def __repr__(self) -> str:
        return "\n".join(str(r) for r in self._results)

    def _repr_html_(self) -> str:
        return _html(self._results)


def _html(results: Sequence[VerifyResult]) -> str:
    head = (
        "",
        "shape",
        "output",
        "max error",
        "mean error",
        "mismatches",
        "PyTorch max error",
        "2x rule",
        "first",
    )
    rows = []
    for result in results:
        for c in result.outputs.values():
            ok = c.passed and not result.inputs_changed
            rule = {None: "n/a", True: "holds", False: "broken"}[c.flash_passed]
            if result.inputs_changed:
                first = "overwrote " + ", ".join(result.inputs_changed)
            else:
                first = str(c.first[0]) if c.first else ""
            cells = (
                ", ".join(f"{k}={v}" for k, v in result.shape.items()),
                f"{c.name} {c.dtype}",
                f"{c.max_error:.3g}",
                f"{c.mean_error:.3g}",
                f"{c.mismatches:,}",
                "" if c.pytorch_error is None else f"{c.pytorch_error:.3g}",
                rule,
                first,
            )
            mark = '<td class="wb-ok">✓ passed</td>' if ok else '<td class="wb-bad">✗ failed</td>'
            rows.append(mark + "".join(f"<td>{html.escape(text)}</td>" for text in cells))
    names = ", ".join(dict.fromkeys(f"{r.name} on {r.device}" for r in results))
    from workbench.views.badge import STYLE

    return (
        f'{STYLE}<div class="wb"><table><caption>verify: {html.escape(names)}</caption><tr>'
        + "".join(f"<th>{h}</th>" for h in head)
        + "</tr>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</table></div>"
    )


def compare(
    got: torch.Tensor,
    wanted: torch.Tensor,
    *,
    name: str = "out",
    pytorch: torch.Tensor | None = None,
    tolerance: Tolerance | tuple[float, float] | None = None,
    note: str = "",
) -> Comparison:
    """Compares one result with its reference.

    Args:
        got: the result, any dtype; 8-bit floats are upcast.
        wanted: the reference of the same shape, in higher precision where there is one.
        name: name of the output, for messages.
        pytorch: PyTorch's result in the same precision; without it the FlashAttention rule does not apply.
        tolerance: element-wise bounds; by `got`'s dtype where it is None.
        note: why `pytorch` is absent.

    Raises:
        VerificationError: the shapes differ.
        UsageError: one of them is no tensor.
    """
    import torch

    for what, value in (("got", got), ("wanted", wanted)):
        if not isinstance(value, torch.Tensor):
            raise UsageError(f"compare: {what!r} is a {type(value).__name__}; wanted a torch tensor")
    if tuple(got.shape) != tuple(wanted.shape):
        raise VerificationError(
            f"{name} has shape {tuple(got.shape)}, its reference {tuple(wanted.shape)}; wanted the same"
        )
    dtype = str(got.dtype).removeprefix("torch.")
    bounds = tolerance if tolerance is not None else TOLERANCES.get(dtype, Tolerance(0.0, 0.0))
    if not isinstance(bounds, Tolerance):
        bounds = Tolerance(*bounds)
    floating = got.dtype.is_floating_point
    given = got.detach().cpu()
    truth = wanted.detach().cpu()
    if floating:
        # A reference beyond the output's range is an infinity that the kernel should give as well.
        rounded = truth.to(given.dtype).double()
        given, truth = given.double(), truth.double()
    else:
        rounded = truth
        if given.dtype == torch.bool:
            given, truth, rounded = given.int(), truth.int(), rounded.int()
        # Differences of int64 may not fit int64 nor float64 exactly; equality is checked on the integers.
    finite = torch.isfinite(given) & torch.isfinite(truth)
    same = (given == truth) | (given == rounded) | (torch.isnan(given) & torch.isnan(truth))
    difference = (given.double() - truth.double()).abs()
    scale = truth.double().abs()
    if bounds.rtol == 0 and bounds.atol == 0:
        bad = ~same
    else:
        bad = torch.where(finite, difference > bounds.atol + bounds.rtol * scale, ~same)
    nonfinite = ~finite & ~same
    error = torch.where(finite, difference, torch.where(same, 0.0, float("inf")))
    measured = difference[finite]
    relative = (difference / scale)[finite & (scale > 0)]
    unwritten = torch.isnan(given) & ~torch.isnan(truth) if floating else torch.zeros_like(bad)
    first = []
    for row in bad.nonzero()[:_FIRST].tolist():
        index = tuple(row)
        first.append(Mismatch(index, given[index].item(), truth[index].item()))
    pytorch_error = flash_bound = None
    if floating and pytorch is not None and measured.numel():
        theirs = pytorch.detach().cpu().to(got.dtype).double()
        theirs_error = (theirs - truth).abs()[torch.isfinite(theirs) & torch.isfinite(truth)]
        pytorch_error = theirs_error.max().item() if theirs_error.numel() else 0.0
        flash_bound = FLASH_FACTOR * pytorch_error + _flash_floor(dtype, scale[finite])
    elif floating and not note:
        note = "no PyTorch result in the same precision to compare errors with"
    return Comparison(
        name=name,
        shape=tuple(got.shape),
        dtype=dtype,
        tolerance=bounds,
        max_error=measured.max().item() if measured.numel() else 0.0,
        mean_error=measured.mean().item() if measured.numel() else 0.0,
        max_relative_error=relative.max().item() if relative.numel() else 0.0,
        mismatches=int(bad.sum().item()),
        nonfinite_mismatches=int(nonfinite.sum().item()),
        unwritten=int(unwritten.sum().item()),
        first=tuple(first),
        pytorch_error=pytorch_error,
        flash_bound=flash_bound,
        note=note,
        error=error.float(),
    )


def _flash_floor(dtype: str, scale: torch.Tensor) -> float:
    """What the FlashAttention rule grants beside PyTorch's error.

    Nothing in 16 and 8 bits, where rounding of the output dominates. In 32 and 64 bits four units in the last
    place of the largest value: the GPU's exp, log, rcp and sqrt instructions are good to one unit each, and
    PyTorch's error is then only luck with rounding.
    """
    if dtype not in ("float32", "float64") or not scale.numel():
        return 0.0
    import torch

    return 4.0 * torch.finfo(getattr(torch, dtype)).eps * scale.max().item()


def verify(
    target: KernelSpec | Kernel | Module | Callable[..., Any] | str,
    reference: KernelSpec | Callable[..., Any] | str | None = None,
    *,
    shape: Shape | None = None,
    shapes: Sequence[Shape] | str | None = None,
    inputs: Mapping[str, Any] | Callable[[torch.Generator], Mapping[str, Any]] | None = None,
    seed: int = 0,
    tolerance: Tolerance | tuple[float, float] | None = None,
    device: Device | str | None = None,
) -> Any:
    """Runs a kernel on fresh inputs and compares what it wrote with PyTorch.

    Three forms:
        `verify(spec)`: a KernelSpec or its name, at `shape`, or at each of `shapes` (`"all"`: the spec's).
        `verify(kernel, spec)`: another kernel, such as `mod["rmsnorm"]` or a Module with one kernel, run with
            the launch, the inputs and the reference of `spec`.
        `verify(function, reference, inputs=...)`: any function of tensors that returns tensors, against
            another; `inputs` is a dict by parameter name, or a function of a seeded `torch.Generator` that
            gives one.

    Args:
        target: the spec, its name, the kernel, the module with it, or the function.
        reference: what `target` is held against, where it is no spec itself: a spec, its name, a function.
        shape, shapes: the problem by parameter name, one or several; the default where neither is given.
        inputs: tensors and numbers by name instead of the spec's fresh ones.
        seed: seed of the inputs; equal seeds give equal inputs.
        tolerance: element-wise bounds instead of the spec's, or of those by dtype (`TOLERANCES`).
        device: a device or its name; the default device where it is None.

    Returns:
        a VerifyResult; VerifyResults where `shapes` was given. `.passed` says whether all is well.

    Raises:
        UsageError: the arguments fit none of the forms, or exclude each other; `shapes` is empty.
        ShapeError: a shape that the spec does not support.
    """
    from workbench.kernel.module import Kernel, Module
    from workbench.spec.spec import kernels

    if isinstance(target, str):
        target = kernels[target]
    if isinstance(reference, str):
        reference = kernels[reference]
    spec = (
        target if isinstance(target, KernelSpec) else reference if isinstance(reference, KernelSpec) else None
    )
    if spec is None:
        if isinstance(target, (Kernel, Module)):
            raise UsageError(
                f"verify({target.name!r}): a kernel needs a spec that says its inputs; give one second"
            )
        if not callable(target) or not callable(reference) or inputs is None:
            raise UsageError(
                f"verify: got {type(target).__name__} and {type(reference).__name__}; wanted a KernelSpec, "
                "a kernel with a KernelSpec, or two functions with inputs="
            )
        return _verify_function(target, reference, inputs, seed, tolerance)
    kernel = None if target is spec else target
    if kernel is not None and not isinstance(kernel, (Kernel, Module)):
        raise UsageError(
            f"verify: got {type(kernel).__name__} to run with {spec.name}; wanted a Kernel or a Module"
        )
    if inputs is not None and callable(inputs):
        raise UsageError("verify: inputs= of a spec is a dict of tensors by name")
    if shapes is None:
        with hub.failures("verify", spec.name, shape=shape):
            return _verify_spec(spec, kernel, shape, inputs, seed, tolerance, device)
    if isinstance(shapes, str):
        if shapes != "all":
            raise UsageError(f'verify: shapes is {shapes!r}; wanted a list of shapes, or "all"')
        shapes = spec.shapes
    if isinstance(shapes, Mapping) or not shapes:
        raise UsageError(f'verify: shapes is {shapes!r}; wanted a list of at least one shape, or "all"')
    if shape is not None or inputs is not None:
        other = "shape" if shape is not None else "inputs"
        raise UsageError(f"verify: shapes and {other} are given; wanted one of them")
    results = []
    for each in track(shapes, f"verify {spec.name}", total=len(shapes)):
        with hub.failures("verify", spec.name, shape=each):
            results.append(_verify_spec(spec, kernel, each, None, seed, tolerance, device, alone=False))
    return VerifyResults(results)


def _verify_spec(
    spec: KernelSpec,
    kernel: Kernel | Module | None,
    shape: Shape | None,
    inputs: Mapping[str, Any] | None,
    seed: int,
    tolerance: Tolerance | tuple[float, float] | None,
    device: Device | str | None,
    alone: bool = True,
) -> VerifyResult:
    from workbench.kernel.module import Module, device_of, resolve_device

    arch = kernel.arch if kernel is not None and device is None else None
    where = device_of((), arch) if device is None else resolve_device(device)
    with Steps(f"verify {spec.name}", 4, shown=alone) as steps:
        if inputs is not None:
            bound = spec.bind(**inputs)
            full = spec.shape(shape if shape is not None else spec.shape_of(**bound), arch=where.arch)
        else:
            full = spec.shape(shape, arch=where.arch)
            bound = spec.make_inputs(full, seed=seed, device=where)
        steps("reference")
        outputs = spec.make_outputs(full, bound, poison=True)
        names = list(outputs)
        before = {k: v.clone() for k, v in bound.items() if _is_tensor(v)}
        wide = name_results(spec.reference(**_widened(bound)), names, spec.name)
        same, note = _same_precision(spec.reference, bound, names, spec.name)
        steps("run")
        if isinstance(kernel, Module):
            kernel = kernel[spec.entry_name(full)]
        chosen = kernel if kernel is not None else spec.kernel(full, arch=where.arch)
        with hub.muted():
            outputs, record = spec.run(bound, outputs, shape=full, kernel=chosen, device=where)
        steps("compare")
        found = {
            name: compare(
                outputs[name],
                wide[name],
                name=name,
                pytorch=same.get(name),
                tolerance=tolerance
                if tolerance is not None
                else _tolerance_of(spec, name, outputs[name].dtype),
                note=note,
            )
            for name in names
        }
        changed = tuple(k for k, v in before.items() if k not in names and not _same_bits(v, bound[k]))
        steps("done")
    result = VerifyResult(
        kernel.name if kernel is not None else spec.name,
        full,
        where.name,
        seed,
        found,
        changed,
        record,
        chosen.module.digest,
    )
    told = {"passed": result.passed, "shape": full, "device": where.name, "code": result.code}
    hub.publish("verify", spec.name, told)
    return result


def _verify_function(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Mapping[str, Any] | Callable[[torch.Generator], Mapping[str, Any]],
    seed: int,
    tolerance: Tolerance | tuple[float, float] | None,
) -> VerifyResult:
    import torch

    made = dict(inputs(torch.Generator().manual_seed(seed)) if callable(inputs) else inputs)
    before = {k: v.clone() for k, v in made.items() if _is_tensor(v)}
    result = function(**made)
    if isinstance(result, Mapping):
        names = list(result)
    elif isinstance(result, (tuple, list)):
        names = [f"out{i}" for i in range(len(result))]
    else:
        names = ["out"]
    what = getattr(function, "__name__", type(function).__name__)
    got = name_results(result, names, what)
    clean = {**made, **before}
    wide = name_results(reference(**_widened(clean)), names, "reference")
    same, note = _same_precision(reference, clean, names, "reference")
    found = {
        name: compare(
            got[name], wide[name], name=name, pytorch=same.get(name), tolerance=tolerance, note=note
        )
        for name in names
    }
    changed = tuple(k for k, v in before.items() if not _same_bits(v, made[k]))
    where = next((str(t.device) for t in got.values()), "cpu")
    return VerifyResult(what, {}, where, seed, found, changed)


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _widened(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with floating-point tensors in float64, or in float32 where they are large."""
    import torch

    total = sum(v.numel() for v in inputs.values() if isinstance(v, torch.Tensor))
    wide = torch.float64 if total <= _WIDE_ELEMENTS else torch.float32
    return {
        k: v.to(wide) if isinstance(v, torch.Tensor) and v.dtype.is_floating_point else v
        for k, v in inputs.items()
    }


def _same_precision(
    reference: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], what: str
) -> tuple[dict[str, torch.Tensor], str]:
    """PyTorch's own result in the inputs' precision, and why there is none where there is none.

    8-bit floats become bfloat16, which holds each of their values exactly: PyTorch does not compute in them.
    """
    import torch

    given = {
        k: v.to(torch.bfloat16)
        if isinstance(v, torch.Tensor) and v.dtype.is_floating_point and v.dtype.itemsize == 1
        else v
        for k, v in inputs.items()
    }
    try:
        return name_results(reference(**given), names, what), ""
    except (RuntimeError, NotImplementedError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        return {}, f"PyTorch does not compute this in the same precision ({first})"


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    import torch

    view = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(a.dtype.itemsize)
    if view is None:
        return bool(torch.equal(a, b))
    return bool(torch.equal(a.contiguous().view(view), b.contiguous().view(view)))


def _tolerance_of(spec: KernelSpec, name: str, dtype: Any) -> Tolerance | tuple[float, float] | None:
    for key in (name, dtype, str(dtype).removeprefix("torch.")):
        if key in spec.tolerances:
            return spec.tolerances[key]
    return None
