"""Generated cases: many small kernels in one code object, many cases in one kernel, one test for each case.

A family (`test_tile_maps.py` and its like) describes kernels: inputs, a body, outputs, and for each case
what an output must be, computed by PyTorch. Kernels are compiled in batches, ahead of the tests that want
them and beside the launches; a kernel's outputs are there for all of its cases.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import torch

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.kernel import Module
from workbench.runtime import LaunchOptions, LaunchRecord, device

ARCHS = ("gfx950", "gfx942")

FLAGS = ("-O1", "-g0", "-Wall", "-Wextra")
"""Half the time of -O3 with debug info, which the kernels of the repository are tested with."""

DTYPES = {"float": torch.float32, "bf16": torch.bfloat16, "half": torch.float16}
"""Element types that are the same on both targets, by their C++ names."""

FP8 = {"gfx950": torch.float8_e4m3fn, "gfx942": torch.float8_e4m3fnuz}
"""What fp8e4m3 is on each target."""

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
AHEAD = 1 if "PYTEST_XDIST_WORKER" in os.environ else 3
"""Batches that are compiled or ready at a time, that whose turn it is included; what comes next may be
another worker's (tests/workers.py)."""


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
    """Which of the kernel's outputs it looks at, and which entry along its first axis where not None."""
    part: int | None
    wanted: Callable[[Inputs], torch.Tensor]
    compare: Check

    def run(self) -> None:
        """Fails with what differs."""
        results = self.kernel.batch.results()
        result = results[self.kernel.name]
        if isinstance(result, WorkbenchError):
            raise result
        inputs, outputs = result
        got = outputs[self.output] if self.part is None else outputs[self.output][self.part]
        wanted = self.wanted(inputs).to(got.dtype) if got.dtype == torch.float32 else self.wanted(inputs)
        assert got.dtype == wanted.dtype, (got.dtype, wanted.dtype)
        found = self.compare(got, wanted.reshape(got.shape))
        self.kernel.batch.looked_at(self)
        assert found is None, (
            f"{self.name} on {self.kernel.arch}, seed {seed()}: {found}\n{self.kernel.source()}"
        )


@dataclass
class Kernel:
    """One launch of one work-group.

    In the body `x_ptr` points to the tensor `x`, and `x_gl` is a global layout of its up to four dimensions.
    Outputs start poisoned.
    """

    name: str
    arch: str
    threads: int = 64
    shared: int = 0
    body: str = ""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    makes: dict[str, Make] = field(default_factory=dict)
    derived: dict[str, Callable[[Inputs], torch.Tensor]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    batch: Batch = field(init=False, repr=False)

    def input(self, name: str, dtype: str, shape: tuple[int, ...], make: Make) -> None:
        self.tensors[name] = (dtype, shape)
        self.makes[name] = make

    def derive(
        self, name: str, dtype: str, shape: tuple[int, ...], of: Callable[[Inputs], torch.Tensor]
    ) -> None:
        """An input that follows from those before it."""
        self.tensors[name] = (dtype, shape)
        self.derived[name] = of

    def output(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        self.tensors[name] = (dtype, shape)

    def case(
        self,
        name: str,
        output: str,
        wanted: Callable[[Inputs], torch.Tensor],
        compare: Check | None = None,
        part: int | None = None,
    ) -> None:
        self.cases.append(Case(name, self, output, part, wanted, compare or equal))

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
        made = {}
        for name, make in self.makes.items():
            dtype, shape = self.tensors[name]
            generator = torch.Generator().manual_seed(zlib.crc32(f"{seed()} {self.name} {name}".encode()))
            made[name] = make(generator).reshape(shape).contiguous()
            assert made[name].dtype == torch_dtype(dtype, self.arch), (self.name, name)
        for name, of in self.derived.items():
            dtype, shape = self.tensors[name]
            made[name] = of(made).reshape(shape).contiguous()
            assert made[name].dtype == torch_dtype(dtype, self.arch), (self.name, name)
        return made

    def is_output(self, name: str) -> bool:
        return name not in self.makes and name not in self.derived


def seed() -> str:
    """The seed that all inputs follow from; HIPKITTENS_TEST_SEED repeats a run."""
    return os.environ.get("HIPKITTENS_TEST_SEED", "1")


Result = tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]] | WorkbenchError


