"""Many small kernels in one code object, each launched and compared on its own."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

import workbench as wb
from workbench.runtime import LaunchOptions, device
from workbench.targets import TILE_TARGETS

SHAPES = {
    "rt_16x16_s": (16, 16, 4),
    "rt_32x32_s": (32, 32, 4),
    "rt_32x32_8_s": (32, 32, 8),
    "rt_16x32_s": (16, 32, 8),
    "rt_32x16_s": (32, 16, 8),
    "rt_16x32_4_s": (16, 32, 4),
    "rt_32x16_4_s": (32, 16, 4),
    "rt_16x128_s": (16, 128, 16),
}
"""Base shapes of register tiles: rows, columns, stride, as their names and the documentation say."""

ST_SHAPES = {
    "st_16x16_s": (16, 16),
    "st_16x16_swizzled_s": (16, 16),
    "st_32x32_s": (32, 32),
    "st_16x32_s": (16, 32),
    "st_32x16_s": (32, 16),
    "st_8x32_s": (8, 32),
    "st_16x128_s": (16, 128),
}
"""Base shapes of shared tiles: rows and columns, as their names say."""

DTYPES = {"float": torch.float32, "bf16": torch.bfloat16, "half": torch.float16}
"""Element types by their C++ names."""

FP8 = {"gfx950": torch.float8_e4m3fn, "gfx942": torch.float8_e4m3fnuz}
"""The dtype of fp8e4m3 on each target."""

PREAMBLE = """
#include "kittens.cuh"
using namespace kittens;
"""


def distinct(rows: int, cols: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """A matrix without equal elements: normal numbers in a random order, exact in the type."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(rows * cols, generator=generator).reshape(rows, cols)
    if dtype == torch.float32:
        return order.to(dtype)
    return (order + 0x0400).to(torch.int16).view(dtype)


def random(*dims: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*dims, generator=generator).to(dtype)


@dataclass
class Case:
    name: str
    title: str
    body: str
    parameters: str
    tensors: dict[str, torch.Tensor]
    expected: dict[str, torch.Tensor]
    check: Callable[[torch.Tensor, torch.Tensor], str | None]
    threads: int
    shared: int
    one_target: bool


def takes_turn(name: str, arch: str, seed: str) -> bool:
    """True if a case runs on this target: each of many that share code runs on one target, by the seed and
    its name.
    """
    return TILE_TARGETS[zlib.crc32(f"{seed} {name}".encode()) % len(TILE_TARGETS)] == arch


def in_turn(name: str, arch: str) -> bool:
    """The same with this run's seed; by `make test-product` every case is every target's."""
    if int(os.environ.get("HIPKITTENS_TEST_ALL", "0")):
        return True
    return takes_turn(name, arch, os.environ.get("HIPKITTENS_TEST_SEED", "1"))


