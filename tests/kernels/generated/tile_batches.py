"""Generated cases: many small kernels in one code object, many cases in one kernel, one test for each batch.

A family (`test_tile_maps.py` and its like) describes kernels: inputs, a body, outputs, and for each case
what an output must be, computed by PyTorch. Kernels are compiled in batches; each kernel of a batch is a
subtest, so that all failures are reported.
"""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import pytest
import torch
from tile_cases import takes_turn
from tile_coverage import covering

import workbench as wb
from workbench.kernel import Module
from workbench.runtime import LaunchOptions, LaunchRecord, device
from workbench.targets import LIBRARY_TARGETS, TILE_TARGETS, target

FLAGS = ("-O1", "-g0", "-Wall", "-Wextra")
"""Half the time of -O3 with debug info, with which the repository's kernels are tested."""

DTYPES = {"float": torch.float32, "bf16": torch.bfloat16, "half": torch.float16}
"""Element types that are the same on all targets, by their C++ names."""

FP8 = {arch: torch.float8_e4m3fnuz if arch == "gfx942" else torch.float8_e4m3fn for arch in LIBRARY_TARGETS}
"""The dtype of fp8e4m3 on each target."""

LANES = {arch: 64 if arch in TILE_TARGETS else 32 for arch in LIBRARY_TARGETS}
"""Lanes of a wave on each target."""

ELEMENTS = (*DTYPES, "fp8e4m3")

PREAMBLE = """
#include "kittens.cuh"
using namespace kittens;

/* What a lane holds of a register tile or vector, as it is: lane after lane in memory. */
template <typename X> __device__ constexpr int alignment() {
    constexpr int n = sizeof(X);
    return n % 16 == 0 ? 16 : n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
}
template <typename X> __device__ inline void put(const X &x, void *memory) {
    char *mine = static_cast<char *>(memory) + laneid() * static_cast<int>(sizeof(X));
    __builtin_memcpy(__builtin_assume_aligned(mine, alignment<X>()), &x, sizeof(X));
}
template <typename X> __device__ inline void take(X &x, const void *memory) {
    const char *mine = static_cast<const char *>(memory) + laneid() * static_cast<int>(sizeof(X));
    __builtin_memcpy(&x, __builtin_assume_aligned(mine, alignment<X>()), sizeof(X));
}
"""

KERNELS_PER_BATCH = 24

DRAWN = 2
"""Kernels of a family that a run tests on each target beyond those that every kernel is written for."""

EVERY = int(os.environ.get("HIPKITTENS_TEST_ALL", "0"))
"""Step through the batches of the families' full product, others with each seed; 0: covering arrays."""


def torch_dtype(name: str, arch: str) -> torch.dtype:
    """The PyTorch type for a C++ element type."""
    return (
        FP8[arch] if name == "fp8e4m3" else {**DTYPES, "int": torch.int32, "unsigned char": torch.uint8}[name]
    )


