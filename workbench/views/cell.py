"""A compiled cell's output: device, compile time, kernels with changes, warnings, results; or its failure.

The front end and the editor read `CellResult` and `CellFailure` and need no other result or error type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.check.results import VerifyResult
from workbench.check.sanitizer import Finding, SanitizeResult, causes, finding_of
from workbench.errors import KernelFault, headline
from workbench.kernel.resources import resources_lines
from workbench.kernel.show import ShownValues
from workbench.origin import Figure, Origin
from workbench.profile.results import ProfileResult
from workbench.profile.timing import TimeResult
from workbench.views.markup import block, bold, details, tag
from workbench.views.resources import changes, kernel_table
from workbench.views.verdict import last_verification

if TYPE_CHECKING:
    from workbench.errors import CompileError, WorkbenchError
    from workbench.kernel import Kernel, Kernels, Module
    from workbench.kernel.code import DeviceCode
    from workbench.profile.instructions import InstructionProfile
    from workbench.runtime import Device
    from workbench.toolchain import Diagnostic


NO_KERNEL = "no kernel: is a function marked __global__, and a template instantiated?"


@dataclass(frozen=True)
class Found:
    """A finding in a launch, its source ("sanitizer", or "device" for a fault) and the kernel's name."""

    finding: Finding
    source: str
    kernel: str = ""


@dataclass(frozen=True)
class Ran:
    """A cell's entry in the list of runs.

    Attributes:
        kind: "compile", "run", "time", "verify", "profile" or "sanitize".
        kernel: kernel or spec that ran, "" for a compile.
        time: duration; None if unknown.
        verified: True if the result was right, in this run or in the last verification of the same code; None
            if it was not checked.
        error: first line of the error; "" if there was none.
    """

    kind: str
    kernel: str
    time: Figure | None
    verified: bool | None
    error: str


@dataclass(frozen=True)
class CellResult:
    """A compiled cell and its results.

    Attributes:
        name: the name that the module is bound to.
        module: the module; for a Triton cell, the kernels that it launched.
        device: device of its launches.
        before: kernels of the cell's previous run by name.
        results: results of verify, time and profile, in order.
        error: error that ended the steps early; None without one.
    """

    name: str
    module: Module | Kernels
    device: Device
    before: Mapping[str, Kernel] = field(default_factory=dict)
    results: Sequence[Any] = ()
    error: WorkbenchError | None = None

    def codes(self) -> dict[str, DeviceCode]:
        """Its code by digest; holding it keeps no launch's tensors alive."""
        modules = {kernel.module.digest: kernel.module for kernel in self.module.kernels.values()}
        return {digest: module.without_launches() for digest, module in modules.items()}

    @property
    def compile_text(self) -> str:
        """Text such as "compiled in 1.24 s" or "cached (0.03 s)"."""
        result = self.module.result
        if result is None:
            return "launched"
        if result.cached:
            return f"cached ({result.seconds:.2f} s)"
        return f"compiled in {result.seconds:.2f} s"

    @property
    def origin(self) -> Origin:
        """Origin of times on this device."""
        return self.device.origin

    def changes(self) -> dict[str, tuple[str, ...]]:
        """Changes since the previous run, by kernel; unchanged kernels are absent."""
        by_kernel = {k.name: changes(k, self.before.get(k.name)) for k in self.module.kernels.values()}
        return {name: facts for name, facts in by_kernel.items() if facts}

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """The compiler's diagnostics."""
        return self.module.result.diagnostics if self.module.result is not None else ()

    def warnings(self) -> list[str]:
        """The same, each with its lines and caret."""
        return [str(d) for d in self.diagnostics]

    def found(self) -> tuple[Found, ...]:
        """The sanitizer's findings, and the fault that ended a check."""
        findings = [
            Found(finding, "sanitizer", result.name)
            for result in self.results
            if isinstance(result, SanitizeResult)
            for cause in (*result.causes, *causes(result.notes))
            for finding in cause.by_line()
        ]
        if isinstance(self.error, KernelFault):
            kernels = self.module.kernels
            code = (kernels.get(self.error.kernel or "") or next(iter(kernels.values()))).module
            findings.append(
                Found(finding_of(self.error, code.own_file, code), "device", self.error.kernel or "")
            )
        return tuple(findings)

    def ran(self) -> Ran:
        """The cell's entry in the list of runs."""
        verified = next((r for r in self.results if isinstance(r, VerifyResult)), None)
        profiled = next((r for r in self.results if isinstance(r, ProfileResult)), None)
        timed = next((r for r in self.results if isinstance(r, TimeResult)), None)
        kind = "profile" if profiled else "time" if timed else "verify" if verified is not None else "compile"
        if kind == "compile" and any(isinstance(r, SanitizeResult) for r in self.results):
            kind = "sanitize"
        right = verified.passed if verified is not None else None
        if right is None and profiled is not None:
            before = last_verification(profiled)
            right = before.passed if before is not None and not before.stale else None
        return Ran(
            kind if self.error is None else "run",
            kernel=next((r.name for r in self.results), ""),
            time=timed.median
            if timed is not None
            else profiled.time
            if profiled is not None and profiled.has_time
            else None,
            verified=right,
            error=headline(self.error) if self.error is not None else "",
        )

    def profiled(self) -> tuple[Kernel, InstructionProfile | None] | None:
        """The kernel with the longest profiled time, and its instructions' costs; None without one."""
        profiles = [r for r in self.results if isinstance(r, ProfileResult)]
        if not profiles:
            return None
        longest = max(profiles, key=lambda profile: profile.time.value if profile.has_time else 0.0)
        named = (k for k in self.module.kernels.values() if k.info.name == longest.record.kernel)
        return next(((kernel, longest.instructions) for kernel in named), None)

    def figures(self) -> list[Any]:
        """The plotly figures that belong to the cell: profiles, failed verifications, values of `show`."""
        figures = []
        for result in self.results:
            if isinstance(result, ProfileResult) or (isinstance(result, VerifyResult) and not result.passed):
                figures.append(result.figure)
            elif isinstance(result, ShownValues):
                figures += [result.of(name).figure for name in result]
        return figures

    def __str__(self) -> str:
        result = self.module.result
        compiler = f", {result.compiler.version}" if result is not None else ""
        lines = [f"{self.name}: {self.module.arch} on {self.device.name}, {self.compile_text}{compiler}"]
        changed = {name: f"since the last run: {', '.join(facts)}" for name, facts in self.changes().items()}
        kernels = {name: kernel.resources for name, kernel in self.module.kernels.items()}
        lines += [f"  {line}" for line in resources_lines(kernels, changed)]
        if not self.module.kernels:
            lines.append(f"  {NO_KERNEL}")
        lines += self.warnings()
        lines += [str(r) for r in self.results]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        result = self.module.result
        compiler = result.compiler.version if result is not None else ""
        head = Markup("{} {} on {} {}").format(
            bold(self.name),
            self.module.arch,
            self.device.name,
            tag("span", ", ".join(filter(None, (self.compile_text, compiler))), kind="wb-dim"),
        )
        parts = [block(head)]
        kernels = list(self.module.kernels.values())
        table = kernel_table(kernels, self.before)
        parts.append(block(table) if kernels else block(NO_KERNEL, kind="wb-warn"))
        warnings = self.warnings()
        if warnings:
            title = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
            text = tag("pre", "\n".join(warnings))
            parts.append(block(details(title, text, opened=True, kind="wb-warn")))
        return "".join([*parts, *(r._repr_html_() for r in self.results)])