@dataclass
class Times:
    """Seconds, summed over batches: of the compiler (beside other things), and of launches."""

    compile: float = 0.0
    run: float = 0.0
    batches: int = 0
    kernels: int = 0


TIMES: dict[tuple[str, str], Times] = {}
"""By family and target."""


class Batch:
    """Kernels in one code object."""

    def __init__(self, family: str, arch: str, index: int) -> None:
        self.family = family
        self.arch = arch
        self.index = index
        self.kernels: list[Kernel] = []
        self._results: dict[str, Result] | None = None
        self._done: set[str] = set()

    def add(self, kernel: Kernel) -> None:
        kernel.batch = self
        self.kernels.append(kernel)

    def source(self) -> str:
        return PREAMBLE + "\n".join(kernel.source() for kernel in self.kernels)

    def compile(self) -> tuple[Module, float]:
        start = time.perf_counter()
        module = wb.compile(
            self.source(),
            arch=self.arch,
            name=f"{self.family.replace(' ', '_')}_{self.index}.hip",
            flags=FLAGS,
        )
        return module, time.perf_counter() - start

    def results(self) -> dict[str, Result]:
        """Inputs and outputs of each kernel by name, or the error that ended it."""
        if self._results is None:
            COMPILING.turn_of(self)
            times = TIMES.setdefault((self.family, self.arch), Times())
            try:
                module, seconds = COMPILING.take(self)
                if module.result.diagnostics:
                    raise WorkbenchError("\n".join(d.text for d in module.result.diagnostics))
            except WorkbenchError as error:
                self._results = dict.fromkeys((kernel.name for kernel in self.kernels), error)
                return self._results
            times.compile += seconds
            start = time.perf_counter()
            self._results = {kernel.name: self._launch(module, kernel) for kernel in self.kernels}
            times.run += time.perf_counter() - start
            times.batches += 1
            times.kernels += len(self.kernels)
        return self._results

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

    def _launch(self, module: Module, kernel: Kernel) -> Result:
        try:
            inputs, outputs, _ = self._start(module, kernel, LaunchOptions())
        except WorkbenchError as error:
            return error
        return inputs, outputs

    def looked_at(self, case: Case) -> None:
        """Lets go of the results after the last case."""
        self._done.add(case.name)
        if len(self._done) == sum(len(kernel.cases) for kernel in self.kernels):
            self._results = None
            self._done.clear()

    def sanitize(self) -> list[str]:
        """What the sanitizer finds, a line for each finding."""
        COMPILING.turn_of(self)
        module, _ = COMPILING.take(self)
        return [
            f"{kernel.name} on {self.arch}: {finding.category}: {finding.message}"
            for kernel in self.kernels
            for finding in self._start(module, kernel, LaunchOptions(sanitize=True))[2].findings
        ]


class _Compiling:
    """Compiles batches in the background, in the order of the tests that want them."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._order: list[Batch] = []
        self._at = 0
        self._started: dict[int, Future[tuple[Module, float]]] = {}

    def plan(self, batches: Iterable[Batch]) -> None:
        """The batches that will be wanted, in order; one may be wanted again."""
        self._order = list(batches)
        self._at = 0

    def turn_of(self, batch: Batch) -> None:
        """Starts `batch` and what comes after it."""
        try:
            self._at = self._order.index(batch, self._at)
        except ValueError:
            return
        for following in self._order[self._at : self._at + AHEAD]:
            self._start(following)

    def _start(self, batch: Batch) -> Future[tuple[Module, float]]:
        if id(batch) not in self._started:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(min(2, os.cpu_count() or 1))
            self._started[id(batch)] = self._pool.submit(batch.compile)
        return self._started[id(batch)]

    def take(self, batch: Batch) -> tuple[Module, float]:
        """The compiled batch, which is not kept here."""
        try:
            return self._start(batch).result()
        finally:
            self._started.pop(id(batch), None)


COMPILING = _Compiling()


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory that no kernel would write: a pattern of bytes."""
    size = 1
    for n in shape:
        size *= n
    return torch.full((size * dtype.itemsize,), 0xA5, dtype=torch.uint8).view(dtype).reshape(shape)


