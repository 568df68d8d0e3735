"""What a compiled cell shows: device, compile time, kernels and what changed, warnings, results of checks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.origin import Origin
from workbench.views.badge import STYLE, badge
from workbench.views.resources import changes, kernel_table

if TYPE_CHECKING:
    from workbench.errors import WorkbenchError
    from workbench.kernel import Kernel, Module
    from workbench.runtime import Device


NO_KERNEL = "no kernel: is a function marked __global__, and a template instantiated?"


@dataclass(frozen=True)
class CellResult:
    """A compiled cell and what was done with it.

    Attributes:
        name: the name that the module is bound to.
        module: the module.
        device: where it was, or would be, launched.
        before: kernels of the cell's previous run by name.
        results: of verify, time and profile, in order.
        error: what ended them early; None where nothing did.
    """

    name: str
    module: Module
    device: Device
    before: Mapping[str, Kernel] = field(default_factory=dict)
    results: Sequence[Any] = ()
    error: WorkbenchError | None = None

    @property
    def compile_text(self) -> str:
        """Such as "compiled in 1.24 s" or "cached (0.03 s)"."""
        result = self.module.result
        if result is None:
            return "loaded"
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
        compiler = html.escape(result.compiler.version) if result is not None else ""
        head = (
            f"<b>{html.escape(self.name)}</b> {html.escape(self.module.arch)} "
            f"on {html.escape(self.device.name)} {badge(self.origin)} "
            f'<span class="wb-dim">{self.compile_text} {compiler}</span>'
        )
        parts = [f'{STYLE}<div class="wb">{head}</div>']
        kernels = list(self.module.kernels.values())
        if kernels:
            parts.append(kernel_table(kernels, self.before))
        else:
            parts.append(f'<div class="wb wb-warn">{NO_KERNEL}</div>')
        warnings = self.warnings()
        if warnings:
            text = html.escape("\n".join(warnings))
            title = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
            parts.append(
                f'<div class="wb"><details open><summary class="wb-warn">{title}</summary><pre>{text}</pre>'
                "</details></div>"
            )
        parts += [r._repr_html_() for r in self.results]
        return "".join(parts)