Inputs = Mapping[str, torch.Tensor]
Check = Callable[[torch.Tensor, torch.Tensor], "str | None"]
Make = Callable[[torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One function on one configuration."""

    name: str
    kernel: Kernel
    output: str
    """Index of the kernel's output that the case checks, and the entry on its first axis, or None for all."""
    part: int | None
    expected: Callable[[Inputs], torch.Tensor]
    compare: Check

    def differs(self, inputs: Inputs, outputs: Inputs) -> str | None:
        """First difference of the outputs from the expected ones; None if they are equal."""
        got = outputs[self.output] if self.part is None else outputs[self.output][self.part]
        expected = (
            self.expected(inputs).to(got.dtype) if got.dtype == torch.float32 else self.expected(inputs)
        )
        assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
        return self.compare(got, expected.reshape(got.shape))


@dataclass
class Kernel:
    """One launch of one work-group.

    In the body `x_ptr` points to the tensor `x`, and `x_gl` is a global layout of its up to four dimensions.
    Outputs start poisoned.
    """

    name: str
    arch: str
    waves: int = 1
    shared: int = 0
    body: str = ""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    makes: dict[str, Make] = field(default_factory=dict)
    derived: dict[str, Callable[[Inputs], torch.Tensor]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    batch: Batch = field(init=False, repr=False)

    @property
    def lanes(self) -> int:
        return LANES[self.arch]

    @property
    def threads(self) -> int:
        return self.waves * self.lanes

    def input(self, name: str, dtype: str, shape: tuple[int, ...], make: Make) -> None:
        self.tensors[name] = (dtype, shape)
        self.makes[name] = make

    def derive(
        self, name: str, dtype: str, shape: tuple[int, ...], of: Callable[[Inputs], torch.Tensor]
    ) -> None:
        """An input computed from the earlier ones."""
        self.tensors[name] = (dtype, shape)
        self.derived[name] = of

    def output(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        self.tensors[name] = (dtype, shape)

    def case(
        self,
        name: str,
        output: str,
        expected: Callable[[Inputs], torch.Tensor],
        compare: Check | None = None,
        part: int | None = None,
    ) -> None:
        self.cases.append(Case(name, self, output, part, expected, compare or equal))

    @property
    def symbol(self) -> str:
        return f"k{self.batch.kernels.index(self)}"

    def source(self) -> str:
        parameters = ", ".join(
            f"[[maybe_unused]] {'' if self.is_output(name) else 'const '}{dtype} *{name}_ptr"
            for name, (dtype, _) in self.tensors.items()
        )
        layouts = []
        for name, (dtype, shape) in self.tensors.items():
            if dtype in ELEMENTS and len(shape) <= 4:
                dims = ", ".join(map(str, (1,) * (4 - len(shape)) + shape))
                layouts.append(
                    f"    [[maybe_unused]] const gl<{dtype}, -1, -1, -1, -1> {name}_gl("
                    f"const_cast<{dtype} *>({name}_ptr), {dims});"
                )
        return "\n".join(
            [
                f"__global__ __launch_bounds__({self.threads})",
                f"void {self.symbol}({parameters}) {{",
                *layouts,
                f"    {self.body}",
                "}",
            ]
        )

    def make_inputs(self) -> dict[str, torch.Tensor]:
        inputs = {}
        for name, make in self.makes.items():
            dtype, shape = self.tensors[name]
            generator = torch.Generator().manual_seed(zlib.crc32(f"{seed()} {self.name} {name}".encode()))
            inputs[name] = make(generator).reshape(shape).contiguous()
            assert inputs[name].dtype == torch_dtype(dtype, self.arch), (self.name, name)
        for name, of in self.derived.items():
            dtype, shape = self.tensors[name]
            inputs[name] = of(inputs).reshape(shape).contiguous()
            assert inputs[name].dtype == torch_dtype(dtype, self.arch), (self.name, name)
        return inputs

    def is_output(self, name: str) -> bool:
        return name not in self.makes and name not in self.derived


def seed() -> str:
    """The seed of all inputs; HIPKITTENS_TEST_SEED repeats a run."""
    return os.environ.get("HIPKITTENS_TEST_SEED", "1")


def share(batches: Sequence[Batch], every: int) -> Sequence[Batch]:
    """Every n-th batch, different ones with each seed."""
    return batches[zlib.crc32(seed().encode()) % every :: every]


class Batch:
    """Kernels in one code object."""

    def __init__(self, family: str, arch: str, index: int, kernels: list[Kernel]) -> None:
        self.family = family
        self.arch = arch
        self.index = index
        self.kernels = kernels
        for kernel in kernels:
            kernel.batch = self

    def source(self) -> str:
        return PREAMBLE + "\n".join(kernel.source() for kernel in self.kernels)

    def check(self, subtests: pytest.Subtests) -> None:
        """Launches the kernels, each a subtest that names its wrong cases."""
        module = self._compile()
        for kernel in self.kernels:
            with subtests.test(kernel.name):
                inputs, outputs, _ = self._start(module, kernel, LaunchOptions())
                differ = [(case.name, case.differs(inputs, outputs)) for case in kernel.cases]
                self._none(kernel, [f"{name}: {how}" for name, how in differ if how is not None])

    def sanitize(self, subtests: pytest.Subtests) -> None:
        """Launches the kernels under the sanitizer, each a subtest; it finds nothing."""
        module = self._compile()
        for kernel in self.kernels:
            with subtests.test(kernel.name):
                _, _, record = self._start(module, kernel, LaunchOptions(sanitize=True))
                self._none(kernel, [f"{finding.category}: {finding.message}" for finding in record.findings])

    def _none(self, kernel: Kernel, failures: list[str]) -> None:
        """Fails if there are findings."""
        if failures:
            title = f"{kernel.name} on {self.arch}, HIPKITTENS_TEST_SEED={seed()}"
            pytest.fail("\n".join([title, *failures, kernel.source()]), pytrace=False)

    def _compile(self) -> Module:
        name = f"{self.family.replace(' ', '_')}_{self.index}.hip"
        module = wb.compile(self.source(), arch=self.arch, name=name, flags=FLAGS)
        # A lane of 32 holds so much of a long vector that a loop over it may exceed what LLVM unrolls.
        is_wide = target(self.arch).wave_size == 64
        texts = [d.text for d in module.result.diagnostics]
        texts = [text for text in texts if is_wide or "loop not unrolled" not in text]
        assert not texts, "\n".join(texts)
        return module

    def _start(
        self, module: Module, kernel: Kernel, options: LaunchOptions
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], LaunchRecord]:
        inputs = kernel.make_inputs()
        outputs = {
            name: poisoned(shape, torch_dtype(dtype, self.arch))
            for name, (dtype, shape) in kernel.tensors.items()
            if kernel.is_output(name)
        }
        tensors = inputs | outputs
        record = module[kernel.symbol].launch(
            wb.Launch(1, kernel.threads, kernel.shared),
            [tensors[name] for name in kernel.tensors],
            {},
            device=device(f"emulated:{self.arch}"),
            options=options,
        )
        return inputs, outputs, record


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory that no kernel would write: a pattern of bytes."""
    size = 1
    for n in shape:
        size *= n
    return torch.full((size * dtype.itemsize,), 0xA5, dtype=torch.uint8).view(dtype).reshape(shape)


FAMILIES: dict[str, Family] = {}


class Family:
    """The kernels of one family of functions on all targets.

    Args:
        name: as the document says it.
        kernels: makes those of a target; where `rows` are given, those that a list of rows asks for.
        rows: the product of factors of which a covering array is tested in a run (`tile_coverage`).
        per_batch: kernels in a code object.
    """

    def __init__(
        self,
        name: str,
        kernels: Callable[..., Iterator[Kernel]],
        rows: Sequence[tuple[Hashable, ...]] | None = None,
        per_batch: int = KERNELS_PER_BATCH,
    ) -> None:
        self.name = name
        self._kernels = kernels
        self._rows = rows
        self._per_batch = min(per_batch, int(os.environ.get("HIPKITTENS_TEST_BATCH", per_batch)))
        FAMILIES[name] = self

    @cached_property
    def batches(self) -> Sequence[Batch]:
        """Batches that this run tests."""
        return share(self.all_batches(), EVERY) if EVERY else self.covering_batches(seed())

    def all_batches(self) -> list[Batch]:
        """All batches of the full product."""
        return self._made_of(self._rows)

    def covering_batches(self, seed: str) -> list[Batch]:
        """Batches of a covering array if factors do not interact; else all, each kernel on one target.

        Of the targets beyond `TILE_TARGETS` a few kernels.
        """
        if self._rows is None:
            return self._made_of(None, turns=seed)
        every = [row for row in self._rows if target_of(row) in TILE_TARGETS]
        rows = covering(every, f"{seed} {self.name}")
        for arch in LIBRARY_TARGETS:
            if arch not in TILE_TARGETS:
                own = [row for row in self._rows if target_of(row) == arch and has_types(arch, repr(row))]
                rows += drawn(own, f"{seed} {self.name} {arch}")
        return self._made_of(rows)

    def _made_of(self, rows: Sequence[tuple[Hashable, ...]] | None, turns: str = "") -> list[Batch]:
        batches = []
        for arch in LIBRARY_TARGETS:
            kernels = list(self._kernels(arch) if rows is None else self._kernels(arch, rows))
            kernels = [kernel for kernel in kernels if has_types(arch, kernel.name + kernel.body)]
            if turns and arch in TILE_TARGETS:
                kernels = [kernel for kernel in kernels if takes_turn(kernel.name, arch, turns)]
            elif turns:
                kernels = drawn(kernels, f"{turns} {self.name} {arch}")
            assert len({kernel.name for kernel in kernels}) == len(kernels), f"{self.name}: a name twice"
            for index, first in enumerate(range(0, len(kernels), self._per_batch)):
                batches.append(Batch(self.name, arch, index, kernels[first : first + self._per_batch]))
        return batches


Item = TypeVar("Item")


def drawn(items: list[Item], seed: str) -> list[Item]:
    """A few of the items, in their order."""
    indexes = random.Random(seed).sample(range(len(items)), min(DRAWN, len(items)))
    return [items[index] for index in sorted(indexes)]


def has_types(arch: str, text: str) -> bool:
    """False for a text that names fp8 on a target without it."""
    return "fp8" not in text or target(arch).fp8 is not None


def target_of(row: tuple[Hashable, ...]) -> str:
    """The target of a row of factors, which is a part of one of them."""
    return next(
        part for factor in row if isinstance(factor, tuple) for part in factor if part in LIBRARY_TARGETS
    )


def batch_id(batch: Batch) -> str:
    return f"{batch.arch}-{batch.family}-{batch.index}".replace(" ", "_")


def bits(tensor: torch.Tensor) -> torch.Tensor:
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.dtype.itemsize]
    return tensor.contiguous().view(kind)


def equal(got: torch.Tensor, expected: torch.Tensor) -> str | None:
    """First difference of two tensors that must have equal bits, NaNs included; None if there is none."""
    wrong = bits(got) != bits(expected)
    return _report(wrong, got, expected)


def same_values(got: torch.Tensor, expected: torch.Tensor) -> str | None:
    """The same, but all NaNs are equal, and so are both zeros."""
    a, b = got.double(), expected.double()
    return _report(~((a == b) | (a.isnan() & b.isnan())), got, expected)


def close(ulps: float, atol: float = 0.0) -> Check:
    """A check that allows this many units in the last place of the type, or `atol` near zero."""

    def check(got: torch.Tensor, expected: torch.Tensor) -> str | None:
        a, b = got.double(), expected.double()
        bound = atol + ulps * torch.finfo(got.dtype).eps * b.abs()
        wrong = ~(((a - b).abs() <= bound) | (a == b) | (a.isnan() & b.isnan()))
        return _report(wrong, got, expected)

    return check


def _report(wrong: torch.Tensor, got: torch.Tensor, expected: torch.Tensor) -> str | None:
    if not wrong.any():
        return None
    first = tuple(wrong.nonzero()[0].tolist())
    count = f"{int(wrong.sum())} of {wrong.numel()}"
    return f"{count} differ, first at {first}: {float(got[first])} and not {float(expected[first])}"


def rounded(values: torch.Tensor, dtype: str, arch: str) -> torch.Tensor:
    """float64 values in an element type: nearest, ties to even; fp8 saturates, as the library says.

    PyTorch converts through float if the type is smaller, as the device does.
    """
    kind = torch_dtype(dtype, arch)
    if dtype == "fp8e4m3":
        largest = torch.finfo(kind).max
        return values.float().clamp(-largest, largest).to(kind)
    return values.to(kind)