FAMILIES: dict[str, Family] = {}


class Family:
    """The kernels of one family of functions on both targets, in batches; its cases are pytest parameters."""

    batches: list[Batch]

    def __init__(
        self, name: str, kernels: Callable[[str], Iterator[Kernel]], per_batch: int = KERNELS_PER_BATCH
    ) -> None:
        self.name = name
        if name in FAMILIES:
            # The module was imported under another name.
            self.batches = FAMILIES[name].batches
            return
        self.batches = []
        FAMILIES[name] = self
        for arch in ARCHS:
            batch: Batch | None = None
            for index, kernel in enumerate(kernels(arch)):
                if batch is None or index % per_batch == 0:
                    batch = Batch(name, arch, index // per_batch)
                    self.batches.append(batch)
                batch.add(kernel)

        names = [(b.arch, k.name) for b in self.batches for k in b.kernels]
        assert len(set(names)) == len(names), f"{name}: two kernels with one name"

    def cases(self) -> list[Case]:
        return [case for batch in self.batches for kernel in batch.kernels for case in kernel.cases]


def case_id(case: object) -> str:
    """Target, number of the batch, name; tests/workers.py keeps batches together by it."""
    assert isinstance(case, Case)
    return f"{case.kernel.arch}-{case.kernel.batch.index}-{case.name}"


def bits(tensor: torch.Tensor) -> torch.Tensor:
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.dtype.itemsize]
    return tensor.contiguous().view(kind)


def equal(got: torch.Tensor, wanted: torch.Tensor) -> str | None:
    """What differs between two tensors that must have the same bits, NaNs included; None where nothing."""
    wrong = bits(got) != bits(wanted)
    return _report(wrong, got, wanted)


def same_values(got: torch.Tensor, wanted: torch.Tensor) -> str | None:
    """The same, but any NaN is as good as another, and so is a zero."""
    a, b = got.double(), wanted.double()
    return _report(~((a == b) | (a.isnan() & b.isnan())), got, wanted)


def close(ulps: float, atol: float = 0.0) -> Check:
    """A check that allows so many units in the last place of the type, or `atol` near zero."""

    def check(got: torch.Tensor, wanted: torch.Tensor) -> str | None:
        a, b = got.double(), wanted.double()
        bound = atol + ulps * torch.finfo(got.dtype).eps * b.abs()
        wrong = ~(((a - b).abs() <= bound) | (a == b) | (a.isnan() & b.isnan()))
        return _report(wrong, got, wanted)

    return check


def _report(wrong: torch.Tensor, got: torch.Tensor, wanted: torch.Tensor) -> str | None:
    if not wrong.any():
        return None
    first = tuple(wrong.nonzero()[0].tolist())
    count = f"{int(wrong.sum())} of {wrong.numel()}"
    return f"{count} differ, first at {first}: {float(got[first])} and not {float(wanted[first])}"


def rounded(values: torch.Tensor, dtype: str, arch: str) -> torch.Tensor:
    """float64 values in an element type: nearest, ties to even; fp8 saturates, as the library says.

    PyTorch goes by way of float where the type is smaller, as the device does.
    """
    kind = torch_dtype(dtype, arch)
    if dtype == "fp8e4m3":
        largest = torch.finfo(kind).max
        return values.float().clamp(-largest, largest).to(kind)
    return values.to(kind)
