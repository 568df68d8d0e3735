"""Answers the JupyterLab extension's questions about the objects of a notebook: state, names, machine code.

`%load_ext workbench` registers a comm target. The extension opens it and asks; each answer is made from the
modules that the notebook's variables hold, so nothing is kept twice. Requests are
`{"id": n, "method": name, "params": {...}}`; answers `{"id": n, "result": ...}` or
`{"id": n, "error": {"type": ..., "message": ...}}`. After every cell that bound or launched something, the
extension is told `{"event": "changed"}`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import UnknownKernel, UsageError
from workbench.lab import index as names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.kernel import Module

TARGET = "hipkittens-workbench"
"""Name of the comm target."""

PROTOCOL = 1


class Service:
    """The questions that can be asked, over a notebook's variables.

    Attributes:
        namespace: the notebook's variables.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.namespace = namespace
        # The module that a name was bound to before, kept for the difference to it.
        self._previous: dict[str, Module] = {}
        self._seen: dict[str, Module] = {}
        self._methods: dict[str, Callable[..., Any]] = {
            "state": self.state,
            "index": self.index,
            "isa": self.isa,
        }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Reply to one request; an exception becomes an error reply."""
        number = request.get("id")
        method = self._methods.get(str(request.get("method")))
        try:
            if method is None:
                raise UsageError(
                    f"unknown request {request.get('method')!r}; there is {', '.join(self._methods)}"
                )
            return {"id": number, "result": method(**dict(request.get("params") or {}))}
        except Exception as error:
            return {"id": number, "error": {"type": type(error).__name__, "message": str(error)}}

    def refresh(self) -> bool:
        """Looks at the variables again; True where a module was bound, replaced or dropped."""
        modules = self.modules()
        changed = False
        for name, module in modules.items():
            old = self._seen.get(name)
            if old is not module:
                changed = True
                if old is not None and old.code != module.code:
                    self._previous[name] = old
        if set(self._seen) - set(modules):
            changed = True
        self._seen = modules
        return changed

    def modules(self) -> dict[str, Module]:
        """Modules that the notebook's variables hold, by variable."""
        kernel = sys.modules.get("workbench.kernel")
        if kernel is None:
            return {}
        return {
            name: value
            for name, value in list(self.namespace.items())
            if not name.startswith("_") and isinstance(value, kernel.Module)
        }

    def state(self) -> dict[str, Any]:
        """Devices, compiler, modules and the kernel library's names, as far as they are in use.

        Nothing is started for it: devices are listed once the notebook has used one.
        """
        self.refresh()
        return {
            "protocol": PROTOCOL,
            "devices": _devices(),
            "compiler": _compiler(),
            "modules": [
                {
                    "name": name,
                    "arch": module.arch,
                    "kernels": [_kernel(kernel) for kernel in module.kernels.values()],
                    "previous": name in self._previous,
                }
                for name, module in self._seen.items()
            ],
            "specs": _specs(),
            "options": _options(),
            "functions": _functions(),
        }

    def index(self, digest: str = "") -> dict[str, Any]:
        """Names of the tile library; only their digest where the asker has them already."""
        found = names.index()
        return {"digest": found.digest} if found.digest == digest else found.to_dict()

    def isa(self, module: str, kernel: str = "") -> dict[str, Any]:
        """Machine code of a kernel, and that of the compile before.

        Args:
            module: variable that holds it.
            kernel: the kernel's name; the first where it is empty.

        Raises:
            UnknownKernel: no such module or kernel.
        """
        from workbench.lab.listing import listing

        self.refresh()
        found = self._seen.get(module)
        if found is None:
            raise UnknownKernel(f"no module is bound to {module!r} in this kernel; run its cell again")
        if not found.kernels:
            raise UnknownKernel(f"{module} has no kernel; is a function marked __global__?")
        chosen = found[kernel] if kernel else next(iter(found.kernels.values()))
        before = self._previous.get(module)
        old = before.kernels.get(chosen.name) if before is not None else None
        return {
            "module": module,
            "kernels": list(found.kernels),
            "listing": listing(chosen).to_dict(),
            "previous": listing(old).to_dict() if old is not None else None,
        }


