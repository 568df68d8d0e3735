"""Shapes to test an operator at, drawn from its spec: every setting, small and ragged sizes, a large one.

A setting is a value for each `Choice`; sizes are drawn from the `Range`s. The thin set stays with one or two
compiled instances, because compiling is most of a small test's time; HIPKITTENS_TEST_ALL tests every setting.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range, kernels

EVERY = int(os.environ.get("HIPKITTENS_TEST_ALL", "0"))
"""1: every setting; 10: every tenth, PART at most; 0: the thin set."""

PART = 1
"""Most settings of an operator if not all are tested: each is compiled separately."""

SMALL, LARGE = 1e8, 2e9
"""Floating-point operations, or bytes times ten, of a small problem and of a large one, at most."""

TRIES = 400

Shape = dict[str, Any]


ROOM, LARGE_ROOM = 1 << 23, 1 << 26
"""Elements of the inputs of a small problem and of a large one, at most: unused elements take memory, the
reference's too."""


def settings(spec: KernelSpec) -> list[Shape]:
    """Every combination of the spec's choices."""
    choices = {name: p.values for name, p in spec.parameters.items() if isinstance(p, Choice)}
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def cost(spec: KernelSpec, shape: Mapping[str, Any]) -> float:
    """Work of a problem, in floating-point operations."""
    work = spec.work(shape)
    if not work:
        # Limited by its inputs: at most every size with every other.
        return 100.0 * math.prod(shape[n] for n, p in spec.parameters.items() if isinstance(p, Range))
    return max(work.get("flops", 0), 10 * work.get("bytes", 0))


def room(spec: KernelSpec, shape: Shape) -> int:
    """Elements of all inputs together."""
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            inputs = spec.inputs(shape, torch.Generator())
    except (DataDependentOutputException, DynamicOutputShapeException):
        # Their values say how large others are. Experts have matrices each, a pool all its states.
        pool = ("states", "heads", "groups", "keys", "values") if "states" in shape else ()
        return math.prod(shape.get(name, 1) for name in ("experts", "n", "k", *pool))
    return sum(each.numel() for each in inputs.values() if isinstance(each, torch.Tensor))


def size(parameter: Range, limit: float, draw: random.Random) -> int:
    """A size up to a limit, small ones as likely as large ones; ragged if the spec allows it."""
    high = max(parameter.low, min(parameter.high, int(limit)))
    value = int(math.exp(draw.uniform(math.log(max(parameter.low, 1)), math.log(max(high, 1) + 1))))
    value -= (value - parameter.low) % parameter.step
    return min(max(value, parameter.low), parameter.high)


def drawn(
    spec: KernelSpec, arch: str, setting: Mapping[str, Any], draw: random.Random, most: float = SMALL
) -> Iterator[Shape]:
    """Shapes of a setting that the operator supports on a target; none if it supports no shape of it."""
    limit = 700.0 if most <= SMALL else 5000.0
    for _ in range(TRIES):
        sizes = {n: size(p, limit, draw) for n, p in spec.parameters.items() if isinstance(p, Range)}
        try:
            shape = spec.shape({**setting, **sizes}, arch=arch)
            spec.variant_name(shape, arch=arch)
        except ShapeError:
            continue
        if cost(spec, shape) > most or room(spec, shape) > (ROOM if most <= SMALL else LARGE_ROOM):
            limit = max(limit * 0.9, 8.0)
        elif most <= SMALL or cost(spec, shape) > SMALL:
            yield shape


def supports(spec: KernelSpec, shape: Mapping[str, Any], arch: str) -> bool:
    """True if the operator takes the shape on a target."""
    try:
        spec.variant_name(spec.shape(shape, arch=arch), arch=arch)
    except ShapeError:
        return False
    return True


def instance(spec: KernelSpec, shape: Shape, arch: str) -> object:
    """Key of the shapes that run the same compiled kernels."""
    implementation = spec.implementation(shape, arch=arch)
    return implementation.name, [
        (step.entry_name(shape), implementation.macros(step)) for step in implementation.steps
    ]


@cache
def parts() -> frozenset[str]:
    """Operators that another one launches as a whole, by the same kernels' records."""
    entries = {name: {step.entry for step in kernels[name].steps} for name in kernels}
    composed = {name: own for name, own in entries.items() if own and all(callable(entry) for entry in own)}
    return frozenset(name for name, own in composed.items() for other in entries.values() if own < other)


def has_turn(name: str, arch: str, seed: str) -> bool:
    """True if a run of thin sets tests an operator on a target: different parts of it on each."""
    return name not in parts() or arch == random.Random(f"{seed} {name}").choice(kernels[name].targets)


@cache
def thin(spec: KernelSpec, arch: str, seed: str) -> tuple[Shape, ...]:
    """A few small shapes: one of a setting, different on each target, and others of its instance."""
    draw = random.Random(f"{seed} {spec.name} {arch}")
    mixed = settings(spec)
    draw.shuffle(mixed)
    supported = ((s, next(drawn(spec, arch, s, draw), None)) for s in mixed)
    candidate = next(((s, shape) for s, shape in supported if shape), None)
    if candidate is None:
        return ()
    setting, first = candidate
    compiled = instance(spec, first, arch)
    ranges = [n for n, p in spec.parameters.items() if isinstance(p, Range)]
    same: list[Shape] = []
    for other in itertools.islice(drawn(spec, arch, setting, draw), 20):
        # If a size selects the instance, the other sizes vary.
        for fixed in ([], *([name] for name in ranges)):
            shape = {**other, **{name: first[name] for name in fixed}}
            try:
                shape = spec.shape(shape, arch=arch)
                if shape != first and instance(spec, shape, arch) == compiled and cost(spec, shape) <= SMALL:
                    same.append(shape)
                    break
            except ShapeError:
                continue
        if len(same) == 2:
            break
    return (first, *same)


def whole(spec: KernelSpec, arch: str, seed: str) -> Iterator[Shape]:
    """The spec's own shapes, two of each setting, and a large one of a random setting."""
    draw = random.Random(f"{seed} {spec.name} {arch} all")
    yield from (spec.shape(shape, arch=arch) for shape in spec.shapes)
    mixed = settings(spec)
    for setting in mixed:
        yield from itertools.islice(drawn(spec, arch, setting, draw), 2)
    for setting in draw.sample(mixed, len(mixed)):
        large = next(drawn(spec, arch, setting, draw, LARGE), None)
        if large is not None:
            yield large
            return


def part(spec: KernelSpec, arch: str, seed: str) -> Iterator[Shape]:
    """A shape of one in several settings, PART at most, and as rarely a large one, by the seed. On one of the
    targets, so that all operators together take a few minutes.
    """
    if arch != random.Random(f"{seed} {spec.name} part").choice(spec.targets):
        return
    draw = random.Random(f"{seed} {spec.name} {arch} part")
    mixed = settings(spec)
    draw.shuffle(mixed)
    drawings = (
        drawn(spec, arch, setting, draw, SMALL if draw.randrange(EVERY) else LARGE) for setting in mixed
    )
    supported = (next(drawing, None) for drawing in drawings)
    # If there are few settings, one now and then.
    count = (len(mixed) + draw.randrange(EVERY)) // EVERY
    yield from itertools.islice(filter(None, supported), min(count, PART))
