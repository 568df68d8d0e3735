"""A cell's result as a MIME bundle: HTML for every front end, with facts for the editor beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.check.results import VerifyResult
from workbench.check.sanitizer import Finding, SanitizeResult, finding_of
from workbench.errors import KernelFault
from workbench.lab import payload
from workbench.lab.heat import heat
from workbench.profile.results import ProfileResult
from workbench.profile.timing import TimeResult
from workbench.views.cell import CellResult
from workbench.views.markup import block

if TYPE_CHECKING:
    from workbench.errors import CompileError
    from workbench.runtime import Device


def cell_bundle(result: CellResult, cell: str) -> dict[str, Any]:
    """The bundle of a cell that compiled."""
    compiled = result.module.result
    told = payload.CellPayload(
        name=result.name,
        status="compiled",
        body=cell,
        device=_device(result.device),
        origin=str(result.origin),
        compile=payload.Compilation(compiled.seconds, compiled.cached, compiled.compiler.version)
        if compiled is not None
        else None,
        diagnostics=(
            *(payload.findings(compiled.diagnostics) if compiled is not None else ()),
            *_sanitizer(result),
            *_fault(result),
        ),
        kernels=_kernels(result),
        run=_run(result),
        heat=_heat(result),
    )
    return payload.bundle(told, result._repr_html_(), str(result))


def failure_bundle(name: str, cell: str, error: CompileError) -> dict[str, Any]:
    """The bundle of a cell that does not compile; the message itself is the exception's to show."""
    return uncompiled_bundle(name, cell, first_line(error), payload.findings(error.diagnostics))


def uncompiled_bundle(
    name: str, cell: str, error: str, findings: tuple[payload.Finding, ...]
) -> dict[str, Any]:
    """The same for what any compiler said of the cell."""
    errors = sum(finding.severity == "error" for finding in findings)
    text = f"{name}: does not compile, {errors or 'no'} error{'' if errors == 1 else 's'}"
    return _failed(name, cell, "compile", error, findings, text)


def fault_bundle(name: str, cell: str, fault: KernelFault, own_file: str) -> dict[str, Any]:
    """The bundle of a cell whose own launch was stopped."""
    text = f"{name}: {type(fault).__name__} in {fault.kernel or 'a kernel'}"
    mark = _mark(finding_of(fault, own_file), "device")
    return _failed(name, cell, "run", first_line(fault), (mark,), text)


def _failed(
    name: str, cell: str, kind: str, error: str, findings: tuple[payload.Finding, ...], text: str
) -> dict[str, Any]:
    run = payload.Run(kind, _now(), error=error)
    told = payload.CellPayload(name=name, status="failed", body=cell, diagnostics=findings, run=run)
    return payload.bundle(told, str(block(text, kind="wb-bad")), text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _device(device: Device) -> payload.Device:
    return payload.Device(device.name, device.label, device.arch)


def _kernels(result: CellResult) -> tuple[payload.Kernel, ...]:
    changed = result.changes()
    told = []
    for kernel in result.module.kernels.values():
        r = kernel.resources
        told.append(
            payload.Kernel(
                kernel.name,
                kernel.signature,
                payload.Resources(
                    r.vgprs,
                    r.agprs,
                    r.sgprs,
                    r.lds,
                    r.scratch,
                    r.vgpr_spills + r.sgpr_spills,
                    int(r.occupancy.waves_per_simd),
                    "" if r.occupancy.is_full else r.occupancy.limit,
                ),
                tuple(changed[kernel.name].split(", ")) if kernel.name in changed else (),
            )
        )
    return tuple(told)


def _run(result: CellResult) -> payload.Run:
    verified = next((r for r in result.results if isinstance(r, VerifyResult)), None)
    profiled = next((r for r in result.results if isinstance(r, ProfileResult)), None)
    timed = next((r for r in result.results if isinstance(r, TimeResult)), None)
    figure = timed.median if timed is not None else profiled.time if profiled is not None else None
    kind = "profile" if profiled else "time" if timed else "verify" if verified is not None else "compile"
    if kind == "compile" and any(isinstance(r, SanitizeResult) for r in result.results):
        kind = "sanitize"
    if result.error is not None:
        kind = "run"
    return payload.Run(
        kind,
        _now(),
        kernel=next((r.name for r in result.results), ""),
        time=payload.Time.of(figure) if figure is not None else None,
        verified=verified.passed if verified is not None else None,
        changes=tuple(f"{name}: {text}" for name, text in result.changes().items()),
        error=first_line(result.error) if result.error is not None else "",
    )


def first_line(error: Exception) -> str:
    """What a list of runs says of an error."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _sanitizer(result: CellResult) -> tuple[payload.Finding, ...]:
    """The sanitizer's findings on the cell's lines; those of a file elsewhere say where they are."""
    return tuple(
        _mark(f, "sanitizer")
        for r in result.results
        if isinstance(r, SanitizeResult)
        for f in (*r.findings, *r.notes)
    )


def _fault(result: CellResult) -> tuple[payload.Finding, ...]:
    """The fault that ended a check, on the cell's line that it happened in."""
    if not isinstance(result.error, KernelFault):
        return ()
    known = {kernel.name: kernel for kernel in result.module.kernels.values()}
    kernel = known.get(result.error.kernel or "") or next(iter(known.values()))
    return (_mark(finding_of(result.error, kernel.module.own_file, kernel.module), "device"),)


def _mark(f: Finding, source: str) -> payload.Finding:
    return payload.Finding(
        line=f.line if f.is_own else 0,
        column=f.column if f.is_own else 0,
        severity="note" if f.category == "note" else "error",
        message=f.message if f.is_own else f"{f.message}\nat {f.place}",
        notes=(f"`{f.instruction}`; {f.who}" if f.instruction else f.who, *_related(f)),
        source=source,
        option=f.category,
    )


def _related(finding: Finding) -> tuple[str, ...]:
    return (f"the other side: {finding.related[0]}:{finding.related[1]}",) if finding.related else ()


def _heat(result: CellResult) -> payload.Heat | None:
    profiles = [r for r in result.results if isinstance(r, ProfileResult)]
    if not profiles:
        return None
    profiled = max(profiles, key=lambda each: each.time.value)
    kernel = next((k for k in result.module.kernels.values() if k.info.name == profiled.record.kernel), None)
    return heat(kernel, profiled.instructions) if kernel is not None else None
