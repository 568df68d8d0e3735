"""Answers the JupyterLab extension's questions about the objects of a notebook: state, names, machine code.

`%load_ext workbench` registers a comm target. The extension opens it and asks; each answer is made from the
modules that the notebook's variables hold, so nothing is kept twice. Requests are
`{"id": n, "method": name, "params": {...}}`; answers `{"id": n, "result": ...}` or
`{"id": n, "error": {"type": ..., "message": ...}}`. After every cell that bound or launched something, the
extension is told `{"event": "changed"}`. What ran outside of `%%hipkittens` cells, whose output tells it,
comes as `{"event": "runs", "runs": [...]}`.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.errors import UnknownKernel, UsageError
from workbench.events import Event, hub, shape_told
from workbench.lab import index as names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.kernel import Module

TARGET = "hipkittens-workbench"
"""Name of the comm target."""

PROTOCOL = 1

RUNS = 50
"""Runs that are told at once, the latest: a sweep has more than a person reads."""

RUNS_SECONDS = 0.25
"""Between two tellings."""


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
            "complete": self.complete,
            "hover": self.hover,
            "close_dashboard": self.close_dashboard,
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

    def complete(self, text: str, line: int, column: int) -> dict[str, Any]:
        """What clangd offers at a place of a cell; nothing where it is not installed or not ready.

        Args:
            text: the whole cell.
            line, column: the place, from 0; columns in UTF-16 code units.
        """
        from workbench.lab.completer import known

        return {"candidates": [asdict(candidate) for candidate in known(text, line, column)]}

    def hover(self, text: str, line: int, column: int) -> dict[str, Any]:
        """What clangd says of the name at a place; as `complete`."""
        from workbench.lab.completer import hover

        found = hover(text, line, column)
        return asdict(found) if found is not None else {"text": ""}

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

    def close_dashboard(self) -> None:
        """Ends the dashboard of the extension's panel: nothing is drawn that nobody sees."""
        panel = sys.modules.get("workbench.lab.panel")
        if panel is not None:
            panel.close()


class Runs:
    """What was timed, profiled, verified, or failed outside of `%%hipkittens` cells, told in batches.

    Args:
        send: takes what is told.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._runs: deque[dict[str, Any]] = deque(maxlen=RUNS)
        self._timer: threading.Timer | None = None
        self.told_by_cell = False

    def take(self, event: Event) -> None:
        """Takes an event of the hub."""
        run = None if self.told_by_cell else _run(event)
        if run is None:
            return
        with self._lock:
            self._runs.append(run)
            if self._timer is None:
                self._timer = threading.Timer(RUNS_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Tells what came since the last time."""
        with self._lock:
            runs = list(self._runs)
            self._runs.clear()
            self._timer = None
        if runs:
            self._send({"event": "runs", "runs": runs})


def _run(event: Event) -> dict[str, Any] | None:
    """An event as the extension's run history keeps it; None where it is no run."""
    figure, verified, error = None, None, ""
    shape: Mapping[str, Any] = {}
    if event.kind == "failed":
        shape, error = shape_told(event.data), event.data["error"]
    elif event.kind == "verify":
        verified, shape = bool(event.data["passed"]), event.data["shape"]
    elif event.kind in ("time", "profile"):
        timing = event.data.timing if event.kind == "profile" else event.data
        figure, shape = timing.median, timing.shape
    else:
        return None
    size = ", ".join(f"{key}={value}" for key, value in shape.items())
    return {
        "kind": event.data["kind"] if event.kind == "failed" else event.kind,
        "at": datetime.fromtimestamp(event.seconds, UTC).isoformat(timespec="milliseconds"),
        "module": event.name,
        "kernel": "",
        "time": None
        if figure is None
        else {"value": figure.value, "unit": figure.unit, "origin": str(figure.origin)},
        "verified": verified,
        "changes": [size] if size else [],
        "error": error,
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
    default = runtime.device().name
    told = []
    for device in runtime.devices():
        asked = device.name == default and device.in_use
        used, total, limit = device.memory() if asked else (0, 0, 0)
        told.append(
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
    return told


def _compiler() -> dict[str, str] | None:
    """The compiler of the latest compile; None before the first, and it is not looked for here."""
    toolchain = sys.modules.get("workbench.toolchain")
    if toolchain is None:
        return None
    compiler = toolchain.known_compiler()
    if compiler is None:
        return None
    return {"kind": compiler.kind, "version": str(compiler.version), "reason": str(compiler.reason)}


def _specs() -> list[str]:
    if "workbench.kernel" not in sys.modules:
        return []
    from workbench.spec import kernels

    return list(kernels)


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

    def tell(message: dict[str, Any]) -> None:
        for comm in list(comms):
            # A page that was closed a moment ago.
            with contextlib.suppress(Exception):
                comm.send(message)

    runs = Runs(tell)

    def opened(comm: Any, _message: Any) -> None:
        comms.add(comm)

        def received(message: Mapping[str, Any]) -> None:
            comm.send(service.answer(message["content"]["data"]))

        def closed(_message: Any) -> None:
            comms.discard(comm)

        comm.on_msg(received)
        comm.on_close(closed)
        comm.send({"event": "ready", "protocol": PROTOCOL})

    def before_cell(info: Any = None) -> None:
        runs.told_by_cell = str(getattr(info, "raw_cell", "") or "").startswith("%%hipkittens")

    def after_cell(*_: Any) -> None:
        runs.told_by_cell = False
        if service.refresh() or service.modules():
            tell({"event": "changed"})

    unregister(shell)
    get_comm_manager().register_target(TARGET, opened)
    shell.events.register("pre_run_cell", before_cell)
    shell.events.register("post_run_cell", after_cell)
    _registered[shell] = (before_cell, after_cell, hub.subscribe(runs.take))
    return service


def unregister(shell: InteractiveShell) -> None:
    """Takes the service away again."""
    registered = _registered.pop(shell, None)
    if registered is None:
        return
    from comm import get_comm_manager

    before_cell, after_cell, unsubscribe = registered
    get_comm_manager().unregister_target(TARGET, lambda *_: None)
    shell.events.unregister("pre_run_cell", before_cell)
    shell.events.unregister("post_run_cell", after_cell)
    unsubscribe()


_registered: weakref.WeakKeyDictionary[Any, tuple[Callable[..., None], ...]] = weakref.WeakKeyDictionary()
