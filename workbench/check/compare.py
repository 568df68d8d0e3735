"""One output against its reference.

There are two checks, and both are shown. Element by element: |got - wanted| <= atol + rtol * |wanted|, with
bounds by dtype. And the rule of FlashAttention's tests (github.com/Dao-AILab/flash-attention,
tests/test_flash_attn.py): the largest error against the high-precision reference is at most twice that of
PyTorch computing in the same precision, which needs no bound picked by hand. NaN or infinity where the
reference has none (or the other way round) never passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

from workbench.errors import UsageError, VerificationError
from workbench.numerics import EXACT, checked
from workbench.operators import TOLERANCES, Bounds, FlashRule, Tolerance

if TYPE_CHECKING:
    import torch

FLASH_FACTOR = 2.0
"""Least multiple of PyTorch's error that the FlashAttention rule allows."""

BAD_LUCK = 1e-4
"""Probability that a check fails for a result as good as PyTorch's because it has few elements."""

_FIRST = 8
"""Mismatches that a result lists."""


@dataclass(frozen=True)
class Mismatch:
    """One element that differs too much."""

    index: tuple[int, ...]
    got: float
    wanted: float

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.index))}]: got {self.got:.6g}, expected {self.wanted:.6g}"


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    Attributes:
        name: name of the output.
        shape, dtype: shape and dtype of the output, such as (64, 128) and "bfloat16".
        tolerance: the element-wise bounds; zero if the values must be equal.
        max_error, mean_error: largest and mean |got - expected| over the elements that are finite in both.
        max_relative_error: largest |got - expected| / |expected| where the expected value is not zero.
        mismatches: elements outside the tolerance, NaN and Inf mismatches included.
        nonfinite_mismatches: elements where one of the two is NaN or infinite and the other is not the same.
        unwritten: elements that still hold the poison (NaN, and the reference has none).
        first: the first mismatches in memory order.
        pytorch_error: largest error of PyTorch in the same precision; None if it does not apply.
        flash_bound: largest error that the FlashAttention rule allows; None if it does not apply.
        note: why a check does not apply, or differs from the usual one.
        flash_factor: multiple of PyTorch's error that the FlashAttention rule allows.
        numerics: arithmetic of the emulated device that computed `got`, "exact" or "fast" (docs/numerics.md);
            "" if unknown, as on a GPU.
        error: |got - expected| as a float32 tensor, infinite at NaN and Inf mismatches, for the heat map.
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
    flash_factor: float = FLASH_FACTOR
    numerics: str = ""

    @property
    def elementwise_passed(self) -> bool:
        return self.mismatches <= most_outside(self.tolerance.share, math.prod(self.shape))

    @property
    def flash_passed(self) -> bool | None:
        """True if the FlashAttention rule holds; None if it does not apply."""
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
            sign = "<=" if self.max_error <= self.flash_bound else ">"
            text += f"; FlashAttention rule {verdict}: {self.max_error:.3g} {sign} "
            text += f"{self.flash_factor:g} x PyTorch's"
            text += f" {self.pytorch_error:.3g}"
            multiple = self.flash_factor * self.pytorch_error
            if self.max_error > multiple:
                # Without it the inequality of a rule that holds would be false.
                text += f" + {self.flash_bound - multiple:.3g} for rounding"
        if self.numerics == EXACT:
            text += "; exact numerics"
        if self.note:
            text += f"; {self.note}"
        if self.unwritten:
            text += f"; {self.unwritten:,} elements NaN or never written"
        if self.first:
            text += "; first: " + "; ".join(str(m) for m in self.first[:3])
        return text