def _kernel(kernel: Any) -> dict[str, Any]:
    r = kernel.resources
    return {
        "name": kernel.name,
        "signature": kernel.signature,
        "resources": {
            "vgpr": r.vgprs,
            "agpr": r.agprs,
            "sgpr": r.sgprs,
            "lds": r.lds,
            "scratch": r.scratch,
            "spills": r.vgpr_spills + r.sgpr_spills,
            "occupancy": int(r.occupancy.waves_per_simd),
            "limited_by": r.occupancy.limit,
        },
        "counted": kernel.last is not None and kernel.last.record.counts is not None,
    }


def _devices() -> list[dict[str, Any]]:
    runtime = sys.modules.get("workbench.runtime")
    if runtime is None:
        return []
    from workbench.doctor import device_label

    default = runtime.device().name
    told = []
    for device in runtime.devices():
        memory = device.memory() if device.name == default else None
        told.append(
            {
                "name": device.name,
                "label": device_label(device),
                "arch": device.arch,
                "emulated": device.emulated,
                "default": device.name == default,
                "memory_total": _bytes(memory, "total"),
                "memory_used": _bytes(memory, "used"),
            }
        )
    return told


def _bytes(memory: Any, what: str) -> int:
    """Bytes of a device's memory: `memory()` gives (free, total), as hipMemGetInfo does, or names them."""
    if memory is None:
        return 0
    if isinstance(memory, Mapping):
        free, total = int(memory.get("free", 0)), int(memory.get("total", 0))
    elif hasattr(memory, "total"):
        free, total = int(memory.free), int(memory.total)
    else:
        free, total = (int(part) for part in memory[:2])
    return total if what == "total" else total - free


def _compiler() -> dict[str, str] | None:
    """The compiler of the latest compile; None before the first, and it is not looked for here."""
    toolchain = sys.modules.get("workbench.toolchain")
    if toolchain is None:
        return None
    compiler = toolchain.find_compiler()
    return {"kind": compiler.kind, "version": str(compiler.version), "reason": str(compiler.reason)}


def _specs() -> list[str]:
    spec = sys.modules.get("workbench.spec")
    return list(spec.kernels) if spec is not None else []


def _options() -> list[str]:
    """Options of `%%hipkittens`, so that the extension offers what this kernel understands."""
    magics = sys.modules.get("workbench.magics")
    if magics is None:
        return []
    return [flag for action in magics._parser()._actions for flag in action.option_strings]


def _functions() -> list[str]:
    """Functions of the package behind the extension's buttons, as far as this version has them."""
    package = sys.modules.get("workbench")
    return [name for name in ("dashboard", "sanitize") if name in getattr(package, "__all__", ())]


def register(shell: InteractiveShell) -> Service | None:
    """Opens the service to the front end of a shell; None where the shell has no comms (a terminal)."""
    if getattr(shell, "kernel", None) is None:
        return None
    from comm import get_comm_manager

    service = Service(shell.user_ns)
    comms: set[Any] = set()

    def opened(comm: Any, _message: Any) -> None:
        comms.add(comm)

        def received(message: Mapping[str, Any]) -> None:
            comm.send(service.answer(message["content"]["data"]))

        def closed(_message: Any) -> None:
            comms.discard(comm)

        comm.on_msg(received)
        comm.on_close(closed)
        comm.send({"event": "ready", "protocol": PROTOCOL})

    def after_cell(*_: Any) -> None:
        if service.refresh() or service.modules():
            for comm in list(comms):
                comm.send({"event": "changed"})

    unregister(shell)
    get_comm_manager().register_target(TARGET, opened)
    shell.events.register("post_run_cell", after_cell)
    _registered[shell] = after_cell
    return service


def unregister(shell: InteractiveShell) -> None:
    """Takes the service away again."""
    after_cell = _registered.pop(shell, None)
    if after_cell is None:
        return
    from comm import get_comm_manager

    get_comm_manager().unregister_target(TARGET, lambda *_: None)
    shell.events.unregister("post_run_cell", after_cell)


_registered: weakref.WeakKeyDictionary[Any, Callable[..., None]] = weakref.WeakKeyDictionary()