def some(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """One of the values, chosen by this run's seed; all of them in `make test-product`."""
    if int(os.environ.get("HIPKITTENS_TEST_ALL", "0")):
        return values
    seed = os.environ.get("HIPKITTENS_TEST_SEED", "1")
    return [values[zlib.crc32(f"{seed} {name}".encode()) % len(values)]]


def c_type(tensor: torch.Tensor) -> str:
    names = {dtype: name for name, dtype in DTYPES.items()}
    names.update(dict.fromkeys(FP8.values(), "fp8e4m3"))
    return names.get(tensor.dtype, {torch.int32: "int", torch.uint8: "unsigned char"}.get(tensor.dtype, ""))


def equal(got: torch.Tensor, expected: torch.Tensor) -> str | None:
    """First difference of two tensors that must have equal bits, NaNs included; None if there is none."""
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[got.dtype.itemsize]
    wrong = got.view(kind) != expected.view(kind)
    if not wrong.any():
        return None
    first = tuple(wrong.nonzero()[0].tolist())
    count = f"{int(wrong.sum())} of {wrong.numel()}"
    return f"{count} differ, first at {first}: {got[first]} and not {expected[first]}"


def close(ulps: float, atol: float = 0.0) -> Callable[[torch.Tensor, torch.Tensor], str | None]:
    """A check that allows this many units in the last place of the type."""

    def check(got: torch.Tensor, expected: torch.Tensor) -> str | None:
        bound = atol + ulps * torch.finfo(got.dtype).eps * expected.double().abs()
        wrong = ~((got.double() - expected.double()).abs() <= bound) & ~(got.isnan() & expected.isnan())
        wrong &= ~(got.double() == expected.double())
        if not wrong.any():
            return None
        first = tuple(wrong.nonzero()[0].tolist())
        count = f"{int(wrong.sum())} of {wrong.numel()}"
        return f"{count} wrong, first at {first}: {got[first]}, wanted {expected[first]}"

    return check


@dataclass
class Batch:
    """Cases that are compiled together.

    A case's kernel has `g`, with a global layout for each floating-point tensor and a pointer for each other:
    inputs by name, and outputs, which start poisoned, by the names in `wanted`. It is made in the kernel from
    plain pointers, since a struct as parameter would want debug info, a quarter of the compiler's time.
    """

    preamble: str = PREAMBLE
    cases: list[Case] = field(default_factory=list)

    def add(
        self,
        title: str,
        body: str,
        *,
        expected: dict[str, torch.Tensor],
        check: Callable[[torch.Tensor, torch.Tensor], str | None] = equal,
        threads: int = 64,
        shared: int = 0,
        one_target: bool = False,
        **inputs: torch.Tensor,
    ) -> None:
        """One case; `one_target` says that no other target has it."""
        tensors = {k: v.contiguous() for k, v in inputs.items()}
        pointers, members, values = [], [], []
        for name, t in {**tensors, **expected}.items():
            kind = c_type(t)
            layout = f"gl<{kind}, -1, -1, -1, -1>"
            dims = ", ".join(map(str, (1,) * (4 - t.dim()) + tuple(t.shape)))
            pointers.append(f"{kind} *{name}_ptr")
            members.append(f"{layout if t.dtype.is_floating_point else f'{kind} *'} {name};")
            values.append(f"{layout}({name}_ptr, {dims})" if t.dtype.is_floating_point else f"{name}_ptr")
        globals = f"struct {{ {' '.join(members)} }} g{{{', '.join(values)}}};"
        name, parameters = f"case_{len(self.cases)}", ", ".join(pointers)
        self.cases.append(
            Case(
                name,
                title,
                f"const {globals}\n{body}",
                parameters,
                tensors,
                expected,
                check,
                threads,
                shared,
                one_target,
            )
        )

    def source(self) -> str:
        kernels = [
            f"__global__ __launch_bounds__({c.threads})\nvoid {c.name}({c.parameters}) {{\n{c.body}\n}}\n"
            for c in self.cases
        ]
        return self.preamble + "\n".join(kernels)

    def take_turns(self, arch: str) -> None:
        """Keeps the cases that this run tests on this target."""
        self.cases = [case for case in self.cases if case.one_target or in_turn(case.title, arch)]

    def run(self, arch: str, *, profile: bool = False) -> dict[str, dict[str, int]]:
        """Launches every case; fails with a line for each that is wrong. Counters by case where asked for."""
        if not self.cases:
            return {}
        module = wb.compile(self.source(), arch=arch, name="cases.hip", flags=("-g0", "-Wall", "-Wextra"))
        assert not module.result.diagnostics, "\n".join(d.message for d in module.result.diagnostics)
        wrong, counters = [], {}
        for case in self.cases:
            outputs = {
                name: torch.full(t.shape, float("nan") if t.dtype.is_floating_point else 0x7A).to(t.dtype)
                for name, t in case.expected.items()
            }
            record = module[case.name].launch(
                wb.Launch(1, case.threads, case.shared),
                [*case.tensors.values(), *outputs.values()],
                {},
                device=device(f"emulated:{arch}"),
                options=LaunchOptions(profile=profile),
            )
            counters[case.title] = dict(record.counters or {})
            for name, tensor in outputs.items():
                difference = case.check(tensor, case.expected[name])
                if difference:
                    wrong.append(f"{case.title}: {name}: {difference}")
        assert not wrong, f"{len(wrong)} of {len(self.cases)} cases on {arch}\n" + "\n".join(wrong)
        return counters
