"""The state of this process for the JupyterLab extension; asking for it starts nothing."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.lab.payload import Resources

if TYPE_CHECKING:
    from workbench.kernel import Kernel


def kernel(of: Kernel) -> dict[str, Any]:
    """A kernel with its resources."""
    return {
        "name": of.name,
        "signature": of.signature,
        "resources": asdict(Resources.from_kernel(of.resources)),
        "counted": of.last is not None and of.last.record.counts is not None,
    }


def devices() -> list[dict[str, Any]]:
    """The devices, and the memory of the one in use."""
    runtime = sys.modules.get("workbench.runtime")
    if runtime is None:
        return []
    default = runtime.device().name
    entries = []
    for device in runtime.devices():
        asked = device.name == default and device.in_use
        used, total, limit = device.memory() if asked else (0, 0, 0)
        entries.append(
            {
                "name": device.name,
                "label": device.label,
                "arch": device.arch,
                "origin": str(device.origin),
                "default": device.name == default,
                "memory_total": total,
                "memory_used": used,
                "memory_limit": limit or 0,
            }
        )
    return entries


def compiler() -> dict[str, str] | None:
    """The compiler of the latest compilation; None before the first, since this does not search for one."""
    toolchain = sys.modules.get("workbench.toolchain")
    if toolchain is None:
        return None
    latest = toolchain.known_compiler()
    if latest is None:
        return None
    return {"kind": latest.kind, "version": str(latest.version), "reason": str(latest.reason)}


def specs() -> list[str]:
    """Names of the kernel library."""
    if "workbench.kernel" not in sys.modules:
        return []
    from workbench.operators import kernels

    return list(kernels)


def functions() -> list[str]:
    """Functions of the package behind the extension's buttons, if this version has them."""
    package = sys.modules.get("workbench")
    return [name for name in ("dashboard", "sanitize") if name in getattr(package, "__all__", ())]
