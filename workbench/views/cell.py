"""What a compiled cell shows: device, compile time, kernels and what changed, warnings, results of checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.origin import Origin
from workbench.views.markup import block, bold, details, tag
from workbench.views.resources import changes, kernel_table

if TYPE_CHECKING:
    from workbench.errors import WorkbenchError
    from workbench.kernel import Kernel, Kernels, Module
    from workbench.runtime import Device


NO_KERNEL = "no kernel: is a function marked __global__, and a template instantiated?"


@dataclass(frozen=True)
class CellResult:
    """A compiled cell and what was done with it.

    Attributes:
        name: the name that the module is bound to.
        module: the module; of a Triton cell, the kernels that it launched.
        device: where it was, or would be, launched.
        before: kernels of the cell's previous run by name.
        results: of verify, time and profile, in order.
        error: what ended them early; None where nothing did.
    """

    name: str
    module: Module | Kernels
    device: Device
    before: Mapping[str, Kernel] = field(default_factory=dict)
    results: Sequence[Any] = ()
    error: WorkbenchError | None = None

    @property
    def compile_text(self) -> str:
        """Such as "compiled in 1.24 s" or "cached (0.03 s)"."""
        result = self.module.result
        if result is None:
            return "launched"
        if result.cached:
            return f"cached ({result.seconds:.2f} s)"
        return f"compiled in {result.seconds:.2f} s"

    @property
    def origin(self) -> Origin:
        """Where times on this device come from."""
        return self.device.origin

    def changes(self) -> dict[str, str]:
        """What changed since the run before, by kernel; kernels without a change are absent."""
        found = {}
        for kernel in self.module.kernels.values():
            text = changes(kernel, self.before.get(kernel.name))
            if text:
                found[kernel.name] = text
        return found

    def warnings(self) -> list[str]:
        """The compiler's warnings, each with its lines and caret."""
        result = self.module.result
        return [str(d) for d in result.diagnostics] if result is not None else []

    def __str__(self) -> str:
        result = self.module.result
        compiler = f", {result.compiler.version}" if result is not None else ""
        lines = [f"{self.name}: {self.module.arch} on {self.device.name}, {self.compile_text}{compiler}"]
        changed = self.changes()
        for kernel in self.module.kernels.values():
            lines.append(f"  {kernel.name}: {kernel.resources}")
            if kernel.name in changed:
                lines.append(f"    since the last run: {changed[kernel.name]}")
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
            tag("span", f"{self.compile_text} {compiler}", kind="wb-dim"),
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