@dataclass(frozen=True)
class CellFailure:
    """A cell without a result: it does not compile, or its own launch was stopped.

    Attributes:
        name: the name that would have been bound.
        kind: the operation that failed, "compile" or "run".
        text: text for the output; the exception itself shows the error's message.
        error: first line of the error.
        diagnostics: diagnostics of the compiler.
        found: findings of a launch.
    """

    name: str
    kind: str
    text: str
    error: str
    diagnostics: Sequence[Diagnostic] = ()
    found: tuple[Found, ...] = ()

    @classmethod
    def of_compiler(cls, name: str, error: str, diagnostics: Sequence[Diagnostic]) -> CellFailure:
        """It does not compile, whichever compiler says so."""
        errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
        text = f"does not compile, {errors or 'no'} error{'' if errors == 1 else 's'}"
        return cls(name, "compile", text, error, diagnostics)

    @classmethod
    def of_compilation(cls, name: str, error: CompileError) -> CellFailure:
        """The workbench's compiler does not compile it."""
        return cls.of_compiler(name, headline(error), error.diagnostics)

    @classmethod
    def of_fault(cls, name: str, fault: KernelFault, own_file: str) -> CellFailure:
        """A launch was stopped; the cell is `own_file` in debug info."""
        text = f"{type(fault).__name__} in {fault.kernel or 'a kernel'}"
        finding = Found(finding_of(fault, own_file), "device")
        return cls(name, "run", text, headline(fault), found=(finding,))

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    def _repr_html_(self) -> str:
        printed = "\n".join(
            diagnostic.printed for diagnostic in self.diagnostics if getattr(diagnostic, "printed", "")
        )
        parts = [block(str(self), kind="wb-bad")]
        if printed:
            parts.append(block(details("What the compiler printed", tag("pre", printed))))
        return "".join(map(str, parts))
