"""The connection to the JupyterLab extension, a Jupyter comm.

`%load_ext workbench` registers a comm target. The extension opens it and asks (`lab.service`). Requests are
`{"id": n, "method": name, "params": {...}}`; answers `{"id": n, "result": ...}` or
`{"id": n, "error": {"type": ..., "message": ...}}`. After every cell that bound or launched something, the
extension gets `{"event": "changed"}`. Runs outside `%%hipkittens` cells are sent as `{"event": "runs",
"runs": [...]}` (`lab.runs`).
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.events import hub
from workbench.lab.runs import Runs
from workbench.lab.service import PROTOCOL, Service

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.lab.service import ReadCell

TARGET = "hipkittens-workbench"
"""Name of the comm target."""


def register(shell: InteractiveShell, read: ReadCell | None = None) -> Service | None:
    """Opens the service for a shell's front end; None if the shell has no comms (a terminal).

    Args:
        shell: shell of the notebook.
        read: see `lab.extension.load`.
    """
    if getattr(shell, "kernel", None) is None:
        return None
    from comm import get_comm_manager

    service = Service(shell.user_ns, read)
    comms: set[Any] = set()

    def tell(message: dict[str, Any]) -> None:
        for comm in list(comms):
            # The page was closed a moment ago.
            with contextlib.suppress(Exception):
                comm.send(message)

    runs = Runs(tell)

    def opened(comm: Any, _message: Any) -> None:
        comms.add(comm)

        def received(message: Mapping[str, Any]) -> None:
            service.reply(message["content"]["data"], comm.send)

        def closed(_message: Any) -> None:
            comms.discard(comm)

        comm.on_msg(received)
        comm.on_close(closed)
        comm.send({"event": "ready", "protocol": PROTOCOL})

    def before_cell(info: Any = None) -> None:
        runs.reported_by_cell = str(getattr(info, "raw_cell", "") or "").startswith(
            ("%%hipkittens", "%%triton")
        )

    def after_cell(*_: Any) -> None:
        runs.reported_by_cell = False
        if service.refresh() or service.modules():
            tell({"event": "changed"})

    unregister(shell)
    get_comm_manager().register_target(TARGET, opened)
    shell.events.register("pre_run_cell", before_cell)
    shell.events.register("post_run_cell", after_cell)
    _registered[shell] = (before_cell, after_cell, hub.subscribe(runs.take))
    return service


def unregister(shell: InteractiveShell) -> None:
    """Removes the service again."""
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
