"""Modules of seeded kernels, with their faults or without: kernels that begin alike share a module."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

import workbench as wb
from tests.emulator.sanitizer.seeded import Seeded
from tests.emulator.sanitizer.test_seeded import far_apart
from workbench.check.sanitizer import SanitizeResult
from workbench.runtime.findings import Finding


class SeededModules:
    """Seeded kernels of one target.

    Args:
        target: such as "gfx1201".
        heads: the lines before each kernel, by its name.
        groups: kernels by name; a module has those of one group with the same head.
    """

    def __init__(self, target: str, heads: Mapping[str, str], *groups: Mapping[str, Seeded]) -> None:
        self.target, self.heads = target, heads
        self.cases = {name: case for cases in groups for name, case in cases.items()}
        self._modules = tuple(
            {name: case for name, case in cases.items() if heads[name] == head}
            for cases in groups
            for head in dict.fromkeys(heads[name] for name in cases)
        )
        self._compiled = cache(self._compile)

    def compiled(self, name: str, fault: bool) -> wb.Module:
        """The module with a kernel."""
        return self._compiled(next(i for i, cases in enumerate(self._modules) if name in cases), fault)

    def compile_all(self) -> None:
        for number, fault in itertools.product(range(len(self._modules)), (True, False)):
            self._compiled(number, fault)

    def _compile(self, number: int, fault: bool) -> wb.Module:
        cases = self._modules[number]
        head = self.heads[next(iter(cases))]
        first = head.count("\n") + 1
        parts = [
            f'namespace {name} {{\n#line {first} "seeded.hip"\n{case.source}\n}}'
            for name, case in cases.items()
        ]
        define = ["FAULT"] if fault else []
        return wb.compile(head + "\n".join(parts), arch=self.target, define=define, name="seeded.hip")

    def run(self, name: str, fault: bool) -> SanitizeResult:
        case = self.cases[name]
        values, out = far_apart(case.elements)
        launch = self.compiled(name, fault)[f"{name}::k"][case.grid, case.block]
        return wb.sanitize(launch, values, out, device=f"emulated:{self.target}")

    def matching(self, name: str, result: SanitizeResult) -> list[Finding]:
        """The findings that a kernel's fault is to have."""
        case = self.cases[name]
        return [f for f in result.findings if f.category == case.category and case.words in f.message]

    def lines(self, name: str) -> set[int]:
        """The lines of a kernel's fault."""
        text = self.heads[name] + self.cases[name].source
        return {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("// HERE")}