def compare(
    got: torch.Tensor,
    wanted: torch.Tensor,
    *,
    name: str = "out",
    pytorch: torch.Tensor | None = None,
    tolerance: Bounds | None = None,
    note: str = "",
    rule: FlashRule | None = None,
    numerics: str = "",
) -> Comparison:
    """Compares one result with its reference.

    Args:
        got: the result in any dtype; 8-bit floats are upcast.
        wanted: the reference of the same shape, in higher precision if there is one.
        name: name of the output, for messages.
        pytorch: PyTorch's result in the same precision; without it, the FlashAttention rule does not apply.
        tolerance: element-wise bounds; None for those of `got`'s dtype.
        note: why `pytorch` is absent.
        rule: the FlashAttention rule, if it is not twice PyTorch's error.
        numerics: "exact" or "fast", whichever made `got` on an emulated device; the result repeats it.

    Raises:
        VerificationError: the shapes differ.
        UsageError: one of them is not a tensor, or there are no such numerics.
    """
    if numerics:
        checked(numerics, "numerics")
    _check(got, wanted, name)
    dtype = str(got.dtype).removeprefix("torch.")
    bounds = tolerance if tolerance is not None else TOLERANCES.get(dtype, Tolerance(0.0, 0.0))
    if not isinstance(bounds, Tolerance):
        bounds = Tolerance(*bounds)
    floating = got.dtype.is_floating_point
    elements = _Elements.from_tensors(got, wanted)
    bad = elements.outside(bounds)
    measured = elements.difference[elements.finite]
    relative = (elements.difference / elements.scale)[elements.finite & (elements.scale > 0)]
    first = [tuple(row) for row in bad.nonzero()[:_FIRST].tolist()]
    pytorch_error = flash_bound = None
    factor = rule.factor if rule is not None else FLASH_FACTOR
    if factor is not None and measured.numel():
        draws = elements.rows if rule is not None and rule.by_row else measured.numel()
        factor = max(factor, flash_factor(draws))
    if rule is not None and not (rule.by_row and factor == rule.factor):
        note = rule.reason
    if floating and pytorch is not None and factor is not None and measured.numel():
        pytorch_error = elements.error_of(pytorch.detach().cpu().to(got.dtype).double())
        flash_bound = factor * pytorch_error + _flash_floor(
            dtype, elements.scale[elements.finite], bounds.atol
        )
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
        nonfinite_mismatches=int((~elements.finite & ~elements.same).sum().item()),
        unwritten=elements.unwritten if floating else 0,
        first=tuple(Mismatch(at, elements.actual[at].item(), elements.truth[at].item()) for at in first),
        pytorch_error=pytorch_error,
        flash_bound=flash_bound,
        note=note,
        error=elements.error.float(),
        flash_factor=FLASH_FACTOR if factor is None else factor,
        numerics=numerics,
    )


