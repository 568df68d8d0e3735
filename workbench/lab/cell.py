"""A cell's result as a MIME bundle: HTML for every front end, and facts for the editor."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.lab import payload
from workbench.lab.heat import heat

if TYPE_CHECKING:
    from workbench.runtime import Device
    from workbench.views.cell import CellFailure, CellResult, Found


def cell_bundle(result: CellResult, cell: str) -> dict[str, Any]:
    """The bundle of a cell that compiled."""
    compiled = result.module.result
    profiled = result.profiled()
    contents = payload.CellPayload(
        name=result.name,
        status="compiled",
        body=cell,
        device=_device(result.device),
        origin=str(result.origin),
        compile=payload.Compilation(compiled.seconds, compiled.cached, compiled.compiler.version)
        if compiled is not None
        else None,
        diagnostics=(*payload.findings(result.diagnostics), *map(_mark, result.found())),
        kernels=_kernels(result),
        run=_run(result),
        heat=heat(*profiled) if profiled is not None else None,
    )
    return payload.bundle(contents, result._repr_html_(), str(result))


def failure_bundle(failure: CellFailure, cell: str) -> dict[str, Any]:
    """The bundle of a cell without a result; the exception shows the message itself."""
    contents = payload.CellPayload(
        name=failure.name,
        status="failed",
        body=cell,
        diagnostics=(*payload.findings(failure.diagnostics), *map(_mark, failure.found)),
        run=payload.Run(failure.kind, _now(), error=failure.error),
    )
    return payload.bundle(contents, failure._repr_html_(), str(failure))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _mark(finding: Found) -> payload.Finding:
    return payload.Finding.from_finding(finding.finding, finding.source)


def _device(device: Device) -> payload.Device:
    return payload.Device(device.name, device.label, device.arch)


def _kernels(result: CellResult) -> tuple[payload.Kernel, ...]:
    changed = result.changes()
    return tuple(
        payload.Kernel(
            kernel.name,
            kernel.signature,
            payload.Resources.from_kernel(kernel.resources),
            changed.get(kernel.name, ()),
        )
        for kernel in result.module.kernels.values()
    )


def _run(result: CellResult) -> payload.Run:
    ran = result.ran()
    return payload.Run(
        ran.kind,
        _now(),
        kernel=ran.kernel,
        time=payload.Time.from_figure(ran.time) if ran.time is not None else None,
        verified=ran.verified,
        changes=tuple(f"{name}: {', '.join(facts)}" for name, facts in result.changes().items()),
        error=ran.error,
    )