def _check(got: object, expected: object, name: str) -> None:
    import torch

    for argument, value in (("got", got), ("wanted", expected)):
        if not isinstance(value, torch.Tensor):
            raise UsageError(f"compare: {argument!r} is a {type(value).__name__}; expected a torch tensor")
    assert isinstance(got, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    if tuple(got.shape) != tuple(expected.shape):
        raise VerificationError(
            f"{name} has shape {tuple(got.shape)}, its reference {tuple(expected.shape)}; expected the same"
        )


@dataclass(frozen=True)
class _Elements:
    """A result and its reference, element by element.

    Attributes:
        actual, truth: both on the CPU, floats in float64.
        same: True where they are equal, equal once the reference is rounded to the result's dtype, or both
            NaN.
        finite: True where both are finite.
        difference: |actual - truth| in float64.
        scale: |truth| in float64.
    """

    actual: torch.Tensor
    truth: torch.Tensor
    same: torch.Tensor
    finite: torch.Tensor
    difference: torch.Tensor
    scale: torch.Tensor

    @classmethod
    def from_tensors(cls, got: torch.Tensor, expected: torch.Tensor) -> _Elements:
        import torch

        actual, truth = got.detach().cpu(), expected.detach().cpu()
        if got.dtype.is_floating_point:
            # A reference beyond the output's range is infinite, and the kernel should return infinity too.
            rounded = truth.to(actual.dtype).double()
            actual, truth = actual.double(), truth.double()
        else:
            # Differences of int64 may fit neither int64 nor float64 exactly; equality is tested on the
            # integers.
            if actual.dtype == torch.bool:
                actual, truth = actual.int(), truth.int()
            rounded = truth
        return cls(
            actual,
            truth,
            same=(actual == truth) | (actual == rounded) | (torch.isnan(actual) & torch.isnan(truth)),
            finite=torch.isfinite(actual) & torch.isfinite(truth),
            difference=(actual.double() - truth.double()).abs(),
            scale=truth.double().abs(),
        )

    def outside(self, bounds: Tolerance) -> torch.Tensor:
        """Elements that differ too much; among those that are not finite, the ones that are not equal."""
        import torch

        if bounds.rtol == 0 and bounds.atol == 0:
            return ~self.same
        return torch.where(self.finite, self.difference > bounds.atol + bounds.rtol * self.scale, ~self.same)

    @property
    def error(self) -> torch.Tensor:
        """The difference; infinite for elements of which one is not finite and the other not the same."""
        import torch

        return torch.where(self.finite, self.difference, torch.where(self.same, 0.0, float("inf")))

    @property
    def rows(self) -> int:
        """Number of rows of the last dimension in which the reference is not all zero; at least one."""
        rows = self.truth.reshape(-1, self.truth.shape[-1] if self.truth.ndim else 1)
        return max(1, int((rows != 0).any(1).sum().item()))

    @property
    def unwritten(self) -> int:
        """Number of elements that still hold the poison, NaN, where the reference has none."""
        import torch

        return int((torch.isnan(self.actual) & ~torch.isnan(self.truth)).sum().item())

    def error_of(self, other: torch.Tensor) -> float:
        """Largest error of another result, in float64, over the elements that are finite."""
        import torch

        finite = torch.isfinite(other) & torch.isfinite(self.truth)
        return float((other - self.truth).abs()[finite].max().item()) if finite.any() else 0.0


def most_outside(share: float, count: int) -> int:
    """Largest number of `count` elements that may be out of bounds, if each is with probability `share`.

    The number that a Poisson distribution of that mean exceeds with a probability of `BAD_LUCK`; for a large
    mean, the normal distribution.
    """
    mean = share * count
    if mean == 0 or mean > 500:
        return int(mean + NormalDist().inv_cdf(1 - BAD_LUCK) * math.sqrt(mean))
    allowed, term = 0, math.exp(-mean)
    rest = 1 - term
    while rest > BAD_LUCK:
        allowed += 1
        term *= mean / allowed
        rest -= term
    return allowed


def flash_factor(count: int) -> float:
    """Factor on PyTorch's error that the FlashAttention rule allows for the largest of `count` errors.

    If errors up to some bound h are equally likely, all `count` of them are below h / f by luck with
    probability f^-count, and PyTorch's largest error is then no measure. The factor is 2 from 14 elements on.
    """
    return max(FLASH_FACTOR, math.pow(BAD_LUCK, -1 / count))


def _flash_floor(dtype: str, scale: torch.Tensor, atol: float) -> float:
    """The absolute error that the FlashAttention rule allows in addition to PyTorch's.

    In 32 and 64 bits: four units in the last place of the largest value. The GPU's exp, log, rcp and sqrt
    instructions are accurate to one unit each, and PyTorch's error then depends only on luck with rounding.
    If all values are differences of larger ones, such as a norm's gradient in rows of one or two numbers, the
    units are those of the larger values: of 1, scaled by `atol` over the default `atol`, which is meant for
    sums of values around one. In 16 and 8 bits rounding of the output dominates except in that case, whose
    units are float32's.
    """
    if not scale.numel():
        return 0.0
    import torch

    summed = min(1.0, atol / TOLERANCES[dtype].atol) if dtype in TOLERANCES else 0.0
    if dtype not in ("float32", "float64"):
        return 4.0 * torch.finfo(torch.float32).eps * summed
    return 4.0 * torch.finfo(getattr(torch, dtype)).eps * max(scale.max().item(), summed)
